//! Merging an adapter into the weights of its base model, and writing the result as a plain
//! checkpoint.

use std::path::Path;

use burn::tensor::DType;
use sentinel_base::StagedFolder;
use sentinel_base::provenance::Provenance;
use sentinel_tensor::numbers;

use super::Lora;
use super::files::no_adapter;
use crate::companion_files::{copy_companions, tokenizer_folder};
use crate::config::special_tokens;
use crate::stop_tokens::save_stop_tokens;
use crate::{Batch, CausalLm, ChatTemplateKwargs, ForwardOptions, LmError, Tokenizer};

/// Largest allowed difference of a logit, relative to the largest absolute logit or 1.
///
/// A model of 30 layers amplifies the rounding of some texts: with a trained adapter of SmolLM2-135M the largest
/// difference of 39 batches of random tokens was 1e-6 to 3e-5 of the largest logit, and of one 1.1e-4, in PyTorch as
/// here. A wrong merge differs by far more.
const TOLERANCE: f32 = 1e-3;

/// The result of the check that follows a merge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MergeReport {
    /// Largest absolute difference between the logits of the merged checkpoint, after it was
    /// written and read back, and those of base and adapter.
    pub difference: f32,
    /// Largest difference that is accepted.
    pub tolerance: f32,
}

impl Lora {
    /// Returns a model without an adapter and with the same output: each adapted weight is
    /// `W + scale B A`.
    #[must_use]
    pub fn merged(model: &CausalLm) -> CausalLm {
        let mut merged = model.clone();
        let linears = merged
            .blocks
            .iter_mut()
            .flat_map(|block| &mut block.linears);
        for linear in linears {
            let Some(lora) = linear.lora.take() else {
                continue;
            };
            let product = lora.b.get(false).matmul(lora.a.get(false));
            let weight = linear.weight.get(false).cast(DType::F32) + product.mul_scalar(lora.scale);
            linear.weight.set(weight);
        }
        merged.adapter = None;
        merged.changed_by_adapter = None;
        merged.digest = None;
        merged
    }

    /// Writes the merged model as a plain checkpoint into folder `target`.
    ///
    /// The other files of the base model's folder `source`, such as the tokenizer, are copied. If the adapter's
    /// folder `adapter` has its own tokenizer, stop tokens or variables of the chat template, those are taken. `provenance`
    /// is written beside them. The result is read back and compared with base and adapter before it
    /// replaces `target` as a whole.
    ///
    /// # Errors
    /// If there is no adapter, `target` is not empty and `force` is false, the comparison fails, or
    /// a file cannot be written.
    pub fn merge_into(
        model: &CausalLm,
        source: &Path,
        adapter: Option<&Path>,
        target: &Path,
        provenance: &Provenance,
        force: bool,
    ) -> Result<MergeReport, LmError> {
        if model.adapter().is_none() {
            return Err(no_adapter());
        }
        let inputs: Vec<&Path> = std::iter::once(source).chain(adapter).collect();
        let new = StagedFolder::new(target, force, &inputs)?;
        Self::merged(model).save_with(new.path(), special_tokens(source)?)?;
        let folder = tokenizer_folder(source, adapter)?;
        if folder != source {
            Tokenizer::load(folder)?.check_fits(&model.config)?;
        }
        copy_companions(source, folder, new.path())?;
        if let Some(adapter) = adapter {
            save_stop_tokens(source, adapter, folder, new.path())?;
        }
        ChatTemplateKwargs::resolve(None, adapter, source)?.save(new.path(), None)?;
        provenance.write(new.path())?;
        let report = compare(model, &CausalLm::load(new.path(), &model.device)?)?;
        if report.difference.is_nan() || report.difference > report.tolerance {
            return Err(LmError::Merge {
                difference: report.difference,
                tolerance: report.tolerance,
            });
        }
        new.commit()?;
        Ok(report)
    }
}

/// Compares the logits of both models on two rows of random tokens.
fn compare(model: &CausalLm, merged: &CausalLm) -> Result<MergeReport, LmError> {
    let tokens = model.config.max_position_embeddings.min(16);
    let vocabulary = model.config.vocab_size as u64;
    let mut random = sentinel_base::rng::Rng::new(0, &[]);
    let ids = (0..2 * tokens).map(|_| (random.next() % vocabulary) as u32);
    let batch = Batch::new(&model.config, ids.collect(), vec![true; 2 * tokens], tokens)?;
    let ours = numbers(model.forward(&batch, ForwardOptions::EVALUATION))?;
    let theirs = numbers(merged.forward(&batch, ForwardOptions::EVALUATION))?;
    let largest = ours
        .iter()
        .fold(1.0_f32, |largest, logit| largest.max(logit.abs()));
    let apart = ours.iter().zip(&theirs).map(|(a, b)| (a - b).abs());
    Ok(MergeReport {
        difference: apart.fold(
            0.0,
            |worst: f32, d| if d > worst || d.is_nan() { d } else { worst },
        ),
        tolerance: TOLERANCE * largest,
    })
}
