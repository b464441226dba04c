//! JSON as Python writes it: `json.dumps` writes numbers that are not finite as the bare words
//! `NaN`, `Infinity` and `-Infinity`, which JSON does not have, and `json.loads` reads them back.
//!
//! The Trainer of transformers writes `trainer_state.json` so: a gradient norm that overflowed in
//! fp16 is `NaN` there. Every reader of that file uses [`from_str`] or [`from_slice`], which read
//! such a word as `null`. Other files are strict JSON, in which [`find_non_finite`] names the word.
//!
//! ```
//! let log: Vec<Option<f64>> = sentinel_policy::python_json::from_str("[0.5, NaN, 1]")?;
//! assert_eq!(log, [Some(0.5), None, Some(1.0)]);
//! # Ok::<(), serde_json::Error>(())
//! ```

use std::borrow::Cow;
use std::ops::Range;

use serde::de::DeserializeOwned;

/// The words for numbers that are not finite.
const WORDS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// Parses JSON in which numbers may be `NaN`, `Infinity` or `-Infinity`; each is read as `null`. A
/// byte order mark is skipped.
///
/// # Errors
/// If the text is not JSON otherwise, or does not fit the type. Columns in the error count `null`
/// in place of the words.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(&without_non_finite(text))
}

/// Parses JSON as [`from_str`] does, from bytes.
///
/// # Errors
/// If the bytes are not JSON otherwise, or do not fit the type.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    match str::from_utf8(bytes) {
        Ok(text) => from_str(text),
        // The parser says where the text is broken.
        Err(_) => serde_json::from_slice(bytes),
    }
}

/// Finds the first number in a JSON text that is not finite; `None` if there is none.
///
/// ```
/// use sentinel_policy::python_json::find_non_finite;
///
/// assert_eq!(find_non_finite(r#"{"loss": NaN}"#), Some("NaN"));
/// assert_eq!(find_non_finite(r#"{"note": "NaN"}"#), None);
/// ```
#[must_use]
pub fn find_non_finite(text: &str) -> Option<&'static str> {
    next_non_finite(text, 0).map(|(_, word)| word)
}

/// Replaces numbers that are not finite by `null`, and leaves out a byte order mark.
fn without_non_finite(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (mut replaced, mut copied) = (String::new(), 0);
    while let Some((place, _)) = next_non_finite(text, copied) {
        replaced.push_str(&text[copied..place.start]);
        replaced.push_str("null");
        copied = place.end;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    replaced.push_str(&text[copied..]);
    Cow::Owned(replaced)
}

/// Finds the next number that is not finite, from byte `from` on, which must be outside of strings:
/// one of [`WORDS`] that is no part of a longer word.
fn next_non_finite(text: &str, from: usize) -> Option<(Range<usize>, &'static str)> {
    let bytes = text.as_bytes();
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        let start = at;
        at += 1;
        if *byte == b'"' {
            at = string_end(bytes, at);
        } else if is_word(*byte) {
            at += bytes[at..]
                .iter()
                .take_while(|byte| is_word(**byte))
                .count();
            let found = WORDS.into_iter().find(|word| text[start..at] == **word);
            if let Some(word) = found {
                return Some((start..at, word));
            }
        }
    }
    None
}

/// Returns the position after the string whose content begins at `at`.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        at += match byte {
            b'"' => return at + 1,
            b'\\' => 2,
            _ => 1,
        };
    }
    bytes.len()
}

/// Returns `true` for the characters of numbers and words.
const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    type Tested = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn words_become_null_wherever_a_value_stands() -> Tested {
        for (text, expected) in [
            ("NaN", json!(null)),
            (" -Infinity\n", json!(null)),
            ("[NaN,Infinity,-Infinity]", json!([null, null, null])),
            (
                "{\"a\":{\"b\":[{\"c\":NaN},\n-Infinity ]},\"d\":Infinity}",
                json!({"a": {"b": [{"c": null}, null]}, "d": null}),
            ),
            (
                "\u{feff}{\"Grüße\": \"×\", \"x\": NaN}",
                json!({"Grüße": "×", "x": null}),
            ),
            ("[1, -2.5e-3, true, null]", json!([1, -0.0025, true, null])),
        ] {
            assert_eq!(from_str::<Value>(text)?, expected, "{text}");
            assert_eq!(from_slice::<Value>(text.as_bytes())?, expected, "{text}");
        }
        Ok(())
    }

    #[test]
    fn words_in_strings_and_keys_stay() -> Tested {
        let text =
            r#"{"NaN": "a NaN, -Infinity", "b\"": "\\", "c": ["\" NaN", Infinity, "Infinity"]}"#;
        let expected =
            json!({"NaN": "a NaN, -Infinity", "b\"": "\\", "c": ["\" NaN", null, "Infinity"]});
        assert_eq!(from_str::<Value>(text)?, expected);
        assert_eq!(find_non_finite(text), Some("Infinity"));
        let finite = text.replace(" Infinity,", "");
        assert_eq!(find_non_finite(&finite), None);
        assert!(matches!(without_non_finite(&finite), Cow::Borrowed(_)));
        Ok(())
    }

    #[test]
    fn other_faults_are_errors() {
        let place = |text: &str| {
            let error = from_str::<Value>(text).err();
            error.map(|error| (error.line(), error.is_eof()))
        };
        for (text, expected) in [
            ("{\n\"a\": NaN,\n\"b\": [1,", (3, true)),
            ("{\"a\": NaN, \"b", (1, true)),
            ("[NaN,\n NaNs]", (2, false)),
            ("[-NaN]", (1, false)),
            ("[nan]", (1, false)),
            ("[Infinity5]", (1, false)),
            ("[1Infinity]", (1, false)),
            ("{NaN: 1}", (1, false)),
            ("[+Infinity]", (1, false)),
            ("", (1, true)),
            ("\"\\", (1, true)),
        ] {
            assert_eq!(place(text), Some(expected), "{text}");
        }
        assert!(from_slice::<Value>(b"[NaN, \"\xff\"]").is_err());
    }
}
