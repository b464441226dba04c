//! `config.json` of a Qwen2, Qwen3 or Llama model, with the key names of existing checkpoints
//! (`rope_theta`, `torch_dtype`) and those of transformers 5 (`rope_parameters`, `dtype`).

use std::path::Path;

use serde_json::{Value, json};

use super::fields::positive;
use super::rope::{self, RopeScaling};
use super::{Fields, ModelType};
use crate::LmError;

/// The configuration of a language model, as in its `config.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelConfig {
    /// Family of the model.
    pub model_type: ModelType,
    /// Number of token ids: rows of the embedding.
    pub vocab_size: usize,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Width of the feed-forward layers.
    pub intermediate_size: usize,
    /// Number of decoder layers.
    pub num_hidden_layers: usize,
    /// Number of query heads.
    pub num_attention_heads: usize,
    /// Number of key and value heads; a divisor of `num_attention_heads`.
    pub num_key_value_heads: usize,
    /// Width of an attention head; `None` if it is `hidden_size / num_attention_heads`.
    pub head_dim: Option<usize>,
    /// Length of the longest sequence, in tokens.
    pub max_position_embeddings: usize,
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
    /// Scaling of the rotary frequencies, if any.
    pub rope_scaling: Option<RopeScaling>,
    /// Term added to the mean square in RMS norms.
    pub rms_norm_eps: f64,
    /// `true` if the output head is the embedding.
    pub tie_word_embeddings: bool,
    /// Standard deviation of newly initialized weights.
    pub initializer_range: f64,
}

impl ModelConfig {
    /// Reads `config.json` of a folder.
    ///
    /// # Errors
    /// If it cannot be read, or describes an unsupported model.
    pub fn load(folder: &Path) -> Result<Self, LmError> {
        let path = folder.join("config.json");
        let adapter = folder.join("adapter_config.json");
        if !path.is_file() && adapter.is_file() {
            let fields = Fields::load(&adapter, "an adapter configuration")?;
            let base = fields.text("base_model_name_or_path")?.unwrap_or("BASE");
            return Err(LmError::Format {
                path: folder.to_owned(),
                kind: "a model",
                reason: format!(
                    "it is an adapter: use --model {base} --adapter {}",
                    folder.display()
                ),
            });
        }
        Self::load_file(&path)
    }

