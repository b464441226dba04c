//! The tokenizer and chat template of a GGUF file, as the files of Hugging Face.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::metadata::Metadata;
use super::pre_tokenizer::PreTokenizer;
use super::source::unusable;
use crate::{LmError, ModelConfig};

const TOKENS: &str = "tokenizer.ggml.tokens";
const TYPES: &str = "tokenizer.ggml.token_type";
const MERGES: &str = "tokenizer.ggml.merges";
const TEMPLATE: &str = "tokenizer.chat_template";

/// The roles of special tokens, with the keys of their ids.
const ROLES: [(&str, &str); 4] = [
    ("bos_token", "tokenizer.ggml.bos_token_id"),
    ("eos_token", "tokenizer.ggml.eos_token_id"),
    ("unk_token", "tokenizer.ggml.unknown_token_id"),
    ("pad_token", "tokenizer.ggml.padding_token_id"),
];
/// Keys of tokens that end a message beside the end of a text.
const MORE_ENDS: [&str; 2] = ["tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"];

/// Types of tokens in a file.
const CONTROL: i64 = 3;
const USER_DEFINED: i64 = 4;
const UNUSED: i64 = 5;

/// The contents of the files of a tokenizer.
#[derive(Clone, Debug)]
pub(super) struct TokenizerFiles {
    /// The content of `tokenizer.json`.
    pub(super) tokenizer: String,
    /// The content of `tokenizer_config.json`.
    pub(super) config: Value,
    /// The content of `generation_config.json`.
    pub(super) generation: Value,
    /// The keys of `config.json` with token ids.
    pub(super) model_keys: Map<String, Value>,
    /// The content of `chat_template.jinja`.
    pub(super) template: Option<String>,
}

impl TokenizerFiles {
    /// Makes the files of the tokenizer that a file describes.
    ///
    /// # Errors
    /// If the tokenizer is of another kind than byte-level BPE, or its parts do not match.
    pub(super) fn new(metadata: &Metadata, model: &ModelConfig) -> Result<Self, LmError> {
        check_kind(metadata)?;
        let pre_tokenizer = PreTokenizer::find(metadata)?;
        let vocabulary = Vocabulary::read(metadata, model.vocab_size)?;
        let tokens = &vocabulary.tokens;
        let mut roles = Map::new();
        for (role, key) in ROLES {
            let id = vocabulary.id(metadata, key)?;
            roles.insert(format!("{role}_id"), json!(id));
            let token = id.and_then(|id| tokens.get(id));
            roles.insert(role.to_owned(), json!(token));
        }
        let begins = metadata.flag("tokenizer.ggml.add_bos_token")?;
        let begins = begins.unwrap_or(pre_tokenizer.adds_bos());
        let ends = metadata
            .flag("tokenizer.ggml.add_eos_token")?
            .unwrap_or(false);
        let around = [("bos_token", begins), ("eos_token", ends)].map(|(role, is_added)| {
            let token = roles.get(role).and_then(Value::as_str);
            token.filter(|_| is_added).map(str::to_owned)
        });
        let tokenizer = build(metadata, &vocabulary, pre_tokenizer, &around)?;
        let template = metadata.text(TEMPLATE)?.map(str::to_owned);
        let role = |name: &str| roles.get(name).cloned().unwrap_or_default();
        let config = json!({
            "tokenizer_class": pre_tokenizer.class(),
            "bos_token": role("bos_token"),
            "eos_token": role("eos_token"),
            "pad_token": role("pad_token"),
            "unk_token": role("unk_token"),
            "add_prefix_space": false,
            "clean_up_tokenization_spaces": false,
            "model_max_length": model.max_position_embeddings,
            "chat_template": template,
        });
        let mut stops: Vec<usize> = Vec::new();
        let first = ROLES.get(1).map(|(_, key)| *key);
        for key in first.into_iter().chain(MORE_ENDS) {
            let id = vocabulary.id(metadata, key)?;
            stops.extend(id.filter(|id| !stops.contains(id)));
        }
        let ids = ["bos_token_id", "eos_token_id", "pad_token_id"];
        let model_keys = ids.map(|key| (key.to_owned(), role(key)));
        let generation = json!({
            "bos_token_id": role("bos_token_id"),
            "eos_token_id": if stops.is_empty() { Value::Null } else { json!(stops) },
            "pad_token_id": role("pad_token_id"),
        });
        Ok(Self {
            tokenizer,
            config,
            generation,
            model_keys: model_keys.into_iter().collect(),
            template,
        })
    }
}

/// Rejects tokenizers other than byte-level BPE.
fn check_kind(metadata: &Metadata) -> Result<(), LmError> {
    const KEY: &str = "tokenizer.ggml.model";
    match metadata.text(KEY)?.ok_or_else(|| metadata.missing(KEY))? {
        "gpt2" => Ok(()),
        other => {
            let remedy = "only tokenizers of byte-level BPE (gpt2) can be imported";
            Err(metadata.invalid(KEY, &format!("is {other:?}"), remedy))
        }
    }
}

/// The tokens of a file, in the order of their ids.
struct Vocabulary<'a> {
    tokens: &'a [String],
    types: &'a [i64],
}

impl<'a> Vocabulary<'a> {
    /// Reads the tokens, of which there are at most `rows`.
    fn read(metadata: &'a Metadata, rows: usize) -> Result<Self, LmError> {
        let tokens = metadata
            .texts(TOKENS)?
            .ok_or_else(|| metadata.missing(TOKENS))?;
        if tokens.len() > rows {
            let problem = format!(
                "has {} tokens, but the embedding has {rows} rows",
                tokens.len()
            );
            return Err(metadata.invalid(TOKENS, &problem, "convert the model again"));
        }
        let types = metadata
            .integers(TYPES)?
            .ok_or_else(|| metadata.missing(TYPES))?;
        if types.len() != tokens.len() {
            let problem = format!("has {} elements for {} tokens", types.len(), tokens.len());
            return Err(metadata.invalid(TYPES, &problem, "convert the model again"));
        }
        Ok(Self { tokens, types })
    }

