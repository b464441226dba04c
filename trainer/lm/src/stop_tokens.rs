//! The tokens that end a completion, from all files that name some, and a check that they end the
//! messages of the chat template.

use std::path::Path;

use sentinel_base::files;
use serde_json::{Map, Value, json};

use super::companion_files::{GENERATION_CONFIG, tokenizer_folder};
use super::config::{Fields, ModelConfig};
use super::{ChatTemplateKwargs, GenerationDefaults, LmError, Tokenizer};

impl GenerationDefaults {
    /// Reads the defaults of the model in `folder`, and collects its stop tokens: `eos_token` if given, those
    /// in the `generation_config.json` of the adapter and of the model, and the `eos_token` of the tokenizer, at which
    /// TRL's GRPO and vLLM stop as well.
    ///
    /// # Errors
    /// If a file cannot be read, or `eos_token` is not a token of the tokenizer.
    pub fn resolve(
        folder: &Path,
        adapter: Option<&Path>,
        tokenizer: &Tokenizer,
        eos_token: Option<&str>,
    ) -> Result<Self, LmError> {
        let mut found = Self::load(folder)?;
        let given = eos_token.map(|token| tokenizer.eos_token_id(token));
        let mut all: Vec<u32> = given.transpose()?.into_iter().collect();
        all.extend(
            adapter
                .map(own_stop_tokens)
                .transpose()?
                .into_iter()
                .flatten(),
        );
        all.append(&mut found.eos_token_ids);
        let own = tokenizer.special_tokens().get("eos_token");
        all.extend(own.and_then(|token| tokenizer.token_id(token)));
        for id in all {
            if !found.eos_token_ids.contains(&id) {
                found.eos_token_ids.push(id);
            }
        }
        Ok(found)
    }

    /// Returns the warnings of a tokenizer and of these stop tokens.
    #[must_use]
    pub fn warnings(&self, tokenizer: &Tokenizer) -> Vec<String> {
        let of_tokenizer = tokenizer.warning().map(str::to_owned);
        let all = of_tokenizer.into_iter().chain(self.stop_warning(tokenizer));
        all.collect()
    }

    /// Returns a warning if completions would not end where the chat template ends a message, as those of a
    /// base model that has the template of its instruct model.
    #[must_use]
    pub fn stop_warning(&self, tokenizer: &Tokenizer) -> Option<String> {
        let stops = &self.eos_token_ids;
        if stops.is_empty() {
            let text = "the model names no token that ends a text (eos_token_id in generation_config.json or \
                        config.json, eos_token of the tokenizer): completions end only at the length limit";
            return Some(text.to_owned());
        }
        // Without a template, or with one that refuses these messages, there is nothing to compare.
        let end = tokenizer.message_end().ok()?;
        if end.is_empty() || end.iter().any(|id| stops.contains(id)) {
            return None;
        }
        let special = end.iter().find(|id| tokenizer.is_special(**id));
        let name = |id: u32| tokenizer.token(id).unwrap_or_default();
        let stops: Vec<String> = stops.iter().map(|id| name(*id)).collect();
        let stops = stops.join(", ");
        Some(match special.map(|id| name(*id)) {
            Some(token) => format!(
                "the chat template ends a message with {token}, which is no stop token (those are {stops}): \
                 completions run on after it; to stop there, use --eos-token '{token}'"
            ),
            None => format!(
                "the chat template ends a message without any of the stop tokens ({stops}): completions run on after \
                 it; use a template that ends a message with one of them"
            ),
        })
    }
}

impl Tokenizer {
    /// Returns the id of a token that ends a completion.
    ///
    /// # Errors
    /// If the tokenizer does not have it.
    pub fn eos_token_id(&self, token: &str) -> Result<u32, LmError> {
        self.token_id(token).ok_or_else(|| LmError::Option {
            option: "eos_token",
            value: format!("{token:?}"),
            allowed: "a token of the model's tokenizer",
        })
    }

    /// Returns the tokens that the chat template writes after the content of an assistant's message.
    ///
    /// # Errors
    /// If there is no template, or it rejects the messages.
    pub fn message_end(&self) -> Result<Vec<u32>, LmError> {
        self.encode(&self.template()?.message_end()?)
    }
}

