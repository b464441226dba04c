//! The special and added tokens that files beside `tokenizer.json` name, read as transformers does.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use serde_json::{Map, Value};
use tokenizers::AddedToken;

use super::LmError;
use super::config::Fields;

/// The keys of special tokens that every tokenizer may have, in the order in which transformers adds them.
const ROLES: [&str; 7] = [
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
];

/// Key of the tokens without a role, and its name in older checkpoints.
const EXTRA: &str = "extra_special_tokens";
const ADDITIONAL: &str = "additional_special_tokens";
/// Key of the tokens whose roles only this tokenizer has.
const SPECIFIC: &str = "model_specific_special_tokens";

/// A token that a file lists with its id.
struct Listed {
    id: u32,
    token: AddedToken,
    /// Key of the entry: the id, or in `added_tokens.json` the token.
    key: String,
}

/// Tokens of `tokenizer_config.json`, and of `special_tokens_map.json` and `added_tokens.json`, which count
/// unless the former has `added_tokens_decoder`.
pub(super) struct SpecialTokens {
    /// Special tokens with their roles, such as `eos_token`.
    named: Vec<(String, AddedToken)>,
    /// Special tokens without a role.
    extra: Vec<AddedToken>,
    /// The object that lists added tokens, and these in the order of their ids.
    lists: Option<(Fields, Vec<Listed>)>,
    /// `true` if the settings of listed tokens replace those in `tokenizer.json`.
    is_new: bool,
}

impl SpecialTokens {
    /// Reads the tokens of a folder. `defaults` are the tokens of roles that it does not name.
    ///
    /// # Errors
    /// If a file cannot be read, or lists what is no token or no id.
    pub(super) fn load(
        folder: &Path,
        config: Option<&Fields>,
        defaults: &[(&str, &str)],
    ) -> Result<Self, LmError> {
        let mut values = config.map_or_else(Map::new, |config| config.values().clone());
        if !values.get(EXTRA).is_some_and(is_filled) {
            rename_additional(&mut values);
        }
        let mut order = config.map_or_else(Vec::new, order_of);
        let own = take(&mut values, |key, value| {
            is_own_role(key) && value.is_string()
        });
        let mut specific = in_order(own, &order);
        specific.extend(in_order(take_object(&mut values, EXTRA), &order));
        if specific.is_empty() {
            specific = in_order(take_object(&mut values, SPECIFIC), &order);
        }
        let decoder = config.map(|config| config.object("added_tokens_decoder"));
        let decoder = decoder.transpose()?.flatten();
        let is_new = decoder.is_some();
        let mut lists = decoder;
        if !is_new {
            if let Some(map) = optional(folder, "special_tokens_map.json")? {
                merge_map(&mut values, map.values());
                let of_map = order_of(&map);
                specific.extend(in_order(take_object(&mut values, EXTRA), &of_map));
                order.extend(of_map);
            }
            lists = optional(folder, "added_tokens.json")?;
        }
        if !values.contains_key(EXTRA) {
            rename_additional(&mut values);
        }
        let extra = values.get(EXTRA).and_then(Value::as_array);
        let extra: Vec<AddedToken> = extra
            .into_iter()
            .flatten()
            .filter_map(|value| added_token(value, true))
            .collect();
        let special = ROLES.iter().filter_map(|role| values.get(*role));
        let special = special.filter_map(|value| added_token(value, true));
        let special: Vec<AddedToken> = special.chain(extra.iter().cloned()).collect();
        let lists = match lists {
            Some(fields) if is_new => Some(with_tokens(fields, by_id)?),
            Some(fields) => Some(with_tokens(fields, |fields, key, id| {
                by_token(fields, key, id, &special)
            })?),
            None => None,
        };
        for (role, content) in defaults {
            let role = (*role).to_owned();
            values.entry(role).or_insert_with(|| Value::from(*content));
        }
        let roles = ROLES
            .iter()
            .filter_map(|role| values.get_key_value(*role))
            .map(|(key, value)| (key.clone(), value.clone()));
        let mut named: Vec<(String, Value)> = roles.collect();
        // An object without a type has no effect under a key that only this tokenizer has.
        let own = take(&mut values, |key, value| {
            is_own_role(key) && (value.is_string() || value.get("__type").is_some())
        });
        named.extend(in_order(own, &order));
        named.extend(specific);
        let named = named.into_iter().filter_map(|(key, value)| {
            let mut token = added_token(&value, true)?;
            token.special = true;
            Some((key, token))
        });
        Ok(Self {
            named: named.collect(),
            extra,
            lists,
            is_new,
        })
    }