    /// Reads a configuration from a file of any name.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_file(path: &Path) -> Result<Self, LmError> {
        let fields = Fields::load(path, "a model configuration")?;
        let model_type = check_kind(&fields)?;
        check_biases(&fields)?;
        check_causal(&fields)?;
        check_window(&fields)?;
        let heads = fields.count("num_attention_heads")?;
        let hidden = fields.count("hidden_size")?;
        let (rope_theta, rope_scaling) = rope::load(&fields)?;
        let config = Self {
            model_type,
            vocab_size: fields.count("vocab_size")?,
            hidden_size: hidden,
            intermediate_size: fields.count("intermediate_size")?,
            num_hidden_layers: fields.count("num_hidden_layers")?,
            num_attention_heads: heads,
            num_key_value_heads: fields
                .optional_count("num_key_value_heads")?
                .unwrap_or(heads),
            head_dim: fields
                .optional_count("head_dim")?
                .or(model_type.default_head_dim())
                .filter(|width| width.checked_mul(heads) != Some(hidden)),
            max_position_embeddings: fields.count("max_position_embeddings")?,
            rope_theta,
            rope_scaling,
            rms_norm_eps: positive(&fields, "rms_norm_eps")?.unwrap_or(1e-6),
            tie_word_embeddings: fields.flag("tie_word_embeddings")?,
            initializer_range: positive(&fields, "initializer_range")?.unwrap_or(0.02),
        };
        config.check(&fields)?;
        Ok(config)
    }

    fn check(&self, fields: &Fields) -> Result<(), LmError> {
        let (hidden, heads) = (self.hidden_size, self.num_attention_heads);
        match self.head_dim {
            Some(width) if !self.model_type.has_free_head_dim() => {
                let remedy = "Qwen2 has hidden_size / num_attention_heads: remove the key";
                return Err(fields.invalid("head_dim", &format!("is {width}"), remedy));
            }
            Some(width) if !width.is_multiple_of(2) => {
                let remedy = "write an even number, of which rotary embeddings rotate pairs";
                return Err(fields.invalid("head_dim", &format!("is {width}"), remedy));
            }
            None if !hidden.is_multiple_of(2 * heads) => {
                let problem = format!("is {hidden}, which gives {heads} heads no even width");
                let remedy = "hidden_size / num_attention_heads must be a whole even number";
                return Err(fields.invalid("hidden_size", &problem, remedy));
            }
            _ => {}
        }
        let pairs = self.num_key_value_heads;
        if !heads.is_multiple_of(pairs) {
            let problem = format!("is {pairs}, which does not divide {heads} attention heads");
            let remedy = "write a divisor of num_attention_heads";
            return Err(fields.invalid("num_key_value_heads", &problem, remedy));
        }
        Ok(())
    }

    /// Returns the width of one attention head.
    #[must_use]
    pub const fn head_dim(&self) -> usize {
        match self.head_dim {
            Some(width) => width,
            None => self.hidden_size / self.num_attention_heads,
        }
    }

    /// Returns the width of all queries of a token.
    #[must_use]
    pub const fn query_size(&self) -> usize {
        self.num_attention_heads * self.head_dim()
    }

    /// Returns the width of all keys, or of all values, of a token.
    #[must_use]
    pub const fn key_value_size(&self) -> usize {
        self.num_key_value_heads * self.head_dim()
    }

    /// Returns the rotary frequencies of a head, in radians per token, `[head / 2]`.
    ///
    /// They are rounded to f32 as in Hugging Face; the difference is visible at large positions.
    #[must_use]
    pub fn rope_frequencies(&self) -> Vec<f32> {
        let half = self.head_dim() / 2;
        let frequency = |i: usize| 1.0 / self.rope_theta.powf(i as f64 / half as f64);
        let mut all: Vec<f64> = (0..half).map(frequency).collect();
        if let Some(scaling) = &self.rope_scaling {
            all = scaling.scale(&all, self.rope_theta);
        }
        all.into_iter().map(|frequency| frequency as f32).collect()
    }

    /// Returns the factor of the cosines and sines of the rotary embeddings.
    #[must_use]
    pub fn rope_attention_factor(&self) -> f64 {
        let scaling = self.rope_scaling.as_ref();
        scaling.map_or(1.0, RopeScaling::attention_factor)
    }

    /// Returns the content of a `config.json` with both sets of key names, for old and new readers.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut all = json!({
            "architectures": [self.model_type.architecture()],
            "model_type": self.model_type.name(),
            "hidden_act": "silu",
            "attention_dropout": 0.0,
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden_size,
            "intermediate_size": self.intermediate_size,
            "num_hidden_layers": self.num_hidden_layers,
            "num_attention_heads": self.num_attention_heads,
            "num_key_value_heads": self.num_key_value_heads,
            "max_position_embeddings": self.max_position_embeddings,
            "rms_norm_eps": self.rms_norm_eps,
            "tie_word_embeddings": self.tie_word_embeddings,
            "initializer_range": self.initializer_range,
            "use_cache": true,
            "torch_dtype": "float32",
            "dtype": "float32",
        });
        match self.model_type {
            ModelType::Qwen2 | ModelType::Qwen3 => {
                all["max_window_layers"] = json!(self.num_hidden_layers);
                all["use_sliding_window"] = json!(false);
            }
            ModelType::Llama => all["mlp_bias"] = json!(false),
        }
        if self.model_type.has_free_head_dim() {
            all["attention_bias"] = json!(false);
            all["head_dim"] = json!(self.head_dim());
        }
        if let Value::Object(keys) = &mut all {
            keys.extend(rope::to_json(self.rope_theta, self.rope_scaling.as_ref()));
        }
        all
    }
}

