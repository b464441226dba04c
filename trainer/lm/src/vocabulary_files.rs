//! Tokenizers without a `tokenizer.json`: `vocab.json` and `merges.txt`, as the first checkpoints of Qwen2 have
//! them.

use std::path::Path;

use tokenizers::models::bpe::BPE;
use tokenizers::normalizers::NFC;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{PreTokenizerWrapper, SplitDelimiterBehavior};

use super::LmError;
use super::config::Fields;

/// Names of the files: the tokens, and the pairs that are merged.
pub(crate) const VOCABULARY_FILES: [&str; 2] = ["vocab.json", "merges.txt"];

/// The pattern by which Qwen2's tokenizer splits a text before it merges pairs.
pub(super) const QWEN2_PATTERN: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The pattern by which the tokenizer of a new model splits a text unless it splits numbers into digits.
pub(super) const WHOLE_NUMBERS_PATTERN: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)| ?\p{N}+(?:\.\p{N}+)?|[^\r\n\p{L}\p{N}]?\p{L}+\p{N}*| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Builds the tokenizer of a folder without `tokenizer.json`, without its added tokens. `config` is its
/// `tokenizer_config.json`.
///
/// # Errors
/// If the folder has no vocabulary of Qwen2's kind, or a file cannot be read.
pub(super) fn from_vocabulary(
    folder: &Path,
    config: Option<&Fields>,
) -> Result<tokenizers::Tokenizer, LmError> {
    let [vocabulary, merges] = VOCABULARY_FILES.map(|name| folder.join(name));
    let wrong = |reason: String| LmError::Format {
        path: folder.to_owned(),
        kind: "the folder of a tokenizer",
        reason,
    };
    if !vocabulary.is_file() || !merges.is_file() {
        let older = folder.join("tokenizer.model").is_file();
        let reason = if older {
            "it has tokenizer.model, but no tokenizer.json: save it again with AutoTokenizer and save_pretrained"
        } else {
            "it has neither tokenizer.json nor vocab.json with merges.txt"
        };
        return Err(wrong(reason.to_owned()));
    }
    if !is_qwen2(folder, config)? {
        let reason = "vocab.json with merges.txt is read as Qwen2's only: save it again with AutoTokenizer and \
                      save_pretrained, which writes tokenizer.json";
        return Err(wrong(reason.to_owned()));
    }
    let names = [&vocabulary, &merges].map(|path| path.to_string_lossy().into_owned());
    let model = BPE::from_file(&names[0], &names[1]).build();
    let model = model.map_err(|error| wrong(format!("vocab.json or merges.txt: {error}")))?;
    let pattern = SplitPattern::Regex(QWEN2_PATTERN.to_owned());
    let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false);
    let split = split.map_err(|error| wrong(error.to_string()))?;
    let bytes = ByteLevel::new(false, false, false);
    let mut tokenizer = tokenizers::Tokenizer::new(model);
    tokenizer
        .with_normalizer(Some(NFC))
        .with_pre_tokenizer(Some(Sequence::new(vec![
            PreTokenizerWrapper::Split(split),
            PreTokenizerWrapper::ByteLevel(bytes),
        ])))
        .with_post_processor(Some(bytes))
        .with_decoder(Some(ByteLevel::default()));
    Ok(tokenizer)
}

/// Returns whether a folder names Qwen2's tokenizer, or a model that has it.
fn is_qwen2(folder: &Path, config: Option<&Fields>) -> Result<bool, LmError> {
    let class = config
        .map(|config| config.text("tokenizer_class"))
        .transpose()?;
    if class
        .flatten()
        .is_some_and(|class| class.starts_with("Qwen2Tokenizer"))
    {
        return Ok(true);
    }
    let path = folder.join("config.json");
    if !path.is_file() {
        return Ok(false);
    }
    let model = Fields::load(&path, "a model configuration")?;
    let kind = model.text("model_type")?.unwrap_or_default();
    Ok(["qwen2", "qwen3"].contains(&kind))
}