    /// Returns the texts of the tokens that have a role.
    pub(super) fn by_role(&self) -> BTreeMap<String, String> {
        let named = self.named.iter();
        let named = named.map(|(role, token)| (role.clone(), token.content.clone()));
        named.collect()
    }

    /// Returns whether `added_tokens_decoder` or `added_tokens.json` is there and does not list all of these added
    /// tokens.
    pub(super) fn lacks_any(&self, added: impl IntoIterator<Item = AddedToken>) -> bool {
        let Some((_, listed)) = &self.lists else {
            return false;
        };
        let listed: HashSet<&str> = listed
            .iter()
            .map(|own| own.token.content.as_str())
            .collect();
        added
            .into_iter()
            .any(|token| !listed.contains(token.content.as_str()))
    }

    /// Adds the tokens to a tokenizer: those with ids, then those that are not among its added tokens, after all
    /// ids unless the vocabulary has them.
    ///
    /// # Errors
    /// If a token gets another id than the file lists.
    pub(super) fn add_to(&self, inner: &mut tokenizers::Tokenizer) -> Result<(), LmError> {
        if let Some((fields, listed)) = &self.lists {
            let known = inner.get_added_tokens_decoder();
            let is_other = |own: &&Listed| {
                known
                    .get(&own.id)
                    .is_none_or(|known| known.content != own.token.content)
            };
            let added = listed.iter().filter(|own| self.is_new || is_other(own));
            let added: Vec<AddedToken> = added.map(|own| own.token.clone()).collect();
            inner.add_tokens(&added);
            for Listed { id, token, key } in listed {
                let found = inner.token_to_id(&token.content);
                if found != Some(*id) {
                    let found =
                        found.map_or_else(|| "no id".to_owned(), |id| format!("the id {id}"));
                    let content = &token.content;
                    let problem =
                        format!("lists {content:?} as {id}, but the tokenizer gives it {found}");
                    let remedy = "take all files of the tokenizer from the same checkpoint";
                    return Err(fields.invalid(key, &problem, remedy));
                }
            }
        }
        let added = inner.get_added_tokens_decoder().into_values();
        let mut added: HashSet<String> = added.map(|token| token.content).collect();
        let special = self
            .special()
            .filter(|token| added.insert(token.content.clone()));
        let special: Vec<AddedToken> = special.cloned().collect();
        inner.add_tokens(&special);
        Ok(())
    }

    /// Adds all special tokens once more as plain ones, which take no white space beside them.
    pub(super) fn add_plain_to(&self, inner: &mut tokenizers::Tokenizer) {
        let special = self.special();
        let plain = special.map(|token| AddedToken::from(token.content.clone(), true));
        inner.add_tokens(&plain.collect::<Vec<_>>());
    }

    fn special(&self) -> impl Iterator<Item = &AddedToken> {
        let named = self.named.iter().map(|(_, token)| token);
        named.chain(&self.extra)
    }
}

/// Returns whether a key names a token whose role only some tokenizers have, such as `image_token`.
fn is_own_role(key: &str) -> bool {
    key.ends_with("_token") && !ROLES.contains(&key)
}

fn is_filled(value: &Value) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty())
        || value.as_object().is_some_and(|map| !map.is_empty())
}

fn rename_additional(values: &mut Map<String, Value>) {
    if let Some(value) = values.remove(ADDITIONAL) {
        values.insert(EXTRA.to_owned(), value);
    }
}

/// Removes the values of a map that are chosen, and returns them.
fn take(
    values: &mut Map<String, Value>,
    is_taken: impl Fn(&str, &Value) -> bool,
) -> Map<String, Value> {
    let all = std::mem::take(values).into_iter();
    let (taken, rest) = all.partition(|(key, value)| is_taken(key, value));
    *values = rest;
    taken
}

/// Removes the value of a key if it is an object, and returns it; otherwise an empty one.
fn take_object(values: &mut Map<String, Value>, key: &str) -> Map<String, Value> {
    let mut taken = take(values, |other, value| other == key && value.is_object());
    match taken.remove(key) {
        Some(Value::Object(object)) => object,
        _ => Map::new(),
    }
}

