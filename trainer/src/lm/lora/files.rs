//! PEFT's files of an adapter: `adapter_config.json` and `adapter_model.safetensors`.

use std::collections::BTreeMap;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::attach::{attach_values, pairs};
use super::{Lora, LoraConfig};
use crate::lm::weights::{read_file, read_metadata, safetensors_bytes};
use crate::lm::{CausalLm, LmError};

const CONFIG: &str = "adapter_config.json";
const WEIGHTS: &str = "adapter_model.safetensors";
/// Names of the files in an adapter's folder.
pub(crate) const ADAPTER_FILES: [&str; 2] = [CONFIG, WEIGHTS];
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
    /// If a file cannot be read, or the adapter belongs to another base model.
    pub fn load(model: &mut CausalLm, folder: &Path, check: BaseCheck) -> Result<(), LmError> {
        let config = LoraConfig::load(&folder.join(CONFIG))?;
        let path = folder.join(WEIGHTS);
        let tensors = read_file(&path)?;
        let mismatch = |reason: String| LmError::AdapterMismatch {
            path: folder.to_owned(),
            reason,
        };
        let expected = pairs(model, &config);
        for (name, shape) in expected.iter().flat_map(|pair| [&pair.a, &pair.b]) {
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
        let count = 2 * expected.len();
        if tensors.len() != count {
            let known = |name: &str| expected.iter().any(|p| p.a.0 == name || p.b.0 == name);
            let extra = tensors.keys().find(|name| !known(name));
            let extra = extra.map_or("", String::as_str);
            return Err(mismatch(format!(
                "tensor {extra} has no place in the model"
            )));
        }
        if check == BaseCheck::Weights
            && let Some(base) = read_metadata(&path)?.remove(BASE_DIGEST)
            && base != model.base_digest()?
        {
            let reason = "it was trained on other weights of the same shape".to_owned();
            return Err(mismatch(reason));
        }
        let read = tensors.into_iter();
        let read = read.map(|(name, tensor)| Ok((name, tensor.read()?)));
        let mut values = read.collect::<Result<BTreeMap<_, _>, LmError>>()?;
        let fill = |name: &str, _| values.remove(name).unwrap_or_default();
        attach_values(model, config, fill);
        Ok(())
    }

    /// Writes a model's adapter into a folder, which is created if needed. Each file is written
    /// atomically.
    ///
    /// `digest` is that of the base model ([`CausalLm::base_digest`]), passed in because it takes long
    /// to compute.
    ///
    /// # Errors
    /// If there is no adapter, or a file cannot be written.
    pub fn save(model: &CausalLm, folder: &Path, digest: &str) -> Result<(), LmError> {
        let Some(config) = model.adapter() else {
            return Err(no_adapter());
        };
        std::fs::create_dir_all(folder).map_err(|error| LmError::write(folder, error))?;
        let path = folder.join(WEIGHTS);
        let matrices = model
            .parameters()
            .into_iter()
            .filter(|p| p.name().contains(".lora_"));
        let digest = [(BASE_DIGEST, digest.to_owned())];
        crate::files::write_atomic(&path, &safetensors_bytes(&path, matrices, &digest)?)?;
        let text = serde_json::to_vec_pretty(&config.to_json()).map_err(crate::Error::Json)?;
        crate::files::write_atomic(&folder.join(CONFIG), &text)?;
        Ok(())
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
