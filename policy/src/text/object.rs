//! Reads the one JSON object that a completion should be.

use sentinel_env::named_enum;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::unreadable::clip;
use super::{COMPLETION_BYTES, Reason, Unreadable};

named_enum! {
    /// How strictly a completion is read.
    #[derive(Default)]
    pub enum Reader {
        /// One JSON object and white space around it, nothing else.
        #[default]
        Strict = "strict",
        /// Text and code fences around the only object are left out, and that is counted. The object
        /// itself is read as strictly.
        Repair = "repair",
    }
}

/// The fields of an object in the order of the text, those that are there twice too: of two fields
/// of one name nobody knows which was meant.
struct Pairs(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Pairs;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_any(Object)
    }
}

/// The fields of a completion's JSON object that were not read yet. The worlds of this crate read
/// their actions with it, and any other [`TextWorld`](super::TextWorld) can.
#[derive(Clone, Debug)]
pub struct Object {
    fields: Vec<(String, Value)>,
    /// Whether text around it was left out.
    repaired: bool,
}

impl Object {
    /// Reads the only object of a completion, whose fields must all be among `known`.
    ///
    /// # Errors
    /// If the completion is empty, too long, not one JSON object, or has an unknown field or one
    /// field twice.
    pub fn read(reader: Reader, text: &str, known: &[&str]) -> Result<Self, Unreadable> {
        if text.len() > COMPLETION_BYTES {
            let detail = format!("{} bytes, of {COMPLETION_BYTES} at most", text.len());
            return Err(Unreadable::new(Reason::TooLong, detail));
        }
        let text = text.trim();
        if text.is_empty() {
            return Err(Unreadable::new(Reason::Empty, "nothing is said"));
        }
        let (fields, repaired) = match (whole(text), reader) {
            (Ok(fields), _) => (fields, false),
            (Err(error), Reader::Strict) => return Err(error),
            (Err(error), Reader::Repair) => (only(text, error)?, true),
        };
        check(&fields, known)?;
        Ok(Self { fields, repaired })
    }

    /// Takes a text; none where the field is missing or null.
    ///
    /// # Errors
    /// If the field holds something else.
    pub fn text(&mut self, name: &'static str) -> Result<Option<String>, Unreadable> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong(name, "a text", &other)),
        }
    }

    /// Takes a text that must be there.
    ///
    /// # Errors
    /// If the field is missing, null or something else.
    pub fn required(&mut self, name: &'static str) -> Result<String, Unreadable> {
        self.text(name)?.ok_or_else(|| Unreadable::missing(name))
    }

    /// Takes `true` or `false`; none where the field is missing or null.
    ///
    /// # Errors
    /// If the field holds something else.
    pub fn flag(&mut self, name: &'static str) -> Result<Option<bool>, Unreadable> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(on)) => Ok(Some(on)),
            Some(other) => Err(wrong(name, "true or false", &other)),
        }
    }

    /// Takes the value with this name that `parse` knows; none where the field is missing or null.
    ///
    /// # Errors
    /// If the field holds no text, or `parse` does not know it.
    pub fn named<T>(
        &mut self,
        name: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Unreadable> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let unknown = || {
            let detail = format!("there is no {name} {:?}", clip(&text));
            Unreadable::new(Reason::UnknownName, detail)
        };
        parse(&text).map(Some).ok_or_else(unknown)
    }

    /// Checks that `action` uses no other field, and returns whether text around the object was left
    /// out.
    ///
    /// # Errors
    /// If a field is left.
    pub fn finish(self, action: &str) -> Result<bool, Unreadable> {
        let left = self.fields.iter().find(|(_, value)| !value.is_null());
        match left {
            None => Ok(self.repaired),
            Some((name, _)) => {
                let detail = format!("{action} does not use {name}");
                Err(Unreadable::new(Reason::UnusedField, detail))
            }
        }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        let at = self.fields.iter().position(|(field, _)| field == name)?;
        Some(self.fields.swap_remove(at).1).filter(|value| !value.is_null())
    }
}

fn wrong(name: &str, expected: &str, found: &Value) -> Unreadable {
    let found = clip(&found.to_string());
    let detail = format!("{name} should be {expected}, not {found}");
    Unreadable::new(Reason::WrongType, detail)
}

/// The fields of a text that is one object and nothing else.
fn whole(text: &str) -> Result<Vec<(String, Value)>, Unreadable> {
    let fault = |reason, detail: String| Err(Unreadable::new(reason, detail));
    if text.contains("```") && !text.starts_with('{') {
        return fault(Reason::CodeFence, "a code fence around it".to_owned());
    }
    if !text.starts_with('{') {
        return if serde_json::from_str::<IgnoredAny>(text).is_ok() {
            fault(Reason::NotAnObject, format!("{} is no object", clip(text)))
        } else if objects(text).next().is_some() {
            fault(Reason::TextAround, "text before the object".to_owned())
        } else {
            fault(Reason::NotJson, format!("{:?} is no JSON", clip(text)))
        };
    }
    let mut reader = serde_json::Deserializer::from_str(text).into_iter::<Pairs>();
    let fields = match reader.next() {
        Some(Ok(Pairs(fields))) => fields,
        Some(Err(error)) => return fault(Reason::NotJson, error.to_string()),
        None => return fault(Reason::Empty, "nothing is said".to_owned()),
    };
    let rest = text[reader.byte_offset()..].trim_start();
    if rest.is_empty() {
        Ok(fields)
    } else if objects(rest).next().is_some() {
        fault(Reason::SeveralObjects, "more than one object".to_owned())
    } else {
        let rest = clip(rest);
        fault(Reason::TextAround, format!("{rest:?} after the object"))
    }
}

/// The only object within a text; `error` is what is wrong with the text as a whole.
fn only(text: &str, error: Unreadable) -> Result<Vec<(String, Value)>, Unreadable> {
    let mut found = objects(text);
    match (found.next(), found.next()) {
        (Some(object), None) => whole(object),
        (Some(_), Some(_)) => Err(Unreadable::new(
            Reason::SeveralObjects,
            "more than one object",
        )),
        (None, _) => Err(error),
    }
}

/// The objects within a text, one after the other; not those within others.
fn objects(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        while let Some(at) = rest.find('{') {
            rest = &rest[at..];
            let mut reader = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
            if let Some(Ok(_)) = reader.next() {
                let (object, after) = rest.split_at(reader.byte_offset());
                rest = after;
                return Some(object);
            }
            rest = &rest[1..];
        }
        None
    })
}

/// Each field is one that there is, once.
fn check(fields: &[(String, Value)], known: &[&str]) -> Result<(), Unreadable> {
    for (at, (name, _)) in fields.iter().enumerate() {
        if !known.contains(&name.as_str()) {
            let (name, known) = (clip(name), known.join(", "));
            let detail = format!("there is no field {name:?}: use {known}");
            return Err(Unreadable::new(Reason::UnknownField, detail));
        }
        if fields[..at].iter().any(|(other, _)| other == name) {
            let detail = format!("{name} is there twice");
            return Err(Unreadable::new(Reason::DuplicateField, detail));
        }
    }
    Ok(())
}