/// Returns the keys of a file, and of the objects of tokens in it, in its order, which decides about ids.
fn order_of(file: &Fields) -> Vec<String> {
    let objects = [None, Some(EXTRA), Some(ADDITIONAL), Some(SPECIFIC)].into_iter();
    objects.flat_map(|key| file.keys_in_order(key)).collect()
}

/// Returns the entries of a map in an order of keys.
fn in_order(map: Map<String, Value>, order: &[String]) -> Vec<(String, Value)> {
    let mut entries: Vec<(String, Value)> = map.into_iter().collect();
    entries.sort_by_key(|(key, _)| order.iter().position(|other| other == key));
    entries
}

/// Puts the values of `special_tokens_map.json` over those of `tokenizer_config.json`; its objects are tokens,
/// and its list of tokens without a role is added to the other.
fn merge_map(values: &mut Map<String, Value>, map: &Map<String, Value>) {
    for (key, value) in map {
        let mut value = value.clone();
        match (&mut value, values.get(key)) {
            (Value::Array(more), Some(Value::Array(own))) if key == EXTRA => {
                more.retain(|token| !own.contains(token));
                let mut all = own.clone();
                all.append(more);
                *more = all;
            }
            (Value::Object(token), _) if key != EXTRA => {
                token.insert("__type".to_owned(), Value::from("AddedToken"));
                token.insert("special".to_owned(), Value::from(true));
            }
            _ => {}
        }
        values.insert(key.clone(), value);
    }
}

/// Reads a file of a folder that need not be there.
fn optional(folder: &Path, name: &str) -> Result<Option<Fields>, LmError> {
    let path = folder.join(name);
    let found = path
        .is_file()
        .then(|| Fields::load(&path, "a map of tokens"));
    found.transpose()
}

/// Reads the entries of an object that lists added tokens.
fn with_tokens(
    fields: Fields,
    entry: impl Fn(&Fields, &str, &Value) -> Result<Listed, LmError>,
) -> Result<(Fields, Vec<Listed>), LmError> {
    let entries = fields.values().iter();
    let entries = entries.map(|(key, value)| entry(&fields, key, value));
    let mut listed = entries.collect::<Result<Vec<_>, _>>()?;
    listed.sort_by_key(|entry| entry.id);
    Ok((fields, listed))
}

/// Reads an entry of `added_tokens_decoder`: a token under its id.
fn by_id(fields: &Fields, key: &str, value: &Value) -> Result<Listed, LmError> {
    let remedy = "write ids as numbers, and tokens as objects with content";
    let id = key.parse();
    let id = id.map_err(|_| fields.invalid(key, "is no token id", remedy))?;
    let token = added_token(value, false);
    let token = token.ok_or_else(|| fields.invalid(key, "is no token", remedy))?;
    let key = key.to_owned();
    Ok(Listed { id, token, key })
}

/// Reads an entry of `added_tokens.json`: an id under its token, which is a special one if it is among `special`.
fn by_token(
    fields: &Fields,
    key: &str,
    value: &Value,
    special: &[AddedToken],
) -> Result<Listed, LmError> {
    let id = value.as_u64().and_then(|id| u32::try_from(id).ok());
    let wrong = || fields.invalid(key, &format!("is {value}"), "write the id of the token");
    let is_special = special.iter().any(|token| token.content == key);
    Ok(Listed {
        id: id.ok_or_else(wrong)?,
        token: AddedToken::from(key, is_special),
        key: key.to_owned(),
    })
}

/// Returns a token that is written as a text, or as an object with its properties.
fn added_token(value: &Value, is_special: bool) -> Option<AddedToken> {
    match value {
        Value::String(content) => Some(AddedToken::from(content.clone(), is_special)),
        Value::Object(token) => {
            let on = |key: &str| token.get(key).and_then(Value::as_bool);
            let content = token.get("content")?.as_str()?.to_owned();
            let special = on("special").unwrap_or(is_special);
            let added = AddedToken::from(content, special);
            Some(
                added
                    .lstrip(on("lstrip").unwrap_or(false))
                    .rstrip(on("rstrip").unwrap_or(false))
                    .single_word(on("single_word").unwrap_or(false))
                    .normalized(on("normalized").unwrap_or(!special)),
            )
        }
        _ => None,
    }
}
