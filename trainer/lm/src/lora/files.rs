//! PEFT's files of an adapter: `adapter_config.json` and `adapter_model.safetensors`.
//!
//! Matrices of the blocks' linear layers stay beside the weights. All else that an adapter can hold, matrices of
//! the head and the embedding and whole weights, is written into the base model when the adapter is
//! loaded, so that such an adapter can be played and merged, but not trained.

use std::collections::BTreeMap;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::attach::attach_values;
use super::config::ADAPTER_FILES;
use super::pairs::AdaptedModule;
use super::whole_weights::{WholeWeights, add_product};
use super::{Lora, LoraConfig};
use crate::weights::{Tensors, read_file, read_metadata, safetensors_bytes};
use crate::{CausalLm, LmError};

const CONFIG: &str = ADAPTER_FILES[0];
const WEIGHTS: &str = ADAPTER_FILES[1];
/// Key in the metadata of the weights that holds the digest of the base model. PEFT ignores it.
const BASE_DIGEST: &str = "base_sha256";

/// Strictness of the check that an adapter belongs to the base model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseCheck {
    /// The base weights must be those that the adapter was trained on, if it records their digest.
    /// Adapters written by PEFT do not.
    Weights,
    /// Only names and shapes must match, as for a base model in another precision.
    Shapes,
}

impl Lora {
    /// Loads an adapter and attaches it to a model in place of an existing one. Nothing is trained
    /// until [`CausalLm::set_trained_part`] is called.
    ///
    /// # Errors
    /// If a file cannot be read, the adapter belongs to another base model, or an earlier adapter has changed
    /// the base model.
    pub fn load(model: &mut CausalLm, folder: &Path, check: BaseCheck) -> Result<(), LmError> {
        let mismatch = |reason: String| LmError::AdapterMismatch {
            path: folder.to_owned(),
            reason,
        };
        let (config, fields) = LoraConfig::read(folder)?;
        let path = folder.join(WEIGHTS);
        let tensors = read_file(&path)?.into_iter();
        let mut tensors: Tensors = tensors
            .map(|(name, tensor)| (without_adapter_name(name), tensor))
            .collect();
        if model.changed_by_adapter.is_some() {
            return Err(LmError::Format {
                path: folder.to_owned(),
                kind: "an adapter that can be added here",
                reason: "an earlier adapter has changed the base model: load the model again"
                    .to_owned(),
            });
        }
        let pairs = config.pairs(&model.config);
        let pairs = pairs.map_err(|wrong| wrong.in_file(&fields))?;
        for (name, shape) in pairs.iter().flat_map(|pair| [&pair.a, &pair.b]) {
            let found = tensors.get(name).map(|tensor| tensor.shape.as_slice());
            match found {
                None => return Err(mismatch(format!("it lacks tensor {name}"))),
                Some(found) if found != shape.as_slice() => {
                    let reason = format!("tensor {name} has shape {found:?}, not {shape:?}");
                    return Err(mismatch(reason));
                }
                Some(_) => {}
            }
        }
        let is_matrix = |name: &str| pairs.iter().any(|p| p.a.0 == name || p.b.0 == name);
        let whole = tensors.extract_if(.., |name, _| !is_matrix(name)).collect();
        let whole = WholeWeights::find(model, &config, whole).map_err(mismatch)?;
        if check == BaseCheck::Weights
            && let Some(base) = read_metadata(&path)?.remove(BASE_DIGEST)
            && base != model.base_digest()?
        {
            let reason = "it was trained on other weights of the same shape".to_owned();
            return Err(mismatch(reason));
        }
        let (blocks, others) = (pairs.into_iter())
            .partition::<Vec<_>, _>(|pair| matches!(pair.module, AdaptedModule::Block { .. }));
        if let Some(first) = whole
            .first()
            .or_else(|| others.first().map(|p| p.a.0.clone()))
        {
            model.digest = Some(model.base_digest()?);
            whole.write_into(model);
            for pair in &others {
                add_product(model, pair, &tensors)?;
            }
            model.changed_by_adapter = Some(first);
        }
        let read = tensors.into_iter();
        let read = read.map(|(name, tensor)| Ok((name, tensor.read()?)));
        let mut values = read.collect::<Result<BTreeMap<_, _>, LmError>>()?;
        let fill = |name: &str, _| values.remove(name).unwrap_or_default();
        attach_values(model, config, blocks, fill);
        Ok(())
    }

    /// Writes a model's adapter into a folder, which is created if needed. Each file is written
    /// atomically.
    ///
    /// `digest` is that of the base model ([`CausalLm::base_digest`]), passed in because it takes long
    /// to compute.
    ///
    /// # Errors
    /// If there is no adapter, it has changed the base model, or a file cannot be written.
    pub fn save(model: &CausalLm, folder: &Path, digest: &str) -> Result<(), LmError> {
        let Some(config) = model.adapter() else {
            return Err(no_adapter());
        };
        Self::check_trainable(model, folder)?;
        std::fs::create_dir_all(folder).map_err(|error| LmError::write(folder, error))?;
        let path = folder.join(WEIGHTS);
        let matrices = model
            .parameters()
            .into_iter()
            .filter(|p| p.name().contains(".lora_"));
        let digest = [(BASE_DIGEST, digest.to_owned())];
        sentinel_base::files::write_atomic(&path, &safetensors_bytes(&path, matrices, &digest)?)?;
        let text =
            serde_json::to_vec_pretty(&config.to_json()).map_err(sentinel_base::Error::Json)?;
        sentinel_base::files::write_atomic(&folder.join(CONFIG), &text)?;
        Ok(())
    }

    /// Checks that a model's adapter, which was read from `folder`, can be trained.
    ///
    /// # Errors
    /// If it has changed the base model.
    pub fn check_trainable(model: &CausalLm, folder: &Path) -> Result<(), LmError> {
        match &model.changed_by_adapter {
            None => Ok(()),
            Some(tensor) => Err(LmError::Format {
                path: folder.to_owned(),
                kind: "an adapter that can be trained",
                reason: format!(
                    "with {tensor} it changes more than the linear layers of the blocks, so it can only be played; merge \
                     it with `sentinel lm merge`, and train the result"
                ),
            }),
        }
    }
}

/// Returns the name of a tensor without that of the adapter, which PEFT accepts and leaves out when it saves.
fn without_adapter_name(name: String) -> String {
    match name.split_once(".lora_") {
        Some((module, matrix)) => format!("{module}.lora_{}", matrix.replace(".default", "")),
        None => name,
    }
}

pub(super) fn no_adapter() -> LmError {
    LmError::Option {
        option: "adapter",
        value: "none".to_owned(),
        allowed: "attached or loaded first",
    }
}

impl CausalLm {
    /// Returns the SHA-256 of names, shapes and values of the base model, in hexadecimal digits.
    ///
    /// # Errors
    /// If the device cannot be read.
    pub fn base_digest(&self) -> Result<String, LmError> {
        if let Some(digest) = &self.digest {
            return Ok(digest.clone());
        }
        let mut hash = Sha256::new();
        for parameter in self.parameters() {
            if parameter.name().contains(".lora_") {
                continue;
            }
            hash.update(format!("{}{:?}", parameter.name(), parameter.shape()));
            for number in parameter.values()? {
                hash.update(number.to_le_bytes());
            }
        }
        let bytes = hash.finalize();
        Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}