/// Loads the tokenizer of the model in `folder` with an adapter, and where its completions end. `eos_token` ends them
/// in place of the model's own; it, or that of the adapter, is then the tokenizer's as well. The last value is `None`
/// if the stop tokens are those of the model.
///
/// # Errors
/// If a file cannot be read, the tokenizer does not fit the vocabulary in `config` or lacks `eos_token`.
pub fn load_tokenizer(
    config: &ModelConfig,
    folder: &Path,
    adapter: Option<&Path>,
    eos_token: Option<&str>,
    kwargs: ChatTemplateKwargs,
) -> Result<(Tokenizer, GenerationDefaults, Option<StopTokens>), LmError> {
    let mut tokenizer = Tokenizer::load(tokenizer_folder(folder, adapter)?)?;
    tokenizer.check_fits(config)?;
    tokenizer.set_chat_template_kwargs(kwargs);
    let generation = GenerationDefaults::resolve(folder, adapter, &tokenizer, eos_token)?;
    let changed = StopTokens::changed(&generation, folder, &tokenizer, eos_token)?;
    if let Some(tokens) = &changed {
        tokenizer.set_eos_token(&tokens.token);
    }
    Ok((tokenizer, generation, changed))
}

/// Stop tokens that the files of a trained model must name, because those of its base model name others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopTokens {
    /// The token that ends a completion.
    pub token: String,
    /// The ids of all stop tokens.
    pub ids: Vec<u32>,
}

impl StopTokens {
    /// Returns the stop tokens in `found` if `eos_token` is given, or the model in `folder` has others with this
    /// tokenizer.
    ///
    /// # Errors
    /// If a file cannot be read, or the tokenizer does not have the first stop token.
    fn changed(
        found: &GenerationDefaults,
        folder: &Path,
        tokenizer: &Tokenizer,
        eos_token: Option<&str>,
    ) -> Result<Option<Self>, LmError> {
        let ids = found.eos_token_ids.clone();
        let own = GenerationDefaults::resolve(folder, None, tokenizer, None)?;
        let Some(first) = ids.first() else {
            return Ok(None);
        };
        let token = match eos_token {
            Some(token) => token.to_owned(),
            None if own.eos_token_ids == ids => return Ok(None),
            None => tokenizer.token(*first).ok_or_else(|| LmError::Option {
                option: "eos_token_id",
                value: format!("{first} in {GENERATION_CONFIG} of the adapter"),
                allowed: "a token of the model's tokenizer",
            })?,
        };
        Ok(Some(Self { token, ids }))
    }

    /// Names the tokens in the files of a model or adapter: all in `generation_config.json`, and the one that ends
    /// a completion alone in `tokenizer_config.json` and in `config.json`, as TRL does.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub fn write(&self, folder: &Path) -> Result<(), LmError> {
        let first = self.ids.first().map_or(Value::Null, |id| json!(id));
        let generation = folder.join(GENERATION_CONFIG);
        set_key(&generation, "eos_token_id", json!(self.ids))?;
        let tokenizer = folder.join("tokenizer_config.json");
        set_key(&tokenizer, "eos_token", json!(self.token))?;
        let config = folder.join("config.json");
        if config.is_file() {
            set_key(&config, "eos_token_id", first)?;
        }
        Ok(())
    }
}

/// Gives the merged model in folder `merged` the stop tokens that its base model has with the adapter and the
/// tokenizer in folder `tokenizer`.
///
/// # Errors
/// As [`StopTokens::changed`] and [`StopTokens::write`]; also if the tokenizer cannot be read.
pub(crate) fn save_stop_tokens(
    model: &Path,
    adapter: &Path,
    tokenizer: &Path,
    merged: &Path,
) -> Result<(), LmError> {
    if own_stop_tokens(adapter)?.is_empty() {
        return Ok(());
    }
    let tokenizer = Tokenizer::load(tokenizer)?;
    let found = GenerationDefaults::resolve(model, Some(adapter), &tokenizer, None)?;
    match StopTokens::changed(&found, model, &tokenizer, None)? {
        Some(tokens) => tokens.write(merged),
        None => Ok(()),
    }
}

/// Returns the stop tokens in the `generation_config.json` of a folder; none without that file.
fn own_stop_tokens(folder: &Path) -> Result<Vec<u32>, LmError> {
    let path = folder.join(GENERATION_CONFIG);
    if !path.is_file() {
        return Ok(Vec::new());
    }
    Fields::load(&path, "a generation configuration")?.tokens("eos_token_id")
}

/// Sets a key of a JSON file, which is created if there is none.
fn set_key(path: &Path, key: &str, value: Value) -> Result<(), LmError> {
    let mut values = if path.is_file() {
        Fields::load(path, "a configuration")?.values().clone()
    } else {
        Map::new()
    };
    values.insert(key.to_owned(), value);
    let text = serde_json::to_string_pretty(&values).map_err(sentinel_base::Error::Json)? + "\n";
    Ok(files::write_atomic(path, text.as_bytes())?)
}
