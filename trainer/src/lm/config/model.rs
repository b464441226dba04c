//! `config.json` of a Qwen2 or Qwen2.5 model, with the key names of existing checkpoints
//! (`rope_theta`, `torch_dtype`) and those of transformers 5 (`rope_parameters`, `dtype`).

use std::path::Path;

use serde_json::{Value, json};

use super::Fields;
use crate::lm::LmError;

/// The configuration of a Qwen2 model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelConfig {
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
    /// Length of the longest sequence, in tokens.
    pub max_position_embeddings: usize,
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
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
        Self::load_file(&folder.join("config.json"))
    }

    /// Reads a configuration from a file of any name.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_file(path: &Path) -> Result<Self, LmError> {
        let fields = Fields::load(path, "a model configuration")?;
        check_kind(&fields)?;
        check_window(&fields)?;
        let heads = fields.count("num_attention_heads")?;
        let config = Self {
            vocab_size: fields.count("vocab_size")?,
            hidden_size: fields.count("hidden_size")?,
            intermediate_size: fields.count("intermediate_size")?,
            num_hidden_layers: fields.count("num_hidden_layers")?,
            num_attention_heads: heads,
            num_key_value_heads: fields
                .optional_count("num_key_value_heads")?
                .unwrap_or(heads),
            max_position_embeddings: fields.count("max_position_embeddings")?,
            rope_theta: rope_theta(&fields)?,
            rms_norm_eps: positive(&fields, "rms_norm_eps")?.unwrap_or(1e-6),
            tie_word_embeddings: fields.flag("tie_word_embeddings")?,
            initializer_range: positive(&fields, "initializer_range")?.unwrap_or(0.02),
        };
        config.check(&fields)?;
        Ok(config)
    }

    fn check(&self, fields: &Fields) -> Result<(), LmError> {
        let (hidden, heads) = (self.hidden_size, self.num_attention_heads);
        if !hidden.is_multiple_of(2 * heads) {
            let problem = format!("is {hidden}, which gives {heads} heads no even width");
            let remedy = "hidden_size / num_attention_heads must be a whole even number";
            return Err(fields.invalid("hidden_size", &problem, remedy));
        }
        if let Some(width) = fields.optional_count("head_dim")?
            && width != hidden / heads
        {
            let remedy = "Qwen2 has hidden_size / num_attention_heads: remove the key";
            return Err(fields.invalid("head_dim", &format!("is {width}"), remedy));
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
        self.hidden_size / self.num_attention_heads
    }

    /// Returns the width of all keys, or of all values, of a token.
    #[must_use]
    pub const fn key_value_size(&self) -> usize {
        self.num_key_value_heads * self.head_dim()
    }

    /// Returns the content of a `config.json` with both sets of key names, for old and new readers.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "architectures": ["Qwen2ForCausalLM"],
            "model_type": "qwen2",
            "hidden_act": "silu",
            "attention_dropout": 0.0,
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden_size,
            "intermediate_size": self.intermediate_size,
            "num_hidden_layers": self.num_hidden_layers,
            "num_attention_heads": self.num_attention_heads,
            "num_key_value_heads": self.num_key_value_heads,
            "max_position_embeddings": self.max_position_embeddings,
            "max_window_layers": self.num_hidden_layers,
            "rope_theta": self.rope_theta,
            "rope_parameters": {"rope_theta": self.rope_theta, "rope_type": "default"},
            "rms_norm_eps": self.rms_norm_eps,
            "tie_word_embeddings": self.tie_word_embeddings,
            "initializer_range": self.initializer_range,
            "use_sliding_window": false,
            "use_cache": true,
            "torch_dtype": "float32",
            "dtype": "float32",
        })
    }
}

fn check_kind(fields: &Fields) -> Result<(), LmError> {
    let kind = fields.text("model_type")?.unwrap_or_default();
    if kind != "qwen2" {
        let remedy = "only Qwen2 and Qwen2.5 models (\"qwen2\") can be run";
        return Err(fields.invalid("model_type", &format!("is {kind:?}"), remedy));
    }
    let act = fields.text("hidden_act")?.unwrap_or("silu");
    if act != "silu" {
        let remedy = "only \"silu\" can be run";
        return Err(fields.invalid("hidden_act", &format!("is {act:?}"), remedy));
    }
    for key in ["torch_dtype", "dtype"] {
        let dtype = fields.text(key)?.unwrap_or("float32");
        if !["float32", "bfloat16", "float16"].contains(&dtype) {
            let remedy = "convert the weights to float32, bfloat16 or float16";
            return Err(fields.invalid(key, &format!("is {dtype:?}"), remedy));
        }
    }
    if fields.get("quantization_config").is_some() {
        let remedy = "take the checkpoint that is not quantised";
        return Err(fields.invalid("quantization_config", "is set", remedy));
    }
    Ok(())
}

/// Rejects sliding-window attention, which is not implemented. Most checkpoints configure a window
/// but disable it.
fn check_window(fields: &Fields) -> Result<(), LmError> {
    let remedy = "only full attention can be run";
    if fields.flag("use_sliding_window")? {
        return Err(fields.invalid("use_sliding_window", "is true", remedy));
    }
    let Some(Value::Array(kinds)) = fields.get("layer_types") else {
        return Ok(());
    };
    let layers = fields.count("num_hidden_layers")?;
    if kinds.len() != layers {
        let problem = format!("names {} layers", kinds.len());
        let remedy = format!("num_hidden_layers is {layers}: make them equal");
        return Err(fields.invalid("layer_types", &problem, &remedy));
    }
    match kinds.iter().find(|kind| *kind != "full_attention") {
        Some(kind) => Err(fields.invalid("layer_types", &format!("names {kind}"), remedy)),
        None => Ok(()),
    }
}

/// Returns the base of the rotary frequencies under either key name; 10000 as in transformers if
/// neither exists.
fn rope_theta(fields: &Fields) -> Result<f64, LmError> {
    let inner = fields.object("rope_parameters")?;
    let scaling = fields.object("rope_scaling")?;
    for (key, object) in [("rope_parameters", &inner), ("rope_scaling", &scaling)] {
        let Some(object) = object else { continue };
        let new = object.text("rope_type")?;
        let kind = new.or(object.text("type")?).unwrap_or("default");
        if kind != "default" {
            let problem = format!("asks for rope_type {kind:?}");
            let remedy = "only \"default\" can be run: remove the scaling";
            return Err(fields.invalid(key, &problem, remedy));
        }
    }
    let nested = inner.map(|object| positive(&object, "rope_theta"));
    let nested = nested.transpose()?.flatten();
    let top = positive(fields, "rope_theta")?;
    if let (Some(top), Some(nested)) = (top, nested)
        && (top - nested).abs() > 0.0
    {
        let problem = format!("is {top}, but rope_parameters says {nested}");
        return Err(fields.invalid("rope_theta", &problem, "make them equal"));
    }
    Ok(nested.or(top).unwrap_or(10_000.0))
}

fn positive(fields: &Fields, key: &str) -> Result<Option<f64>, LmError> {
    match fields.number(key)? {
        Some(number) if number <= 0.0 => {
            Err(fields.invalid(key, &format!("is {number}"), "write a number above 0"))
        }
        number => Ok(number),
    }
}
