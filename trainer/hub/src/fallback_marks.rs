//! The fallback marks in the files of a run, and tokens that were left in them.
//!
//! A mark is one of those of [`sentinel_base::provenance`], wherever in the files it stands:
//!
//! * an entry of a list `fallbacks` in any JSON file or row;
//! * `backend` that begins with `fallback`, or `model_source` that is a fallback's, in a report;
//! * a row of a replay whose `model_source` is marked;
//! * `fallback: true` at the top of a row of a replay or a corpus, where a script acted because the
//!   model's completion was not an action, or of an event of a run.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use sentinel_base::provenance::{Provenance, is_marked_name};
use sentinel_base::{Error, files, provenance};
use sentinel_http::Token;
use sentinel_policy::python_json::{self, find_non_finite};
use sentinel_run::TRAINER_STATE_FILE;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::{FallbackMark, HubError};

/// The text that every mark contains.
const WORD: &[u8] = b"fallback";
/// The largest JSON document that is parsed although nothing in it looks like a mark.
const LARGEST: u64 = 64 << 20;

/// The files in which the Trainer of transformers writes its log and its results. A number in them
/// may be `NaN` or `Infinity`.
const TRAINER_FILES: [&str; 6] = [
    TRAINER_STATE_FILE,
    "all_results.json",
    "eval_results.json",
    "predict_results.json",
    "test_results.json",
    "train_results.json",
];

/// Returns `true` for the files that may hold marks.
#[must_use]
pub fn is_scanned(name: &str) -> bool {
    let ending = Path::new(name)
        .extension()
        .and_then(|ending| ending.to_str());
    matches!(ending, Some("json" | "jsonl"))
}

/// Returns the marks of a file that is called `name` in messages: at most one for each key that
/// carries them.
///
/// # Errors
/// Returns an error if the file cannot be read, or is a JSON document that is cut off.
pub fn file_marks(name: &str, path: &Path) -> Result<Vec<FallbackMark>, HubError> {
    let mut found = Vec::new();
    let ending = path.extension().and_then(|ending| ending.to_str());
    match ending {
        Some("json") => document(path, &mut found)?,
        Some("jsonl") => rows(path, &mut found)?,
        _ => {}
    }
    found.sort_unstable();
    found.dedup();
    let file = name.to_owned();
    Ok(found
        .into_iter()
        .map(|what| FallbackMark {
            file: file.clone(),
            what,
        })
        .collect())
}

/// Returns the marks that lie beside a single file: in the provenance file of its folder, or in its
/// own.
///
/// # Errors
/// Returns an error if such a file exists and cannot be read.
pub fn marks_beside(path: &Path) -> Result<Vec<FallbackMark>, HubError> {
    let mut marks = Vec::new();
    let folder = files::parent_folder(path).join(provenance::PROVENANCE_FILE);
    for file in [folder, provenance::sidecar(path)] {
        let found = Provenance::load(&file)?.map_or_else(Vec::new, |found| found.fallbacks);
        let file = file.display().to_string();
        marks.extend(found.iter().map(|fallback| FallbackMark {
            file: file.clone(),
            what: fallback.to_string(),
        }));
    }
    Ok(marks)
}

/// Checks that a file does not contain the token.
///
/// # Errors
/// Returns [`HubError::HoldsToken`], or an error if the file cannot be read.
pub(super) fn check_no_token(path: &Path, token: &Token) -> Result<(), HubError> {
    let secret = token.secret().as_bytes();
    if holds(path, secret)? {
        Err(HubError::HoldsToken(path.to_owned()))
    } else {
        Ok(())
    }
}

fn read_error(path: &Path, source: std::io::Error) -> Error {
    Error::Read {
        path: path.to_owned(),
        source,
    }
}

/// Returns `true` if a file contains these bytes.
fn holds(path: &Path, word: &[u8]) -> Result<bool, HubError> {
    let failed = |source| read_error(path, source);
    let mut file = File::open(path).map_err(failed)?;
    let mut window = Vec::with_capacity(1 << 17);
    loop {
        let read = file.by_ref().take(1 << 16).read_to_end(&mut window);
        let is_end = read.map_err(failed)? == 0;
        if window.windows(word.len()).any(|part| part == word) {
            return Ok(true);
        }
        if is_end {
            return Ok(false);
        }
        // The end of this part may be the beginning of the word.
        window.drain(..window.len().saturating_sub(word.len()));
    }
}