/// Checks that the file describes a model that can be run, and returns its family.
fn check_kind(fields: &Fields) -> Result<ModelType, LmError> {
    let kind = fields.text("model_type")?.unwrap_or_default();
    let Some(model_type) = ModelType::from_name(kind) else {
        let names = ModelType::ALL.map(|known| format!("{:?}", known.name()));
        let remedy = format!("only models of the types {} can be run", names.join(", "));
        return Err(fields.invalid("model_type", &format!("is {kind:?}"), &remedy));
    };
    let expected = model_type.architecture();
    // The model without its head, whose weights lack the prefix `model.`.
    let base = expected.trim_end_matches("ForCausalLM").to_owned() + "Model";
    if let Some(Value::Array(named)) = fields.get("architectures")
        && !named.is_empty()
        && !named.iter().any(|name| name == expected || *name == base)
    {
        let problem = format!("is {}", Value::Array(named.clone()));
        let remedy = format!("only {expected:?} can be run for {kind:?}");
        return Err(fields.invalid("architectures", &problem, &remedy));
    }
    let act = fields.text("hidden_act")?.unwrap_or("silu");
    if !["silu", "swish"].contains(&act) {
        let remedy = "only \"silu\" can be run";
        return Err(fields.invalid("hidden_act", &format!("is {act:?}"), remedy));
    }
    for key in ["torch_dtype", "dtype"] {
        let dtype = fields.text(key)?.unwrap_or("auto");
        let dtype = dtype.trim_start_matches("torch.");
        if !["auto", "float32", "bfloat16", "float16"].contains(&dtype) {
            let remedy = "convert the weights to float32, bfloat16 or float16";
            return Err(fields.invalid(key, &format!("is {dtype:?}"), remedy));
        }
    }
    if fields.get("quantization_config").is_some() {
        let remedy = "take the checkpoint that is not quantized";
        return Err(fields.invalid("quantization_config", "is set", remedy));
    }
    Ok(model_type)
}

/// Rejects biases of linear layers that a file can ask for, which are not implemented. Those of
/// Qwen2's queries, keys and values have no key.
fn check_biases(fields: &Fields) -> Result<(), LmError> {
    for key in ["attention_bias", "mlp_bias"] {
        if fields.flag(key)? {
            return Err(fields.invalid(key, "is true", "only layers without it can be run"));
        }
    }
    Ok(())
}

/// Rejects attention to later tokens.
fn check_causal(fields: &Fields) -> Result<(), LmError> {
    match fields.values().get("is_causal") {
        None | Some(Value::Bool(true)) => Ok(()),
        Some(value) => {
            let remedy = "only models whose tokens see no later ones (true) can be run";
            Err(fields.invalid("is_causal", &format!("is {value}"), remedy))
        }
    }
}

/// Rejects sliding-window attention, which is not implemented, unless it changes nothing: where it is
/// disabled, begins after the last layer, or is as wide as the longest sequence.
fn check_window(fields: &Fields) -> Result<(), LmError> {
    let remedy = "only full attention can be run";
    let layers = fields.count("num_hidden_layers")?;
    let window = match fields.values().get("sliding_window") {
        Some(Value::Null) => None,
        // The default of transformers.
        _ => Some(fields.optional_count("sliding_window")?.unwrap_or(4096)),
    };
    let longest = fields.count("max_position_embeddings")?;
    let is_used = fields.flag("use_sliding_window")?;
    let cuts = is_used && window.is_some_and(|window| window < longest);
    let Some(Value::Array(kinds)) = fields.get("layer_types") else {
        let first = fields.number("max_window_layers")?.unwrap_or(28.0);
        return if cuts && first < layers as f64 {
            Err(fields.invalid("use_sliding_window", "is true", remedy))
        } else {
            Ok(())
        };
    };
    if kinds.len() != layers {
        let problem = format!("names {} layers", kinds.len());
        let remedy = format!("num_hidden_layers is {layers}: make them equal");
        return Err(fields.invalid("layer_types", &problem, &remedy));
    }
    let is_full = |kind: &&Value| {
        **kind == "full_attention" || **kind == "sliding_attention" && is_used && !cuts
    };
    match kinds.iter().find(|kind| !is_full(kind)) {
        Some(kind) => Err(fields.invalid("layer_types", &format!("names {kind}"), remedy)),
        None => Ok(()),
    }
}
