//! A byte-level BPE tokenizer like Qwen2's, with words learned from a corpus.

use std::path::PathBuf;

use tokenizers::models::bpe::{BPE, BpeTrainerBuilder};
use tokenizers::normalizers::unicode::NFC;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{AddedToken, SplitDelimiterBehavior, TokenizerBuilder, TokenizerImpl};

use crate::lm::LmError;

/// End of text, begin of a turn, end of a turn, by the names that Qwen2 gives them.
pub const SPECIAL: [&str; 3] = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];

/// ChatML.
pub const CHAT_TEMPLATE: &str = "{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- endif %}
";

/// How a new tokenizer cuts numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Numbers {
    /// `0.86` is one word, and a name keeps its number: `S3`. A small model can compare such words
    #[default]
    Whole,
    /// Digit by digit, as Qwen2's own files do
    Digits,
}

impl Numbers {
    /// The expression that cuts text into words, before bytes are joined within each.
    const fn words(self) -> &'static str {
        match self {
            Self::Whole => {
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)| ?\p{N}+(?:\.\p{N}+)?|[^\r\n\p{L}\p{N}]?\p{L}+\p{N}*| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
            }
            Self::Digits => {
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
            }
        }
    }
}

/// The tokenizer.
pub(super) type Trained = TokenizerImpl<BPE, NFC, Sequence, ByteLevel, ByteLevel>;

/// Learns at most `size` tokens, the special ones among them, from texts.
pub(super) fn train(size: usize, numbers: Numbers, texts: &[String]) -> Result<Trained, LmError> {
    let failed = |reason: String| LmError::Tokenizer {
        path: PathBuf::from("tokenizer.json"),
        reason,
    };
    let least = 256 + SPECIAL.len();
    if size < least {
        return Err(LmError::Option {
            option: "vocab-size",
            value: size.to_string(),
            allowed: "at least 259: all bytes and three special tokens",
        });
    }
    let words = Split::new(
        SplitPattern::Regex(numbers.words().to_owned()),
        SplitDelimiterBehavior::Isolated,
        false,
    );
    let words = words.map_err(|error| failed(error.to_string()))?;
    let bytes = || ByteLevel::new(false, false, false);
    let steps = vec![
        PreTokenizerWrapper::Split(words),
        PreTokenizerWrapper::ByteLevel(bytes()),
    ];
    let built = TokenizerBuilder::default()
        .with_model(BPE::default())
        .with_normalizer(Some(NFC))
        .with_pre_tokenizer(Some(Sequence::new(steps)))
        .with_post_processor(Some(bytes()))
        .with_decoder(Some(bytes()))
        .build();
    let mut tokenizer: Trained = built.map_err(|error| failed(error.to_string()))?;
    let mut trainer = BpeTrainerBuilder::new()
        .vocab_size(size - SPECIAL.len())
        .min_frequency(2)
        .show_progress(false)
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .build();
    tokenizer
        .train(&mut trainer, texts.iter().map(String::as_str))
        .map_err(|error| failed(error.to_string()))?;
    let special = SPECIAL.map(|token| AddedToken::from(token, true));
    tokenizer.add_special_tokens(&special);
    Ok(tokenizer)
}
