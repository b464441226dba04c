//! The weights of the trained policy: one file beside the page, and what it says of itself.

use sentinel_policy::nn::Model;
use sentinel_policy::trust::learned::NetConfig;
use sentinel_policy::trust::learned::{FeatureSet, Pooling};

use crate::text::grouped;

/// Where the file lies.
pub const ADDRESS: &str = "replays/grpo/model.safetensors";

/// What a model says of itself: name, size, and what it is built from.
#[must_use]
pub fn words(model: &Model<NetConfig>) -> String {
    let net = model.weights.config();
    let pooling = match net.pooling {
        Pooling::None => "each slot judged by itself",
        Pooling::Mean => "slots compared by their mean",
        Pooling::Max => "slots compared by their maximum",
    };
    let memory = match net.features {
        FeatureSet::Full => "",
        FeatureSet::NoHistory => ", blind to earlier steps",
    };
    format!(
        "Model “{}”: 2 layers of {} hidden units, {} parameters, {pooling}{memory}",
        model.config.name,
        net.hidden,
        grouped(model.weights.count())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::read;
    use sentinel_policy::nn::{ModelConfig, Weights};
    use sentinel_policy::trust::learned::NetConfig;

    #[test]
    fn a_model_tells_its_size() {
        let net = NetConfig::default();
        let model = Model {
            config: ModelConfig::new("first", net),
            weights: Weights::init(net, 1),
        };
        let read = read(ADDRESS, Ok(model.to_bytes().expect("bytes"))).expect("a model");
        assert_eq!(*read, model);
        let words = words(&model);
        let count = grouped(model.weights.count());
        for part in ["“first”", "64 hidden units", &count, "mean"] {
            assert!(words.contains(part), "{part} is not in {words}");
        }
    }

    #[test]
    fn what_is_no_model_names_its_file() {
        let page = b"<!doctype html><p>Not found</p>".to_vec();
        for bad in [
            Ok(page),
            Ok(vec![]),
            Err(format!("{ADDRESS} could not be fetched")),
        ] {
            let reason = read::<NetConfig>(ADDRESS, bad).expect_err("no model");
            assert!(reason.contains(ADDRESS), "{reason}");
            assert!(reason.contains("obody plays in its place"), "{reason}");
        }
    }
}
