//! PEFT's files of an adapter: `adapter_config.json` and `adapter_model.safetensors`.
//!
//! Matrices of the blocks' linear layers stay beside the weights. All else that an adapter can hold, matrices of
//! the head and the embedding and whole weights, is written into the base model when the adapter is
//! loaded, so that such an adapter can be played and merged, but not trained.

use std::collections::BTreeMap;
use std::path::Path;

use sha2::{Digest, Sha256};

use burn::tensor::DType;

use super::attach::attach_values;
use super::config::ADAPTER_FILES;
use super::pairs::{ADAPTER_PREFIX, PairSpec, Place};
use super::{Lora, LoraConfig};
use crate::lm::parameter::Parameter;
use crate::lm::weights::{EMBEDDING, HEAD, Tensors, read_file, read_metadata, safetensors_bytes};
use crate::lm::{CausalLm, LmError};
use crate::tensors::matrix;

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
        let config = LoraConfig::load(folder)?;
        let path = folder.join(WEIGHTS);
        let mut tensors = read_file(&path)?;
        if model.changed_by_adapter.is_some() {
            return Err(LmError::Format {
                path: folder.to_owned(),
                kind: "an adapter that can be added here",
                reason: "an earlier adapter has changed the base model: load the model again"
                    .to_owned(),
            });
        }
        let pairs = config.pairs(&model.config)?;
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
            .partition::<Vec<_>, _>(|pair| matches!(pair.place, Place::Block { .. }));
        if let Some(first) = whole
            .first()
            .or_else(|| others.first().map(|p| p.a.0.clone()))
        {
            model.digest = Some(model.base_digest()?);
            whole.write_into(model)?;
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
        crate::files::write_atomic(&path, &safetensors_bytes(&path, matrices, &digest)?)?;
        let text = serde_json::to_vec_pretty(&config.to_json()).map_err(crate::Error::Json)?;
        crate::files::write_atomic(&folder.join(CONFIG), &text)?;
        Ok(())
    }
}

impl Lora {
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

/// The weights of the base model that an adapter holds as a whole.
struct WholeWeights {
    /// Those that PEFT's own module wraps, so that a tied weight is changed in one place only.
    wrapped: Vec<Parameter>,
    /// Those that PEFT writes into the base model.
    plain: Vec<Parameter>,
}

impl WholeWeights {
    /// Finds the weights among the tensors of an adapter that are no matrices.
    ///
    /// # Errors
    /// If a tensor has no place in the model.
    fn find(model: &CausalLm, config: &LoraConfig, tensors: Tensors) -> Result<Self, String> {
        let mut found = Self {
            wrapped: Vec::new(),
            plain: Vec::new(),
        };
        for (name, tensor) in tensors {
            let no_place = || format!("tensor {name} has no place in the model");
            let base = name.strip_prefix(ADAPTER_PREFIX).ok_or_else(no_place)?;
            // Of a module that PEFT wraps, it can save the copy twice, and the original beside it.
            if base.contains(".modules_to_save.") {
                continue;
            }
            let original = [".base_layer.", ".original_module."];
            let wrapper = original.into_iter().find(|part| base.contains(part));
            let base = wrapper.map_or_else(|| base.to_owned(), |part| base.replace(part, "."));
            let (module, _) = base.rsplit_once('.').ok_or_else(no_place)?;
            let is_saved = wrapper.is_none() && is_saved(config, module);
            let is_table = [EMBEDDING, HEAD].contains(&base.as_str());
            let is_known = is_saved || is_table || wrapper.is_some() || base.ends_with(".bias");
            let shape = model
                .shape_of(&base)
                .filter(|_| is_known)
                .ok_or_else(no_place)?;
            if tensor.shape != shape {
                let found = tensor.shape;
                let resized = found.first().filter(|_| is_table).map(|tokens| {
                    format!(
                        ", so the vocabulary was resized before training: call resize_token_embeddings({tokens}) on the \
                         base model, merge with PEFT's merge_and_unload, and use the result as --model"
                    )
                });
                let resized = resized.unwrap_or_default();
                return Err(format!(
                    "tensor {name} has shape {found:?}, not {shape:?}{resized}"
                ));
            }
            let values = tensor.read().map_err(|error| error.to_string())?;
            let weight = Parameter::new(base, shape, values, &model.device);
            if is_saved {
                found.wrapped.push(weight);
            } else {
                found.plain.push(weight);
            }
        }
        // A tied head is in the list although the model has no weight for it.
        let own = model.parameters().into_iter().map(Parameter::name);
        for name in own.filter(|name| !name.contains(".lora_")).chain([HEAD]) {
            let (module, _) = name.rsplit_once('.').unwrap_or((name, ""));
            if is_saved(config, module) && !found.wrapped.iter().any(|w| w.name() == name) {
                return Err(format!("it lacks tensor {ADAPTER_PREFIX}{name}"));
            }
        }
        Ok(found)
    }

