//! Attaching an adapter's matrices to the linear layers of a model.

use sentinel_base::rng::Rng;

use super::pairs::{AdaptedModule, PairSpec};
use super::{Lora, LoraConfig};
use crate::parameter::Parameter;
use crate::{CausalLm, LmError, LoraPair, TrainedPart};

impl Lora {
    /// Attaches a new adapter, replaces an existing one, and makes the adapter the trained part.
    ///
    /// As in PEFT, A is uniformly distributed and B is 0, so that the model's output does not
    /// change.
    ///
    /// # Errors
    /// If an option is invalid, or names other modules than the linear layers of the blocks.
    pub fn attach(model: &mut CausalLm, config: LoraConfig, seed: u64) -> Result<(), LmError> {
        config.check()?;
        let pairs = config.pairs(&model.config);
        let pairs = pairs.map_err(|wrong| config.invalid(wrong))?;
        let in_block = |pair: &PairSpec| matches!(pair.module, AdaptedModule::Block { .. });
        if !config.modules_to_save.is_empty() || !pairs.iter().all(in_block) {
            return Err(LmError::Option {
                option: "target modules",
                value: "of other modules".to_owned(),
                allowed: "linear layers of the blocks: head and embedding are trained with --full",
            });
        }
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
        attach_values(model, config, pairs, fill);
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

/// Attaches the matrices of the blocks' layers, with the values that `fill` returns for a name and shape.
pub(super) fn attach_values(
    model: &mut CausalLm,
    config: LoraConfig,
    pairs: Vec<PairSpec>,
    mut fill: impl FnMut(&str, [usize; 2]) -> Vec<f32>,
) {
    Lora::detach(model);
    let device = model.device.clone();
    for pair in pairs {
        let AdaptedModule::Block { layer, linear } = pair.module else {
            continue;
        };
        let mut matrix = |(name, shape): (String, [usize; 2])| {
            let values = fill(&name, shape);
            Parameter::new(name, shape.to_vec(), values, &device)
        };
        let (a, b) = (matrix(pair.a), matrix(pair.b));
        model.blocks[layer].linears[linear].lora = Some(LoraPair {
            a,
            b,
            scale: pair.scale,
            dropout: config.dropout,
        });
    }
    model.adapter = Some(config);
}
