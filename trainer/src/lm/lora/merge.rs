//! Adding an adapter to the weights of its base, and writing the result as a plain checkpoint.

use std::path::Path;

use burn::tensor::DType;

use super::Lora;
use super::files::no_adapter;
use crate::Error;
use crate::lm::config::special_tokens;
use crate::lm::parameter::numbers;
use crate::lm::{Batch, LmError, Pass, Qwen2};
use crate::provenance::Provenance;

/// What a folder of a model holds beside the weights.
pub(crate) const COMPANIONS: [&str; 8] = [
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
];

/// The largest allowed difference of a logit, as a share of the largest logit.
const TOLERANCE: f32 = 1e-4;

/// What a merge was checked by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MergeReport {
    /// The largest difference between logits of the merged checkpoint, read back, and those of
    /// base and adapter.
    pub difference: f32,
    /// What would have been allowed.
    pub tolerance: f32,
}

impl Lora {
    /// The model without an adapter that gives the same output: `W + scale B A` everywhere.
    #[must_use]
    pub fn merged(model: &Qwen2) -> Qwen2 {
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
        merged
    }

    /// Writes the merged model as a plain checkpoint into folder `target`, with what `source` (the
    /// base model's folder) has beside the weights, and with `provenance`. The result is read back and compared with base
    /// and adapter before it takes its place, which it does whole or not at all.
    ///
    /// # Errors
    /// If there is no adapter, `target` holds something and `force` is false, the comparison
    /// fails, or something cannot be written.
    pub fn merge_into(
        model: &Qwen2,
        source: &Path,
        target: &Path,
        provenance: &Provenance,
        force: bool,
    ) -> Result<MergeReport, LmError> {
        if model.adapter().is_none() {
            return Err(no_adapter());
        }
        if !force && crate::files::is_occupied(target, &[]) {
            return Err(Error::DirNotEmpty(target.to_owned()).into());
        }
        let parent = crate::files::folder_of(target);
        let failed = |error| LmError::write(target, error);
        let mut builder = tempfile::Builder::new();
        builder.prefix(".sentinel-merge-");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let new = builder.tempdir_in(parent).map_err(failed)?;
        Self::merged(model).save_with(new.path(), special_tokens(source)?)?;
        for name in COMPANIONS {
            let from = source.join(name);
            if from.is_file() {
                std::fs::copy(&from, new.path().join(name)).map_err(failed)?;
            }
        }
        provenance.write(new.path())?;
        let report = compare(model, &Qwen2::load(new.path(), &model.device)?)?;
        if report.difference.is_nan() || report.difference > report.tolerance {
            return Err(LmError::Merge {
                difference: report.difference,
                tolerance: report.tolerance,
            });
        }
        swap(new, target).map_err(failed)?;
        Ok(report)
    }
}

/// Logits of two rows of tokens from all over the vocabulary.
fn compare(model: &Qwen2, merged: &Qwen2) -> Result<MergeReport, LmError> {
    let tokens = model.config.max_position_embeddings.min(16);
    let vocabulary = model.config.vocab_size as u64;
    let mut random = crate::lm::random::Random::new(0);
    let ids = (0..2 * tokens).map(|_| (random.next() % vocabulary) as u32);
    let batch = Batch::new(&model.config, ids.collect(), vec![true; 2 * tokens], tokens)?;
    let ours = numbers(model.forward(&batch, Pass::EVALUATION))?;
    let theirs = numbers(merged.forward(&batch, Pass::EVALUATION))?;
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

/// Puts a finished folder in the place of another.
fn swap(new: tempfile::TempDir, target: &Path) -> std::io::Result<()> {
    let old = target.exists().then(|| {
        let mut aside = new.path().as_os_str().to_owned();
        aside.push(".old");
        std::path::PathBuf::from(aside)
    });
    if let Some(aside) = &old {
        std::fs::rename(target, aside)?;
    }
    let path = new.keep();
    if let Err(error) = std::fs::rename(&path, target) {
        if let Some(aside) = &old {
            std::fs::rename(aside, target)?;
        }
        let _ = std::fs::remove_dir_all(&path);
        return Err(error);
    }
    match old {
        Some(aside) if aside.is_dir() => std::fs::remove_dir_all(aside),
        Some(aside) => std::fs::remove_file(aside),
        None => Ok(()),
    }
}
