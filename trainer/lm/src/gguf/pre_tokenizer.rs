//! The rules by which tokenizers split a text before they merge pairs. A GGUF file only names them.

use serde_json::{Value, json};

use super::metadata::Metadata;
use crate::LmError;
use crate::vocabulary_files::QWEN2_PATTERN;

/// The pattern by which the tokenizer of Llama 3 splits a text.
const LLAMA3_PATTERN: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Rules that split a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PreTokenizer {
    Gpt2,
    /// The rules of GPT-2, after every digit is split off.
    SmolLm,
    Qwen2,
    Llama3,
}

impl PreTokenizer {
    /// The names in files.
    const NAMES: [(&str, Self); 6] = [
        ("gpt-2", Self::Gpt2),
        ("smollm", Self::SmolLm),
        ("qwen2", Self::Qwen2),
        ("llama-bpe", Self::Llama3),
        ("llama3", Self::Llama3),
        ("llama-v3", Self::Llama3),
    ];

    /// Returns the rules that a file names.
    ///
    /// # Errors
    /// If it names none, or others than these.
    pub(super) fn find(metadata: &Metadata) -> Result<Self, LmError> {
        const KEY: &str = "tokenizer.ggml.pre";
        let name = metadata.text(KEY)?.ok_or_else(|| metadata.missing(KEY))?;
        let known = Self::NAMES.into_iter().find(|(known, _)| *known == name);
        known.map(|(_, found)| found).ok_or_else(|| {
            let names = Self::NAMES.map(|(name, _)| name).join(", ");
            let remedy = format!("only {names} can be imported");
            metadata.invalid(KEY, &format!("is {name:?}"), &remedy)
        })
    }

    /// Returns the step before the text is split.
    pub(super) fn normalizer(self) -> Value {
        match self {
            Self::Qwen2 => json!({"type": "NFC"}),
            Self::Gpt2 | Self::SmolLm | Self::Llama3 => Value::Null,
        }
    }

    /// Returns the steps that split a text, as in `tokenizer.json`.
    pub(super) fn steps(self) -> Value {
        let gpt2 = json!({
            "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true
        });
        match self {
            Self::Gpt2 => gpt2,
            Self::SmolLm => json!({
                "type": "Sequence",
                "pretokenizers": [{"type": "Digits", "individual_digits": true}, gpt2],
            }),
            Self::Qwen2 => split(QWEN2_PATTERN),
            Self::Llama3 => split(LLAMA3_PATTERN),
        }
    }

    /// Returns `true` if a word that is a token is not merged from pairs.
    pub(super) const fn ignores_merges(self) -> bool {
        matches!(self, Self::Llama3)
    }

    /// Returns `true` if texts begin with a token unless the file says otherwise.
    pub(super) const fn adds_bos(self) -> bool {
        matches!(self, Self::Llama3)
    }

    /// Returns the class by which transformers reads the tokenizer.
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Qwen2 => "Qwen2Tokenizer",
            Self::Gpt2 | Self::SmolLm | Self::Llama3 => "PreTrainedTokenizerFast",
        }
    }
}

/// Returns the steps that split a text by a pattern.
fn split(pattern: &str) -> Value {
    json!({"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false},
        {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false},
    ]})
}
