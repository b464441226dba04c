//! Files that the engine fetches from the page's host or that the visitor drops.

use sentinel_env::strict_json::Json;
use sentinel_policy::foreign_format::ForeignFormat;
use sentinel_policy::python_json::{self, find_non_finite};

use crate::evaluation::is_evaluation;

/// State of a file of the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Fetched<T> {
    /// The file was not needed so far.
    #[default]
    NotRequested,
    /// The file was requested and has not arrived.
    Loading,
    /// The file has arrived, with this content.
    Ready(T),
    /// The file could not be loaded, for this reason.
    Failed(String),
}

impl<T> Fetched<T> {
    /// Returns the content if the file has arrived.
    pub const fn ready(&self) -> Option<&T> {
        match self {
            Self::Ready(content) => Some(content),
            Self::NotRequested | Self::Loading | Self::Failed(_) => None,
        }
    }

    /// Returns `true` if the file has to be requested, also after a failure.
    pub const fn is_missing(&self) -> bool {
        matches!(self, Self::NotRequested | Self::Failed(_))
    }
}

/// Decodes a text file.
///
/// # Errors
/// Returns a sentence with the file's name if it is not UTF-8.
pub fn text(name: &str, bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|_| format!("{name} is not a text file"))
}

/// Returns the name of a file without its folders.
#[must_use]
pub fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// A file that the visitor dropped, by what it contains.
#[derive(Debug)]
pub enum DroppedFile {
    /// Weights in safetensors format.
    Model(Vec<u8>),
    /// The log of a training run, `trainer_state.json`.
    TrainingLog(String),
    /// An evaluation of `sentinel eval` or `sentinel lm eval`: parsed, and as text.
    Evaluation(Json, String),
    /// JSON lines, which may be a replay.
    Lines(String),
}

impl DroppedFile {
    /// Finds out what a file contains. The name counts only where the content does not say it.
    ///
    /// # Errors
    /// Returns a sentence with the file's name if it is none of the files that the page reads.
    pub fn new(name: &str, bytes: Vec<u8>) -> Result<Self, String> {
        if is_safetensors(&bytes) {
            return Ok(Self::Model(bytes));
        }
        if let Some(format) = ForeignFormat::placeholder(&bytes) {
            return Err(format!("{name} is {format}."));
        }
        if name.ends_with(".safetensors") {
            return Ok(Self::Model(bytes));
        }
        if let Some(format) = ForeignFormat::utf16(&bytes) {
            return Err(format!("{name} is {format}."));
        }
        let Ok(text) = String::from_utf8(bytes) else {
            return Err(format!(
                "{name} is neither text in UTF-8 nor a safetensors file: open a replay, model.safetensors of a trained policy, trainer_state.json or an evaluation."
            ));
        };
        let start = text.trim_start_matches('\u{feff}').trim_start();
        // A file of several lines of JSON is refused at its second line.
        let file = match serde_json::from_str::<Json>(start) {
            Ok(file) => file,
            Err(error) => {
                let found = find_non_finite(start).map(|word| (word, python_json::from_str(start)));
                return match found {
                    // The only file that may hold numbers that are not finite.
                    Some((_, Ok(Json::Object(file)))) if file.get("log_history").is_some() => {
                        Ok(Self::TrainingLog(text))
                    }
                    _ if !is_document(name, start) => Ok(Self::Lines(text)),
                    Some((word, Ok(_))) => Err(format!(
                        "{name} is not JSON: {word} in line {} is not a number in JSON. Write null in its place.",
                        error.line()
                    )),
                    Some((_, Err(error))) => Err(broken_document(name, start, &error)),
                    None => Err(broken_document(name, start, &error)),
                };
            }
        };
        let has = |key: &str| file.get(key).is_some();
        if has("log_history") {
            Ok(Self::TrainingLog(text))
        } else if is_evaluation(&file) {
            Ok(Self::Evaluation(file, text))
        } else if matches!(file, Json::Array(_)) {
            Err(format!("{name} is {}.", ForeignFormat::Array))
        } else if has("task_type") || !name.ends_with(".json") {
            // A single row of a replay.
            if matches!(file, Json::Object(_)) && start.trim_end().contains('\n') {
                return Err(format!("{name} is {}.", ForeignFormat::Indented));
            }
            Ok(Self::Lines(text))
        } else {
            Err(unknown_json(name, &file))
        }
    }
}

