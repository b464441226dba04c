//! Attaching an adapter's matrices to the linear layers of a model.

use super::{Lora, LoraConfig, Target};
use crate::lm::parameter::Parameter;
use crate::lm::weights::{BLOCK_LINEARS, linear_shape};
use crate::lm::{CausalLm, LmError, LoraPair, TrainedPart};
use crate::rng::Rng;

/// Names, as in PEFT's files, and shapes of the two matrices of a linear layer.
pub(super) struct PairSpec {
    pub(super) layer: usize,
    pub(super) target: Target,
    pub(super) a: (String, [usize; 2]),
    pub(super) b: (String, [usize; 2]),
}

/// Returns the specifications of all pairs that an adapter has for a model.
pub(super) fn pairs(model: &CausalLm, config: &LoraConfig) -> Vec<PairSpec> {
    let layers = 0..model.config.num_hidden_layers;
    let of_layer = |layer: usize| {
        config.targets.iter().map(move |target| {
            let (part, linear) = BLOCK_LINEARS[*target as usize];
            let [outputs, inputs] = linear_shape(&model.config, linear);
            let module = format!("base_model.model.model.layers.{layer}.{part}.{linear}");
            PairSpec {
                layer,
                target: *target,
                a: (format!("{module}.lora_A.weight"), [config.rank, inputs]),
                b: (format!("{module}.lora_B.weight"), [outputs, config.rank]),
            }
        })
    };
    layers.flat_map(of_layer).collect()
}

impl Lora {
    /// Attaches a new adapter, replaces an existing one, and makes the adapter the trained part.
    ///
    /// As in PEFT, A is uniformly distributed and B is 0, so that the model's output does not
    /// change.
    ///
    /// # Errors
    /// If an option is invalid.
    pub fn attach(model: &mut CausalLm, config: LoraConfig, seed: u64) -> Result<(), LmError> {
        config.check()?;
        let fill = |name: &str, [rows, columns]: [usize; 2]| {
            if name.contains(".lora_B.") {
                return vec![0.0; rows * columns];
            }
            // Kaiming's uniform distribution with a = sqrt(5).
            let bound = 1.0 / (columns as f64).sqrt();
            let mut random = Rng::named(seed, name);
            let draw = |_| ((2.0 * random.uniform() - 1.0) * bound) as f32;
            (0..rows * columns).map(draw).collect()
        };
        attach_values(model, config, fill);
        model.set_trained_part(TrainedPart::Adapter);
        Ok(())
    }

    /// Removes the adapter from the model.
    pub fn detach(model: &mut CausalLm) {
        for block in &mut model.blocks {
            for linear in &mut block.linears {
                linear.lora = None;
            }
        }
        model.adapter = None;
    }
}

/// Attaches matrices with the values that `fill` returns for a name and shape.
pub(super) fn attach_values(
    model: &mut CausalLm,
    config: LoraConfig,
    mut fill: impl FnMut(&str, [usize; 2]) -> Vec<f32>,
) {
    Lora::detach(model);
    let device = model.device.clone();
    for pair in pairs(model, &config) {
        let mut matrix = |(name, shape): (String, [usize; 2])| {
            let values = fill(&name, shape);
            Parameter::new(name, shape.to_vec(), values, &device)
        };
        let (a, b) = (matrix(pair.a), matrix(pair.b));
        let linear = &mut model.blocks[pair.layer].linears[pair.target as usize];
        linear.lora = Some(LoraPair {
            a,
            b,
            scale: config.scale(),
            dropout: config.dropout,
        });
    }
    model.adapter = Some(config);
}
