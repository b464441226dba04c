//! Loading a model from a checkpoint, creating a new one, and writing it.

use std::path::Path;

use burn::tensor::Device;
use sentinel_base::precision::Precision;
use sentinel_base::rng::Rng;
use serde_json::{Map, Value};

use super::{Block, CausalLm, Linear};
use crate::LmError;
use crate::config::ModelConfig;
use crate::parameter::Parameter;
use crate::weights::{
    EMBEDDING, HEAD, Initializer, KEY_NORM, PREFIX, QUERY_NORM, Tensors, read_checkpoint,
    safetensors_bytes, tensor_specs,
};

/// The files that [`CausalLm::save`] writes.
pub const MODEL_FILES: [&str; 2] = ["config.json", "model.safetensors"];

impl CausalLm {
    /// Loads a folder with `config.json` and `model.safetensors`, or shards with their index.
    ///
    /// # Errors
    /// If a file is missing or damaged, or tensors are missing, unexpected or of the wrong shape.
    pub fn load(folder: &Path, device: &Device) -> Result<Self, LmError> {
        let config = ModelConfig::load(folder)?;
        let mut tensors = read_checkpoint(folder)?;
        // Old checkpoints also store the rotary frequencies, which follow from the configuration.
        tensors.retain(|name, _| !name.ends_with("rotary_emb.inv_freq"));
        // TRL saves the value head of PPO beside the model, which is whole without it.
        tensors.retain(|name, _| !name.starts_with("v_head."));
        let mut tensors = with_prefix(tensors);
        let specs = tensor_specs(&config);
        let absent = specs
            .iter()
            .filter(|spec| !tensors.contains_key(&spec.name));
        let absent: Vec<String> = absent.map(|spec| spec.name.clone()).collect();
        if !absent.is_empty() {
            let remedy = if absent == [HEAD] {
                "if the head is the embedding, set tie_word_embeddings to true in config.json"
            } else {
                "take the config.json that belongs to the weights"
            };
            return Err(LmError::Tensors {
                path: folder.to_owned(),
                problem: "tensors are missing",
                names: absent,
                remedy,
            });
        }
        let mut parameters = Vec::with_capacity(specs.len());
        for spec in specs {
            let Some(found) = tensors.remove(&spec.name) else {
                continue;
            };
            if found.shape != spec.shape {
                return Err(LmError::Shape {
                    path: found.path,
                    name: spec.name,
                    found: found.shape,
                    expected: spec.shape,
                    asked_by: "config.json",
                });
            }
            let values = found.read()?;
            parameters.push(Parameter::new(spec.name, spec.shape, values, device));
        }
        if config.tie_word_embeddings
            && let Some(head) = tensors.remove(HEAD)
            && head.read()? != parameters[0].values()?
        {
            return Err(LmError::Tensors {
                path: head.path,
                problem: "a tied head differs from the embedding",
                names: vec![HEAD.to_owned()],
                remedy: "set tie_word_embeddings to false in config.json to use it",
            });
        }
        if !tensors.is_empty() {
            return Err(LmError::Tensors {
                path: folder.to_owned(),
                problem: "tensors do not belong to the model",
                names: tensors.into_keys().collect(),
                remedy: "take the config.json that belongs to the weights",
            });
        }
        Self::assemble(config, parameters, device)
    }

    /// Creates a new model, initialized as in transformers: normally distributed weights, norms 1,
    /// biases 0.
    ///
    /// # Errors
    /// None for a valid configuration.
    pub fn initialize(config: ModelConfig, seed: u64, device: &Device) -> Result<Self, LmError> {
        let deviation = config.initializer_range;
        let fill = |spec: crate::weights::TensorSpec| {
            let count = spec.shape.iter().product();
            let mut random = Rng::named(seed, &spec.name);
            let values: Vec<f32> = match spec.initial {
                Initializer::Ones => vec![1.0; count],
                Initializer::Zeros => vec![0.0; count],
                Initializer::Normal => (0..count).map(|_| random.normal(deviation)).collect(),
            };
            Parameter::new(spec.name, spec.shape, values, device)
        };
        let parameters = tensor_specs(&config).into_iter().map(fill).collect();
        Self::assemble(config, parameters, device)
    }

