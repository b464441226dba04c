//! Compares recorded values with those of this implementation.

use serde::Serialize;
use serde_json::Value;

/// Largest number of messages that are kept. Further failures are only counted.
const MESSAGES_MAX: usize = 20;

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Outcome {
    /// Number of rows compared.
    pub checked: usize,
    /// Number of rows that differ.
    pub failed: usize,
    /// Number of rows of worlds that this check does not cover.
    pub skipped: usize,
    /// Descriptions of the first differences.
    pub messages: Vec<String>,
}

impl Outcome {
    /// Counts one row, which fails if there is any difference.
    pub(crate) fn row(&mut self, place: &str, differences: &[String]) {
        self.checked += 1;
        if !differences.is_empty() {
            self.failed += 1;
            if self.messages.len() < MESSAGES_MAX {
                self.messages
                    .push(format!("{place}: {}", differences.join("; ")));
            }
        }
    }

    /// Adds the result of another check.
    pub fn merge(&mut self, other: Self) {
        self.checked += other.checked;
        self.failed += other.failed;
        self.skipped += other.skipped;
        let room = MESSAGES_MAX.saturating_sub(self.messages.len());
        self.messages.extend(other.messages.into_iter().take(room));
    }
}

/// Fields for which the recording's `pow(x, 2.0)` may differ from `x * x` in the last place
/// (spec trust §2).
const TOLERANT: [&str; 4] = ["calibration", "terminal_reward", "total_reward", "score"];

/// Recorded values that stand for text that differs between implementations.
const PLACEHOLDERS: [&str; 2] = ["<uuid>", "<text>"];

/// Returns a description of every difference between `expected` and `actual`: fields that are
/// missing, differ, or are not in the recording. Fields named in `ignore` are skipped.
pub(crate) fn differences(expected: &Value, actual: &Value, ignore: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    walk("", expected, actual, ignore, &mut found);
    found
}

fn walk(path: &str, expected: &Value, actual: &Value, ignore: &[&str], out: &mut Vec<String>) {
    match (expected, actual) {
        (Value::Object(e), Value::Object(a)) => {
            for (key, value) in e.iter().filter(|(k, _)| !ignore.contains(&k.as_str())) {
                let path = format!("{path}.{key}");
                match a.get(key) {
                    Some(other) => walk(&path, value, other, ignore, out),
                    None => out.push(format!("{path} is missing")),
                }
            }
            for key in a
                .keys()
                .filter(|k| !e.contains_key(*k) && !ignore.contains(&k.as_str()))
            {
                out.push(format!("{path}.{key} is not in the recording"));
            }
        }
        (Value::Array(e), Value::Array(a)) if e.len() == a.len() => {
            for (i, (value, other)) in e.iter().zip(a).enumerate() {
                walk(&format!("{path}[{i}]"), value, other, ignore, out);
            }
        }
        (Value::Number(e), Value::Number(a)) => {
            if !same_number(path, e.as_f64(), a.as_f64()) {
                out.push(format!("{path}: expected {e}, got {a}"));
            }
        }
        (Value::String(e), Value::String(_)) if PLACEHOLDERS.contains(&e.as_str()) => {}
        _ if expected == actual => {}
        _ => out.push(format!("{path}: expected {expected}, got {actual}")),
    }
}

fn same_number(path: &str, expected: Option<f64>, actual: Option<f64>) -> bool {
    let (Some(e), Some(a)) = (expected, actual) else {
        return false;
    };
    let name = path.rsplit('.').next().unwrap_or(path);
    e == a || (TOLERANT.contains(&name) && (e - a).abs() <= 1e-12)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn differences_name_json_path() {
        let expected = json!({"a": {"b": [1, 2.5]}, "c": "<uuid>", "score": 0.5, "gone": null});
        let actual = json!({"a": {"b": [1, 2.25]}, "c": "x", "score": 0.5000000000001, "new": 1});
        let found = differences(&expected, &actual, &[]);
        assert_eq!(
            found,
            [
                ".a.b[1]: expected 2.5, got 2.25",
                ".gone is missing",
                ".new is not in the recording"
            ]
        );
        assert_eq!(
            differences(&json!({"x": 0.5}), &json!({"x": 0.5000000000001}), &[]).len(),
            1
        );
    }
}