/// Returns `true` if the bytes start like a safetensors file: with the length of a header that is a
/// JSON object.
fn is_safetensors(bytes: &[u8]) -> bool {
    let header = bytes.split_first_chunk::<8>().and_then(|(length, rest)| {
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        rest.get(..length)
    });
    header.is_some_and(|header| header.first() == Some(&b'{'))
}

/// Returns `true` if a text that is not JSON was meant as one document, not as lines of it.
fn is_document(name: &str, text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default().trim_end();
    let is_row = || serde_json::from_str::<Json>(first).is_ok();
    matches!(first, "{" | "[") || (name.ends_with(".json") && !is_row())
}

/// Returns a sentence about a document that is not JSON.
fn broken_document(name: &str, text: &str, error: &serde_json::Error) -> String {
    match ForeignFormat::not_json_lines(text.as_bytes()) {
        Some(format) if name.ends_with(".jsonl") => format!("{name} is {format}."),
        _ if error.is_eof() => format!(
            "{name} is cut off in line {}. Save or download it again.",
            error.line()
        ),
        _ => format!("{name} is not JSON: {error}."),
    }
}

/// Returns a sentence about a JSON file that the page does not read.
fn unknown_json(name: &str, file: &Json) -> String {
    let keys: Vec<&str> = match file {
        Json::Object(fields) => fields.iter().map(|(key, _)| key).take(4).collect(),
        _ => Vec::new(),
    };
    let keys = if keys.is_empty() {
        String::new()
    } else {
        let keys = keys.join("”, “");
        format!(
            " It begins with “{}”.",
            sentinel_env::truncate::abbreviate(&keys, 80)
        )
    };
    format!(
        "{name} is JSON, but neither a training log (`log_history`) nor an evaluation (`summary` and `episodes`).{keys}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str, bytes: &[u8]) -> &'static str {
        match DroppedFile::new(name, bytes.to_vec()) {
            Ok(DroppedFile::Model(_)) => "model",
            Ok(DroppedFile::TrainingLog(_)) => "log",
            Ok(DroppedFile::Evaluation(..)) => "evaluation",
            Ok(DroppedFile::Lines(_)) => "lines",
            Err(sentence) => {
                assert!(sentence.contains(name), "{sentence}");
                "refused"
            }
        }
    }

    #[test]
    fn content_decides_and_the_name_helps() {
        let model = [&2_u64.to_le_bytes()[..], b"{}"].concat();
        let log = b"{\"log_history\": []}";
        let evaluation = b"{\n \"summary\": {}, \"episodes\": []}";
        let row = b"{\"task_type\": \"task1\"}";
        for name in ["a.json", "a.jsonl", "a", "a.safetensors.txt"] {
            assert_eq!(kind(name, &model), "model", "{name}");
            assert_eq!(kind(name, log), "log", "{name}");
            assert_eq!(kind(name, evaluation), "evaluation", "{name}");
            assert_eq!(kind(name, row), "lines", "{name}");
        }
        let two = [&row[..], b"\n", &row[..]].concat();
        assert_eq!(kind("a.jsonl", &two), "lines");
        assert_eq!(kind("a.json", &two), "lines");
        assert_eq!(kind("a.txt", b""), "lines");
        assert_eq!(kind("a.txt", b"hello"), "lines");
        assert_eq!(kind("a.json", b"{\"model_type\": \"qwen2\"}"), "refused");
        assert_eq!(kind("a.txt", b"{\n \"summary\": {},"), "refused");
        assert_eq!(kind("a.json", b"<!doctype html>"), "refused");
        assert_eq!(kind("a.png", b"\x89PNG\r\n\x1a\n\0\0"), "refused");
        let deep = "[".repeat(100_000);
        assert_eq!(kind("a.json", deep.as_bytes()), "refused");
    }

    #[test]
    fn a_broken_document_is_named_with_line_and_column() {
        let error = DroppedFile::new("e.json", b"{\n\"a\": 1,\n}".to_vec()).expect_err("broken");
        assert!(
            error.contains("e.json") && error.contains("line 3"),
            "{error}"
        );
        let error = DroppedFile::new("c.json", b"{\"model_type\": 1}".to_vec()).expect_err("other");
        assert!(error.contains("model_type"), "{error}");
    }

    fn refusal(name: &str, bytes: &[u8]) -> String {
        DroppedFile::new(name, bytes.to_vec()).map_or_else(
            |sentence| sentence,
            |file| panic!("{name} was taken for {file:?}"),
        )
    }

    #[test]
    fn placeholders_are_named_with_their_remedy() {
        let pointer =
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 988097824\n";
        let page = b"<!doctype html><html><head><title>401</title></head></html>";
        for name in [
            "model.safetensors",
            "adapter_model.safetensors",
            "my.jsonl",
            "trainer_state.json",
            "pointer",
        ] {
            assert_eq!(
                refusal(name, pointer),
                format!(
                    "{name} is a git-lfs pointer, not the file itself: run `git lfs pull` in its folder."
                )
            );
            assert_eq!(
                refusal(name, page),
                format!(
                    "{name} is a web page: download the file itself, not the page that shows it."
                )
            );
        }
    }

    #[test]
    fn other_forms_of_text_and_json_are_named_with_their_remedy() {
        let array = br#"[{"task_type": "task1", "seed": 0}, {"task_type": "task1", "seed": 0}]"#;
        let pretty = b"{\n  \"prompt\": [\n    {\"role\": \"user\"}\n  ]\n}";
        let row = b"{\"task_type\": \"task1\",\n\"seed\": 0}";
        let two = [&pretty[..], b"\n", &pretty[..]].concat();
        let text = "\u{feff}{\"log_history\": []}";
        let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let lines = "write one row per line (JSON lines)";
        for (name, bytes, remedy) in [
            ("a.json", &array[..], lines),
            ("a.jsonl", array, lines),
            ("a.jsonl", b"[\n{\"a\": 1},\n{\"a\": 2},\n]", lines),
            ("a.jsonl", pretty, lines),
            ("a.jsonl", &two, lines),
            ("a.json", row, lines),
            ("a.json", &utf16, "save it as UTF-8"),
            ("a.png", b"\x89PNG\r\n\x1a\n\0\0", "open a replay"),
            ("a.json", b"{\"summary\": {},\n", "download it again"),
        ] {
            let sentence = refusal(name, bytes);
            assert!(
                sentence.starts_with(&format!("{name} is ")) && sentence.contains(remedy),
                "{sentence}"
            );
            assert!(sentence.ends_with('.'), "{sentence}");
        }
        // A byte order mark of UTF-8 does not matter.
        assert_eq!(kind("a.json", text.as_bytes()), "log");
    }

    #[test]
    fn only_a_training_log_may_hold_numbers_that_are_not_finite() {
        let log =
            b"{\n\"best_metric\": -Infinity, \"log_history\": [{\"step\": 1, \"loss\": NaN}]}";
        for name in ["trainer_state.json", "state.txt"] {
            assert_eq!(kind(name, log), "log");
        }
        let one_line = b"{\"log_history\": [{\"step\": 1, \"loss\": NaN}]}";
        assert_eq!(kind("a", one_line), "log");
        let sentence = refusal("e.json", b"{\"summary\": {},\n \"episodes\": [NaN]}");
        assert_eq!(
            sentence,
            "e.json is not JSON: NaN in line 2 is not a number in JSON. Write null in its place."
        );
        // The reader of replays names the word and the line.
        assert_eq!(
            kind("r.jsonl", b"{\"task_type\": \"task1\", \"seed\": NaN}"),
            "lines"
        );
        let sentence = refusal("l.json", b"{\"log_history\": [{\"loss\": NaN},\n{\"loss\"");
        assert_eq!(
            sentence,
            "l.json is cut off in line 2. Save or download it again."
        );
    }
}
