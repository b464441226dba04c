//! A byte-level BPE tokenizer like Qwen2's, trained on a corpus.

use std::path::PathBuf;

use tokenizers::models::bpe::{BPE, BpeTrainerBuilder};
use tokenizers::normalizers::unicode::NFC;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{AddedToken, SplitDelimiterBehavior, TokenizerBuilder, TokenizerImpl};

use crate::LmError;
use crate::vocabulary_files::{QWEN2_PATTERN, WHOLE_NUMBERS_PATTERN};

/// The pre-tokenization of numbers in a new tokenizer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum NumberSplitting {
    /// Keep a number, such as `0.86`, and a name with its number, such as `S3`, as one word, so
    /// that a small model can compare them
    #[default]
    Whole,
    /// Split numbers into digits, as Qwen2's own tokenizer does
    Digits,
}

impl NumberSplitting {
    /// Returns the regular expression that splits text into words before BPE joins bytes within
    /// each.
    const fn words(self) -> &'static str {
        match self {
            Self::Whole => WHOLE_NUMBERS_PATTERN,
            Self::Digits => QWEN2_PATTERN,
        }
    }
}

/// The concrete type of a new tokenizer.
pub(super) type Trained = TokenizerImpl<BPE, NFC, Sequence, ByteLevel, ByteLevel>;

/// Trains a tokenizer with at most `size` tokens, including the `special` ones.
pub(super) fn train(
    size: usize,
    special: &[&str],
    numbers: NumberSplitting,
    texts: &[String],
) -> Result<Trained, LmError> {
    let failed = |reason: String| LmError::Tokenizer {
        path: PathBuf::from("tokenizer.json"),
        reason,
    };
    if size < 256 + special.len() {
        return Err(LmError::Option {
            option: "vocab-size",
            value: size.to_string(),
            allowed: "at least 259, and for llama at least 261: all bytes and the special tokens",
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
        .vocab_size(size - special.len())
        .min_frequency(2)
        .show_progress(false)
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .build();
    tokenizer
        .train(&mut trainer, texts.iter().map(String::as_str))
        .map_err(|error| failed(error.to_string()))?;
    let special = special.iter().map(|token| AddedToken::from(*token, true));
    tokenizer.add_special_tokens(&special.collect::<Vec<_>>());
    Ok(tokenizer)
}
