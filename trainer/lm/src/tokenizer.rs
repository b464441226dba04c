//! Conversion between text and token ids with a model's `tokenizer.json`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::LmError;
use super::chat::{ChatTemplate, ChatTemplateKwargs, Message};
use super::config::{Fields, ModelConfig};
use super::special_tokens::SpecialTokens;
use super::tokenizer_class::TokenizerClass;
use super::vocabulary_files::from_vocabulary;

/// A tokenizer with the chat template that belongs to it.
#[derive(Clone, Debug)]
pub struct Tokenizer {
    path: PathBuf,
    inner: tokenizers::Tokenizer,
    special: BTreeMap<String, String>,
    template: Option<ChatTemplate>,
    warning: Option<String>,
}

/// A conversation encoded as tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// Token ids of the conversation.
    pub ids: Vec<u32>,
    /// `[tokens]`: `true` for tokens that the assistant wrote. All `false` if the template has no
    /// `{% generation %}` tags.
    pub assistant: Vec<bool>,
}

/// A text encoded as tokens, with their places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedText {
    /// Token ids in the order of the text.
    pub ids: Vec<u32>,
    /// `[tokens]`: the bytes of the text that each token stands for.
    pub places: Vec<Range<usize>>,
}

impl EncodedText {
    /// Returns the tokens that overlap with a range of bytes.
    #[must_use]
    pub fn tokens_of(&self, bytes: &Range<usize>) -> Range<usize> {
        let first = self
            .places
            .partition_point(|place| place.end <= bytes.start);
        let last = self.places.partition_point(|place| place.start < bytes.end);
        first..last.max(first)
    }
}

impl Tokenizer {
    /// Loads `tokenizer.json` of a folder, or `vocab.json` and `merges.txt` of Qwen2, and, if present, `tokenizer_config.json`,
    /// `special_tokens_map.json`, `added_tokens.json`, `chat_template.jinja`, and the variables of the template that the
    /// model was trained with.
    ///
    /// # Errors
    /// If a file cannot be read or parsed.
    pub fn load(folder: &Path) -> Result<Self, LmError> {
        let config = folder.join("tokenizer_config.json");
        let config = config
            .is_file()
            .then(|| Fields::load(&config, "a tokenizer configuration"));
        let config = config.transpose()?;
        let path = folder.join("tokenizer.json");
        let wrong = |reason: String| LmError::Format {
            path: path.clone(),
            kind: "a tokenizer",
            reason,
        };
        let mut inner = if path.is_file() {
            let bytes = std::fs::read(&path).map_err(|error| LmError::read(&path, error))?;
            if let Some(reason) = sentinel_base::files::placeholder(&bytes) {
                return Err(wrong(reason.to_owned()));
            }
            let read = tokenizers::Tokenizer::from_bytes(bytes);
            read.map_err(|error| wrong(error.to_string()))?
        } else {
            from_vocabulary(folder, config.as_ref())?
        };
        // Truncation and padding that the file asks for are disabled: no text is cut or filled
        // silently.
        inner.with_padding(None);
        inner
            .with_truncation(None)
            .map_err(|error| wrong(error.to_string()))?;
        let class = TokenizerClass::find(folder, config.as_ref(), &inner)?;
        let tokens = SpecialTokens::load(folder, config.as_ref(), class.default_tokens())?;
        let warning = class.warning(&inner, config.as_ref(), &tokens)?;
        tokens.add_to(&mut inner)?;
        if class == TokenizerClass::Qwen2 {
            tokens.add_plain_to(&mut inner);
        }
        let splits = config
            .as_ref()
            .and_then(|config| config.get("split_special_tokens"));
        inner.set_encode_special_tokens(splits == Some(&Value::Bool(true)));
        let special = tokens.by_role();
        let template = template(folder, config.as_ref(), &special)?;
        let kwargs = ChatTemplateKwargs::load(folder)?.unwrap_or_default();
        let template = template.map(|template| template.with_kwargs(kwargs));
        Ok(Self {
            path,
            inner,
            special,
            template,
            warning,
        })
    }

    /// Returns a warning if transformers would read the files in another way.
    #[must_use]
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Returns the chat template.
    ///
    /// # Errors
    /// If the model has no chat template.
    pub fn template(&self) -> Result<&ChatTemplate, LmError> {
        self.template.as_ref().ok_or_else(|| LmError::Template {
            path: self.path.clone(),
            reason: "there is none: put one into chat_template.jinja beside the tokenizer"
                .to_owned(),
        })
    }

    /// Replaces the chat template.
    pub fn set_template(&mut self, template: ChatTemplate) {
        self.template = Some(template);
    }

    /// Names the token that ends a text, also for the chat template.
    pub(crate) fn set_eos_token(&mut self, token: &str) {
        self.special
            .insert("eos_token".to_owned(), token.to_owned());
        let template = self.template.take();
        self.template = template.map(|template| template.with_special(self.special.clone()));
    }

    /// Sets the variables that are passed to the chat template, instead of those of the model's folder.
    pub fn set_chat_template_kwargs(&mut self, kwargs: ChatTemplateKwargs) {
        let template = self.template.take();
        self.template = template.map(|template| template.with_kwargs(kwargs));
    }

    /// Returns the special tokens that the configuration names, keyed by their role, such as
    /// `eos_token`.
    #[must_use]
    pub const fn special_tokens(&self) -> &BTreeMap<String, String> {
        &self.special
    }