    /// Returns the tokens that can occur, with ids and types: others only fill the embedding.
    fn used(&self) -> impl Iterator<Item = (usize, &'a String, i64)> {
        let all = self.tokens.iter().zip(self.types).enumerate();
        all.filter(|(_, (_, kind))| **kind != UNUSED)
            .map(|(id, (token, kind))| (id, token, *kind))
    }

    /// Returns the id of a token under a key; `None` if there is no such key.
    fn id(&self, metadata: &Metadata, key: &str) -> Result<Option<usize>, LmError> {
        let Some(number) = metadata.integer(key)? else {
            return Ok(None);
        };
        let id = usize::try_from(number)
            .ok()
            .filter(|id| *id < self.tokens.len());
        let wrong = || {
            let problem = format!("is {number}, but there are {} tokens", self.tokens.len());
            metadata.invalid(key, &problem, "convert the model again")
        };
        let id = id.ok_or_else(wrong)?;
        if self.types.get(id) == Some(&UNUSED) {
            let problem = format!("is {id}, a token that is marked as unused");
            return Err(metadata.invalid(key, &problem, "convert the model again"));
        }
        Ok(Some(id))
    }
}

/// Returns the content of `tokenizer.json`, in which `around` names the tokens before and after a text.
fn build(
    metadata: &Metadata,
    vocabulary: &Vocabulary<'_>,
    pre_tokenizer: PreTokenizer,
    around: &[Option<String>; 2],
) -> Result<String, LmError> {
    let mut ids: HashMap<&str, usize> = HashMap::new();
    for (id, token, _) in vocabulary.used() {
        if let Some(other) = ids.insert(token, id) {
            let problem = format!("has {token:?} twice, as {other} and {id}");
            return Err(metadata.invalid(TOKENS, &problem, "convert the model again"));
        }
    }
    let merges = metadata
        .texts(MERGES)?
        .ok_or_else(|| metadata.missing(MERGES))?;
    let merges: Result<Vec<_>, _> = merges
        .iter()
        .map(|merge| {
            let wrong = || {
                let problem = format!("has {merge:?}, which is no pair of tokens");
                metadata.invalid(MERGES, &problem, "convert the model again")
            };
            let (left, right) = merge.split_once(' ').ok_or_else(wrong)?;
            let joined = format!("{left}{right}");
            let are_tokens = [left, right, joined.as_str()]
                .iter()
                .all(|part| ids.contains_key(part));
            are_tokens.then_some([left, right]).ok_or_else(wrong)
        })
        .collect();
    // Ids between those of used tokens are taken, too, since the library reports missing ones as damage.
    let mut vocab = ids.clone();
    let last = vocabulary.used().map(|(id, _, _)| id).last();
    let fillers = vocabulary.tokens.iter().zip(vocabulary.types).enumerate();
    for (id, (token, kind)) in fillers.take(last.unwrap_or_default()) {
        if *kind == UNUSED {
            vocab.entry(token).or_insert(id);
        }
    }
    let added = vocabulary
        .used()
        .filter(|(_, _, kind)| [CONTROL, USER_DEFINED].contains(kind));
    let added = added.map(|(id, token, kind)| {
        json!({
            "id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": kind == CONTROL,
        })
    });
    let whole = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added.collect::<Vec<_>>(),
        "normalizer": pre_tokenizer.normalizer(),
        "pre_tokenizer": pre_tokenizer.steps(),
        "post_processor": post_processor(&ids, around),
        "decoder": {
            "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false
        },
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
            "ignore_merges": pre_tokenizer.ignores_merges(), "vocab": vocab, "merges": merges?,
        },
    });
    let failed = |reason: String| unusable(metadata.path(), format!("its tokenizer: {reason}"));
    // The library writes the tokens in the order of their ids.
    let read = tokenizers::Tokenizer::from_bytes(whole.to_string());
    let built = read.map_err(|error| failed(error.to_string()))?;
    built
        .to_string(true)
        .map_err(|error| failed(error.to_string()))
}

/// Returns the step that adds tokens before and after a text.
fn post_processor(ids: &HashMap<&str, usize>, around: &[Option<String>; 2]) -> Value {
    let bytes = json!({
        "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false
    });
    let [before, after] = around;
    let added: Vec<&String> = before.iter().chain(after).collect();
    if added.is_empty() {
        return bytes;
    }
    let template = |texts: &[&str]| {
        let mut all = Vec::new();
        for (kind, text) in texts.iter().enumerate() {
            let special = |token: &String| json!({"SpecialToken": {"id": token, "type_id": kind}});
            all.extend(before.as_ref().map(special));
            all.push(json!({"Sequence": {"id": text, "type_id": kind}}));
            all.extend(after.as_ref().map(special));
        }
        all
    };
    let special = added.iter().map(|token| {
        let id = ids.get(token.as_str());
        (
            (*token).clone(),
            json!({"id": token, "ids": [id], "tokens": [token]}),
        )
    });
    let around = json!({
        "type": "TemplateProcessing",
        "single": template(&["A"]),
        "pair": template(&["A", "B"]),
        "special_tokens": special.collect::<Map<_, _>>(),
    });
    json!({"type": "Sequence", "processors": [bytes, around]})
}
