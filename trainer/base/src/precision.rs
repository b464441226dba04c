//! The number formats of a language model during training, as an option.

use sentinel_env::named_enum;
use serde::de::value::StrDeserializer;
use serde::{Deserialize, Deserializer};

named_enum! {
    /// The number formats of a model, from the most to the least exact.
    #[derive(Default)]
    pub enum Precision {
        /// Everything is in f32.
        #[default]
        F32 = "f32",
        /// Frozen matrices are stored and multiplied in bf16. Activations are in f32.
        Bf16Weights = "bf16-weights",
        /// Frozen matrices and activations are in bf16, with the key-value cache. Trained matrices
        /// are stored in f32 and rounded for each product.
        Bf16 = "bf16",
    }
}

/// Reads the name of a precision, or the value of the switch `bf16` that earlier runs recorded.
///
/// # Errors
/// If the input is neither.
pub fn deserialize_name_or_switch<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Precision, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "a precision (f32, bf16-weights or bf16), or true or false"
    )]
    enum Recorded {
        Switch(bool),
        Name(String),
    }
    match Recorded::deserialize(from)? {
        Recorded::Switch(false) => Ok(Precision::F32),
        Recorded::Switch(true) => Ok(Precision::Bf16Weights),
        Recorded::Name(name) => Precision::deserialize(StrDeserializer::new(&name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switch_of_earlier_runs_is_read() {
        let read = |text: &str| {
            let mut from = serde_json::Deserializer::from_str(text);
            deserialize_name_or_switch(&mut from).map_err(|error| error.to_string())
        };
        assert_eq!(read("false"), Ok(Precision::F32));
        assert_eq!(read("true"), Ok(Precision::Bf16Weights));
        for precision in Precision::ALL {
            assert_eq!(read(&format!("\"{precision}\"")), Ok(precision));
        }
        for (text, expected) in [
            ("\"f16\"", "unknown variant `f16`"),
            ("7", "or true or false"),
        ] {
            let error = read(text).err().unwrap_or_default();
            assert!(error.contains(expected), "{error}");
        }
    }
}