    /// Returns the number of tokens, including added ones.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.get_vocab_size(true)
    }

    /// Returns `true` if the tokenizer has no tokens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Checks that every token id is within the model's vocabulary.
    ///
    /// # Errors
    /// If a token id is outside of it.
    pub fn check_fits(&self, config: &ModelConfig) -> Result<(), LmError> {
        let largest = self.inner.get_vocab(true).into_values().max().unwrap_or(0);
        if (largest as usize) < config.vocab_size {
            return Ok(());
        }
        Err(LmError::Vocabulary {
            path: self.path.clone(),
            tokens: self.len(),
            largest,
            vocabulary: config.vocab_size,
        })
    }

    /// Encodes a prompt that is no chat, with the special tokens that the tokenizer adds to texts, such as the
    /// `bos_token` of Llama.
    ///
    /// # Errors
    /// If the tokenizer cannot encode the text.
    pub fn encode_prompt(&self, text: &str) -> Result<Vec<u32>, LmError> {
        self.ids(text, true)
    }

    /// Encodes a text. Special tokens in the text are recognized; none is added.
    ///
    /// # Errors
    /// If the tokenizer cannot encode the text.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, LmError> {
        self.ids(text, false)
    }

    fn ids(&self, text: &str, add_special_tokens: bool) -> Result<Vec<u32>, LmError> {
        let encoding = self.inner.encode_fast(text, add_special_tokens);
        let encoding = encoding.map_err(|error| self.failed(error.to_string()))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Returns the id of a token, or `None` if the tokenizer does not have it.
    #[must_use]
    pub fn token_id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    /// Returns the token with an id, or `None` if there is none.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<String> {
        self.inner.id_to_token(id)
    }

    /// Returns `true` for a special token, such as one that ends a message.
    #[must_use]
    pub fn is_special(&self, id: u32) -> bool {
        let added = self.inner.get_added_tokens_decoder();
        added.get(&id).is_some_and(|token| token.special)
    }

    /// Decodes token ids to text, without special tokens if `skip_special`.
    ///
    /// # Errors
    /// If the tokenizer cannot decode the ids.
    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Result<String, LmError> {
        let text = self.inner.decode(ids, skip_special);
        text.map_err(|error| self.failed(error.to_string()))
    }

    /// Encodes a conversation and marks the tokens that the assistant wrote.
    ///
    /// # Errors
    /// If there is no template, or it rejects the messages.
    pub fn encode_chat(
        &self,
        messages: &[Message],
        tools: Option<&[Message]>,
        add_generation_prompt: bool,
    ) -> Result<Encoded, LmError> {
        let template = self.template()?;
        let rendered = template.render(messages, tools, add_generation_prompt)?;
        let encoding = self.encoding(&rendered.text)?;
        let written = |(start, end): &(usize, usize)| {
            rendered
                .written
                .iter()
                .any(|range| *start < range.end && *end > range.start)
        };
        Ok(Encoded {
            ids: encoding.get_ids().to_vec(),
            assistant: encoding.get_offsets().iter().map(written).collect(),
        })
    }

    /// Encodes a text with the ranges of bytes that its tokens stand for.
    ///
    /// # Errors
    /// If the tokenizer cannot encode the text.
    pub fn encode_with_places(&self, text: &str) -> Result<EncodedText, LmError> {
        let encoding = self.encoding(text)?;
        let places = encoding.get_offsets().iter();
        Ok(EncodedText {
            ids: encoding.get_ids().to_vec(),
            places: places.map(|(start, end)| *start..*end).collect(),
        })
    }

    /// Encodes a text with the places of its tokens.
    fn encoding(&self, text: &str) -> Result<tokenizers::Encoding, LmError> {
        let encoding = self.inner.encode(text, false);
        encoding.map_err(|error| self.failed(error.to_string()))
    }

    fn failed(&self, reason: String) -> LmError {
        LmError::Tokenizer {
            path: self.path.clone(),
            reason,
        }
    }
}

/// Reads the chat template of a folder. `chat_template.jinja` takes precedence over the
/// `chat_template` key of `tokenizer_config.json`, which is a string or a list of named templates.
fn template(
    folder: &Path,
    config: Option<&Fields>,
    special: &BTreeMap<String, String>,
) -> Result<Option<ChatTemplate>, LmError> {
    let own = folder.join("chat_template.jinja");
    if own.is_file() {
        let source = std::fs::read_to_string(&own).map_err(|error| LmError::read(&own, error))?;
        return ChatTemplate::new(&own, &source, special.clone()).map(Some);
    }
    let path = folder.join("tokenizer_config.json");
    let Some((config, value)) = config.and_then(|c| Some((c, c.get("chat_template")?))) else {
        return Ok(None);
    };
    let wrong = || {
        let remedy = "write a template, or a list of objects with name and template";
        config.invalid("chat_template", "is neither text nor named texts", remedy)
    };
    let list = match value {
        Value::String(source) => {
            return ChatTemplate::new(&path, source, special.clone()).map(Some);
        }
        Value::Array(list) => list,
        _ => return Err(wrong()),
    };
    let named = |wanted: &str| {
        let entry = list.iter().find(|entry| entry["name"] == wanted);
        entry.and_then(|entry| entry["template"].as_str())
    };
    let plain = named("default").ok_or_else(wrong)?;
    let template = ChatTemplate::new(&path, plain, special.clone())?;
    match named("tool_use") {
        Some(source) => template.for_tools(source).map(Some),
        None => Ok(Some(template)),
    }
}