    /// Assembles a model from parameters in the order of [`tensor_specs`].
    fn assemble(
        config: ModelConfig,
        parameters: Vec<Parameter>,
        device: &Device,
    ) -> Result<Self, LmError> {
        let expected = tensor_specs(&config).len();
        let lost = || LmError::Length {
            what: "the list of tensors",
            found: parameters.len(),
            expected,
        };
        let lost = lost();
        let mut rest = parameters.into_iter().peekable();
        let mut parts = || -> Option<Self> {
            let embedding = rest.next()?;
            let mut blocks = Vec::with_capacity(config.num_hidden_layers);
            for _ in 0..config.num_hidden_layers {
                blocks.push(block(&mut rest, config.rms_norm_eps)?);
            }
            Some(Self {
                config: config.clone(),
                device: device.clone(),
                embedding,
                blocks,
                norm: rest.next()?,
                head: rest.next(),
                adapter: None,
                changed_by_adapter: None,
                digest: None,
                precision: Precision::F32,
            })
        };
        parts().ok_or(lost)
    }

    /// Writes `config.json` and `model.safetensors` of the base model, without its adapter, into an
    /// existing folder. Each file is written atomically.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<(), LmError> {
        self.save_with(folder, Map::new())
    }

    /// Writes the model as [`Self::save`] does, with additional keys in `config.json`.
    pub fn save_with(&self, folder: &Path, more: Map<String, Value>) -> Result<(), LmError> {
        let path = folder.join("model.safetensors");
        let base = self
            .parameters()
            .into_iter()
            .filter(|p| !p.name().contains(".lora_"));
        sentinel_base::files::write_atomic(&path, &safetensors_bytes(&path, base, &[])?)?;
        let mut config = self.config.to_json();
        if let Value::Object(keys) = &mut config {
            keys.extend(more);
        }
        let text = serde_json::to_vec_pretty(&config).map_err(sentinel_base::Error::Json)?;
        sentinel_base::files::write_atomic(&folder.join("config.json"), &text)?;
        Ok(())
    }
}

/// Returns the tensors under their names in a model with a head: a model saved without its head lacks the
/// prefix `model.`.
fn with_prefix(tensors: Tensors) -> Tensors {
    let bare = EMBEDDING.trim_start_matches(PREFIX);
    if !tensors.contains_key(bare) {
        return tensors;
    }
    let named = tensors.into_iter().map(|(name, tensor)| {
        let is_whole = name == HEAD || name.starts_with(PREFIX);
        let name = if is_whole {
            name
        } else {
            format!("{PREFIX}{name}")
        };
        (name, tensor)
    });
    named.collect()
}

/// Builds the next layer from parameters in the order of a checkpoint.
fn block<I>(rest: &mut std::iter::Peekable<I>, epsilon: f64) -> Option<Block>
where
    I: Iterator<Item = Parameter>,
{
    let input_norm = rest.next()?;
    let mut linear = || {
        let weight = rest.next()?;
        let bias = rest.next_if(|next| next.name().ends_with(".bias"));
        Some(Linear {
            weight,
            bias,
            lora: None,
        })
    };
    let linears = [
        linear()?,
        linear()?,
        linear()?,
        linear()?,
        linear()?,
        linear()?,
        linear()?,
    ];
    let mut head_norm = |kind: &str| rest.next_if(|next| next.name().ends_with(kind));
    let head_norms = head_norm(QUERY_NORM).zip(head_norm(KEY_NORM));
    Some(Block {
        input_norm,
        linears,
        head_norms: head_norms.map(|(query, key)| [query, key]),
        post_norm: rest.next()?,
        epsilon,
    })
}