fn document(path: &Path, found: &mut Vec<String>) -> Result<(), HubError> {
    let size = path
        .metadata()
        .map_err(|source| read_error(path, source))?
        .len();
    if size > LARGEST && !holds(path, WORD)? {
        return Ok(());
    }
    let text = std::fs::read(path).map_err(|source| read_error(path, source))?;
    let value: Value = parse_document(path, &text).map_err(|error| HubError::WrongFolder {
        path: path.to_owned(),
        reason: format!("this is not JSON ({error}): make the file again, or leave it out"),
    })?;
    top(&value, found);
    Ok(())
}

/// Parses a JSON document: a file of the Trainer as it writes it, any other as strict JSON.
fn parse_document(path: &Path, text: &[u8]) -> Result<Value, String> {
    let name = path.file_name().and_then(|name| name.to_str());
    if name.is_some_and(|name| TRAINER_FILES.contains(&name)) {
        return python_json::from_slice(text).map_err(|error| error.to_string());
    }
    serde_json::from_slice(text).map_err(|error| {
        let word = str::from_utf8(text).ok().and_then(find_non_finite);
        // Another fault may come first, and then the word is not the reason.
        match word.filter(|_| python_json::from_slice::<IgnoredAny>(text).is_ok()) {
            Some(word) => format!("{word} is not a number in JSON; write null in its place"),
            None => error.to_string(),
        }
    })
}

fn rows(path: &Path, found: &mut Vec<String>) -> Result<(), HubError> {
    let failed = |source| read_error(path, source);
    let mut reader = BufReader::with_capacity(1 << 16, File::open(path).map_err(failed)?);
    let (mut line, mut counts) = (Vec::new(), BTreeMap::<String, usize>::new());
    while reader.read_until(b'\n', &mut line).map_err(failed)? > 0 {
        let is_suspect = line.windows(WORD.len()).any(|part| part == WORD);
        // A broken row is not played, so that its mark does not matter.
        if is_suspect && let Ok(value) = python_json::from_slice::<Value>(&line) {
            let mut marks = Vec::new();
            top(&value, &mut marks);
            for mark in marks {
                *counts.entry(mark).or_default() += 1;
            }
        }
        line.clear();
    }
    found.extend(counts.into_iter().map(|(mark, count)| match count {
        1 => mark,
        _ => format!("{mark}, in {count} rows"),
    }));
    Ok(())
}

/// Adds the marks of a document or a row. Only here is `fallback: true` a mark: in an action of
/// PolyGuard's stack it says that the critic chose.
fn top(value: &Value, found: &mut Vec<String>) {
    if value.get("fallback") == Some(&Value::Bool(true)) {
        found.push("fallback: true".to_owned());
    }
    collect(value, found);
}

/// Adds the marks in a value and the values in it.
fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(fields) => {
            for (key, value) in fields {
                let text = value.as_str().unwrap_or_default();
                match key.as_str() {
                    "fallbacks" => found.extend(value.as_array().into_iter().flatten().map(entry)),
                    "backend" if text.starts_with("fallback") => {
                        found.push(format!("backend {text}"));
                    }
                    "model_source" if text.starts_with("fallback") || is_marked_name(text) => {
                        found.push(format!("model_source {text}"));
                    }
                    // Texts of models and prompts contain no keys; nested values may.
                    _ => collect(value, found),
                }
            }
        }
        _ => {}
    }
}

