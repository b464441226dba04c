//! The classes by which transformers 5 builds a tokenizer anew in place of the steps in `tokenizer.json`.

use std::path::Path;

use serde_json::{Value, json};
use tokenizers::{ModelWrapper, Tokenizer};

use super::LmError;
use super::config::Fields;
use super::special_tokens::SpecialTokens;
use super::vocabulary_files::{QWEN2_PATTERN, WHOLE_NUMBERS_PATTERN};

/// The class of a tokenizer, as far as it decides about tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenizerClass {
    /// The class `Qwen2Tokenizer`, of byte-level BPE.
    Qwen2,
    /// The class `LlamaTokenizer`, of BPE that falls back to bytes.
    Llama,
    /// A class that takes `tokenizer.json` as it is, or that is not known here.
    File,
}

impl TokenizerClass {
    /// Returns the class that `AutoTokenizer` of transformers 5.24 takes for a local folder. `inner` is its
    /// `tokenizer.json`, `config` its `tokenizer_config.json`.
    ///
    /// # Errors
    /// If `config.json` cannot be read.
    pub(super) fn find(
        folder: &Path,
        config: Option<&Fields>,
        inner: &Tokenizer,
    ) -> Result<Self, LmError> {
        let path = folder.join("config.json");
        let model = path
            .is_file()
            .then(|| Fields::load(&path, "a model configuration"));
        let model = model.transpose()?;
        let text = |fields: Option<&Fields>, key| -> Option<String> {
            Some(fields?.get(key)?.as_str()?.to_owned())
        };
        let key = "tokenizer_class";
        let named = text(config, key).or_else(|| text(model.as_ref(), key));
        let named = named.as_deref().map(|name| name.trim_end_matches("Fast"));
        let kind = text(model.as_ref(), "model_type").unwrap_or_default();
        Ok(match (kind.as_str(), named) {
            ("qwen2", _) | ("qwen3", None) | (_, Some("Qwen2Tokenizer")) => Self::Qwen2,
            (_, Some("LlamaTokenizer")) if !has_byte_level(inner) => Self::Llama,
            _ => Self::File,
        })
    }

    /// Returns the tokens of roles that a folder does not name.
    pub(super) const fn default_tokens(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Qwen2 => &[
                ("eos_token", "<|endoftext|>"),
                ("unk_token", "<|endoftext|>"),
                ("pad_token", "<|endoftext|>"),
            ],
            Self::Llama => &[
                ("bos_token", "<s>"),
                ("eos_token", "</s>"),
                ("unk_token", "<unk>"),
            ],
            Self::File => &[],
        }
    }

    /// Returns a warning if `tokenizer.json`, which counts as it is, has other steps than the class builds, or
    /// other added tokens.
    ///
    /// # Errors
    /// If `add_prefix_space` would put a space before texts that `tokenizer.json` does not put there.
    pub(super) fn warning(
        self,
        inner: &Tokenizer,
        config: Option<&Fields>,
        tokens: &SpecialTokens,
    ) -> Result<Option<String>, LmError> {
        let on = |key: &str| config.and_then(|config| config.get(key)?.as_bool());
        let prefix = on("add_prefix_space");
        let (class, normalizer, steps) = match self {
            Self::File => return Ok(None),
            Self::Qwen2 => {
                let steps = qwen2_steps(QWEN2_PATTERN, prefix.unwrap_or(false));
                ("Qwen2Tokenizer", json!({"type": "NFC"}), steps)
            }
            Self::Llama => {
                let scheme = match (prefix, on("legacy")) {
                    (Some(false), _) => "never",
                    (_, Some(true)) => "always",
                    _ => "first",
                };
                let steps = json!({
                    "type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": false
                });
                ("LlamaTokenizer", Value::Null, steps)
            }
        };
        let found = step(&inner.get_pre_tokenizer());
        let mut differing = Vec::new();
        if step(&inner.get_normalizer()) != normalizer {
            differing.push("normalizer");
        }
        // New models have a tokenizer of their own, of which their documentation says how to open it.
        if found != steps && found != qwen2_steps(WHOLE_NUMBERS_PATTERN, false) {
            if self == Self::Qwen2
                && prefix == Some(true)
                && found == qwen2_steps(QWEN2_PATTERN, false)
            {
                let remedy = "save it again with AutoTokenizer and save_pretrained, which writes it into \
                              tokenizer.json, or set it to false";
                let problem = "is true, but tokenizer.json puts no space before a text";
                return config.map_or(Ok(None), |config| {
                    Err(config.invalid("add_prefix_space", problem, remedy))
                });
            }
            differing.push("pre_tokenizer");
        }
        if !self.has_flags(inner) {
            differing.push("model");
        }
        if tokens.lacks_any(inner.get_added_tokens_decoder().into_values()) {
            differing.push("added_tokens");
        }
        let warning = format!(
            "tokenizer.json counts as it is, as for PreTrainedTokenizerFast, but AutoTokenizer of transformers 5 \
             builds {} anew from the class {class}, which can give other tokens: to have those, save the tokenizer \
             again with AutoTokenizer and save_pretrained",
            differing.join(", ")
        );
        Ok((!differing.is_empty()).then_some(warning))
    }

    /// Returns whether the model of a tokenizer has the settings of the class.
    fn has_flags(self, inner: &Tokenizer) -> bool {
        let ModelWrapper::BPE(model) = inner.get_model() else {
            return false;
        };
        let is_llama = self == Self::Llama;
        !model.ignore_merges
            && model.byte_fallback == is_llama
            && (model.fuse_unk || !is_llama)
            && model.dropout.is_none_or(|dropout| dropout == 0.0)
    }
}

/// Returns a step as JSON, without what has no effect on tokens; null if there is none.
fn step(step: &Option<&impl serde::Serialize>) -> Value {
    let mut value = serde_json::to_value(step).unwrap_or_default();
    drop_offsets(&mut value);
    value
}

/// Removes the settings that only concern the places of tokens.
fn drop_offsets(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("trim_offsets");
            fields.values_mut().for_each(drop_offsets);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_offsets),
        _ => {}
    }
}

/// Returns the step that splits texts for Qwen2.
fn qwen2_steps(pattern: &str, add_prefix_space: bool) -> Value {
    json!({"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false},
        {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "use_regex": false},
    ]})
}

/// Returns whether a tokenizer works on bytes.
fn has_byte_level(inner: &Tokenizer) -> bool {
    let steps = [step(&inner.get_pre_tokenizer()), step(&inner.get_decoder())];
    steps
        .iter()
        .any(|step| step.to_string().contains("\"ByteLevel\""))
}