    /// Returns the name of a weight, if there is one.
    fn first(&self) -> Option<String> {
        let all = self.wrapped.iter().chain(&self.plain);
        all.map(|weight| weight.name().to_owned()).next()
    }

    fn write_into(self, model: &mut CausalLm) -> Result<(), LmError> {
        for weight in self.plain {
            model.replace(weight);
        }
        for weight in self.wrapped {
            if [EMBEDDING, HEAD].contains(&weight.name()) {
                model.untie();
            }
            model.replace(weight);
        }
        Ok(())
    }
}

/// Returns `true` if an adapter holds a module as a whole. PEFT takes any end of a name here, so that `norm` is
/// an `input_layernorm` as well.
fn is_saved(config: &LoraConfig, module: &str) -> bool {
    let mut saved = config.modules_to_save.iter();
    saved.any(|end| module.ends_with(end.as_str()))
}

/// Adds the product of an adapter's matrices to the head or the embedding.
fn add_product(model: &mut CausalLm, pair: &PairSpec, tensors: &Tensors) -> Result<(), LmError> {
    model.untie();
    let read = |(name, shape): &(String, [usize; 2])| {
        let values = tensors.get(name).map(|tensor| tensor.read()).transpose()?;
        Ok::<_, LmError>(matrix(values.unwrap_or_default(), *shape, &model.device))
    };
    let product = read(&pair.b)?.matmul(read(&pair.a)?);
    let (product, weight) = match (pair.place, &mut model.head) {
        // The embedding maps a token to a row of its weight.
        (Place::Embedding, _) | (_, None) => (product.transpose(), &mut model.embedding),
        (_, Some(head)) => (product, head),
    };
    let sum = weight.get(false).cast(DType::F32) + product.mul_scalar(pair.scale);
    weight.set(sum);
    Ok(())
}

impl CausalLm {
    /// Returns the shape of a weight, or `None` if there is none; a tied head has that of the embedding.
    fn shape_of(&self, name: &str) -> Option<Vec<usize>> {
        let own = self.parameters().into_iter().find(|p| p.name() == name);
        let tied = (name == HEAD).then_some(&self.embedding);
        own.or(tied).map(|parameter| parameter.shape().to_vec())
    }

    /// Gives the head a weight of its own, equal to the embedding, if it is tied to it.
    fn untie(&mut self) {
        if self.head.is_none() {
            self.config.tie_word_embeddings = false;
            self.head = Some(self.embedding.renamed(HEAD));
        }
    }

    /// Replaces a weight by another of its name; one of a tied head replaces the embedding.
    fn replace(&mut self, weight: Parameter) {
        let name = weight.name().to_owned();
        let is_tied = name == HEAD && self.head.is_none();
        let wanted = if is_tied { EMBEDDING } else { name.as_str() };
        if let Some(own) = self
            .parameters_mut()
            .into_iter()
            .find(|p| p.name() == wanted)
        {
            own.set(weight.get(false));
        }
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
