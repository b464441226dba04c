//! Helpers that run the built command and read recorded data.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]
#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod lm;

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sentinel_play::rollout::{GenerationRequest, TextAgent};
use sentinel_policy::text::TextWorld;
use serde_json::Value;

/// A model that sees only prompts.
pub(crate) struct Callback<F>(pub(crate) F);

impl<W: TextWorld, F: FnMut(&[String]) -> Vec<String>> TextAgent<W> for Callback<F> {
    fn generate(&mut self, prompts: &[String], _asked: &[GenerationRequest<'_, W>]) -> Vec<String> {
        (self.0)(prompts)
    }
}

/// The result of running the command.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Checks that the run failed as intended: with a single line that contains all `words`, or, if
    /// the command line is invalid, with clap's message.
    #[track_caller]
    pub(crate) fn fails(&self, words: &[&str]) {
        assert_ne!(self.code, 0, "{}", self.stdout);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        assert!(self.stderr.starts_with("error: "), "{}", self.stderr);
        if self.code == 2 {
            assert!(
                self.stderr.contains("For more information, try '--help'."),
                "{}",
                self.stderr
            );
        } else {
            assert_eq!(self.stderr.lines().count(), 1, "{}", self.stderr);
        }
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in {}", self.stderr);
        }
    }

    /// Checks that the run succeeded, and returns its output.
    #[track_caller]
    pub(crate) fn succeeds(&self) -> &str {
        assert_eq!(self.code, 0, "{}", self.stderr);
        &self.stdout
    }
}

/// Runs `sentinel` with these arguments.
pub(crate) fn sentinel<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Run {
    sentinel_in(Path::new("."), args)
}

/// Runs `sentinel` with these arguments in a folder.
pub(crate) fn sentinel_in<S: AsRef<OsStr>>(
    folder: &Path,
    args: impl IntoIterator<Item = S>,
) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sentinel"));
    let output = command
        .current_dir(folder)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs `sentinel` with arguments separated by spaces.
pub(crate) fn run(line: &str) -> Run {
    sentinel(line.split_whitespace())
}

/// Runs `sentinel` in a folder with arguments separated by spaces.
pub(crate) fn run_in(folder: &Path, line: &str) -> Run {
    sentinel_in(folder, line.split_whitespace())
}

/// Returns the path of a folder in the repository.
pub(crate) fn repository(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(folder)
}

/// Returns the lines of a recorded file in the repository; tests refer to single episodes of it.
pub(crate) fn golden(name: &str) -> Vec<String> {
    let file = std::fs::File::open(repository("testdata/golden").join(name)).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut text)
        .unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Parses a text as JSON.
#[track_caller]
pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Returns the part of an evaluation file that the reference also writes. The object `sentinel` is
/// removed; it must be the last key and record the origin of the result.
#[track_caller]
pub(crate) fn reference_part(text: &str, world: &str) -> String {
    let (before, own) = text.split_once(",\n  \"sentinel\": {\n").unwrap();
    assert!(own.ends_with("\n  }\n}\n"), "more stands behind it: {own}");
    assert!(!own.contains("\n  }\n}\n}") && own.matches("\n  }").count() == 1);
    let own = &json(text)["sentinel"];
    let keys = [
        "world",
        "model",
        "seeds",
        "streams",
        "rules",
        "version",
        "commit",
        "inputs",
        "fallbacks",
    ];
    for key in keys {
        assert!(own.get(key).is_some(), "sentinel has no {key}: {own}");
    }
    assert_eq!(own["world"], world);
    format!("{before}\n}}\n")
}