/// Describes an entry of a list of fallbacks.
fn entry(value: &Value) -> String {
    let field = |name: &str| value.get(name).and_then(Value::as_str);
    match (field("stage"), field("what")) {
        (Some(stage), Some(what)) => format!("fallback ({stage}): {what}"),
        _ => format!("fallback: {value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Tested = Result<(), Box<dyn std::error::Error>>;

    fn marks(name: &str, text: &str) -> Result<Vec<String>, Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join(name);
        std::fs::write(&path, text)?;
        let found = file_marks(name, &path)?;
        Ok(found.into_iter().map(|mark| mark.what).collect())
    }

    #[test]
    fn fallback_marks_are_found_in_all_file_kinds() -> Tested {
        for (name, text, expected) in [
            (
                "sentinel.json",
                r#"{"fallbacks":[{"stage":"init","what":"a new model"}]}"#,
                "fallback (init): a new model",
            ),
            (
                "eval.json",
                r#"{"sentinel":{"fallbacks":["x"]}}"#,
                "fallback: \"x\"",
            ),
            (
                "sft_trl_run.json",
                r#"{"backend":"fallback"}"#,
                "backend fallback",
            ),
            (
                "postsave_inference.json",
                r#"{"model_source":"fallback_policy"}"#,
                "model_source fallback_policy",
            ),
            (
                "replay.jsonl",
                "{\"model_source\":\"grpo (fallback)\"}\n{\"model_source\":\"grpo (fallback)\"}\n",
                "model_source grpo (fallback), in 2 rows",
            ),
            ("events.jsonl", "{}\n{\"fallback\":true}", "fallback: true"),
            (
                "replay.jsonl",
                "{\"action\":{},\"fallback\":true}\n{}\n{\"action\":{},\"fallback\":true}",
                "fallback: true, in 2 rows",
            ),
        ] {
            assert_eq!(marks(name, text)?, [expected], "{name}");
        }
        for (name, text) in [
            (
                "a.json",
                r#"{"fallbacks":[],"fallback":false,"note":"no fallback"}"#,
            ),
            (
                "a.jsonl",
                r#"{"model_source":"grpo","completion":"{\"backend\":\"fallback\"}"}"#,
            ),
            (
                "a.jsonl",
                r#"{"action":{"candidate_id":"cand_05","fallback":true}}"#,
            ),
            ("a.txt", r#"{"backend":"fallback"}"#),
            ("a.jsonl", "cut off fallback {"),
        ] {
            assert!(marks(name, text)?.is_empty(), "{name} {text}");
        }
        Ok(())
    }

    #[test]
    fn files_of_the_trainer_may_hold_numbers_that_are_not_finite() -> Tested {
        let clean = r#"{"best_metric": Infinity, "log_history": [{"grad_norm": NaN}]}"#;
        let marked = r#"{"best_metric": -Infinity, "sentinel": {"fallbacks": [{"stage": "init", "what": "NaN"}]}}"#;
        for name in ["trainer_state.json", "all_results.json"] {
            assert!(marks(name, clean)?.is_empty(), "{name}");
            assert_eq!(marks(name, marked)?, ["fallback (init): NaN"], "{name}");
            assert!(marks(name, &clean[..clean.len() - 2]).is_err(), "{name}");
        }
        let rows = "{\"loss\": NaN, \"backend\": \"fallback\"}\n";
        assert_eq!(marks("rows.jsonl", rows)?, ["backend fallback"]);
        let error = marks("report.json", clean).err().ok_or("it was read")?;
        let text = error.to_string();
        assert!(
            text.contains("report.json") && text.contains("Infinity is not a number in JSON"),
            "{text}"
        );
        Ok(())
    }

    #[test]
    fn truncated_report_is_an_error() -> Tested {
        let error = marks("report.json", r#"{"backend":"#)
            .err()
            .ok_or("it was read")?;
        let text = error.to_string();
        assert!(
            text.contains("report.json") && text.contains("not JSON"),
            "{text}"
        );
        Ok(())
    }

    #[test]
    fn single_file_inherits_fallback_marks_of_folder() -> Tested {
        let folder = tempfile::tempdir()?;
        let weights = folder.path().join("model.safetensors");
        std::fs::write(&weights, "")?;
        assert!(marks_beside(&weights)?.is_empty());
        let mut made = Provenance::new();
        made.add_fallback("init", "a new model");
        made.write(folder.path())?;
        made.write_sidecar(&weights)?;
        assert_eq!(marks_beside(&weights)?.len(), 2);
        Ok(())
    }

    #[test]
    fn token_is_found_across_buffer_boundaries() -> Tested {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("log.txt");
        let token = Token::new("hf_0123456789")?;
        for before in [0, 1, 65_530, 131_060, 200_000] {
            std::fs::write(&path, "x".repeat(before) + "hf_0123456789 and more")?;
            assert!(check_no_token(&path, &token).is_err(), "{before}");
        }
        std::fs::write(&path, "x".repeat(70_000) + "hf_012345678")?;
        check_no_token(&path, &token)?;
        Ok(())
    }
}
