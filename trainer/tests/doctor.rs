//! `sentinel doctor`: what it finds, what it prints, and its exit code.

#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use std::process::{Command, Output};

use serde_json::Value;

/// Runs the command in a folder with an environment of its own.
fn doctor(words: &str, folder: &std::path::Path, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sentinel"));
    command.arg("doctor").args(words.split_whitespace());
    command.current_dir(folder);
    command.env_remove("HF_TOKEN").env_remove("HF_TOKEN_PATH");
    command.env("HF_HOME", folder).env("HF_HUB_OFFLINE", "1");
    command.envs(variables.iter().copied()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Returns the verdict of each check.
fn verdicts(output: &Output) -> Vec<(String, String)> {
    let checks: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let word = |check: &Value, key: &str| check[key].as_str().unwrap().to_owned();
    checks
        .iter()
        .map(|check| (word(check, "name"), word(check, "verdict")))
        .collect()
}

#[test]
fn machine_that_tests_run_on_passes() {
    let folder = tempfile::tempdir().unwrap();
    let output = doctor("", folder.path(), &[]);
    let (printed, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{printed}{errors}");
    assert!(errors.is_empty(), "{errors}");
    for line in [
        "ok       program",
        "ok       device",
        "as in f32",
        "GFLOP/s",
    ] {
        assert!(printed.contains(line), "{line}: {printed}");
    }
    // Nothing is left behind.
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn what_is_missing_is_named_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let secret = "hf_one hf_two";
    let output = doctor("--json", folder.path(), &[("HF_TOKEN", secret)]);
    assert_eq!(output.status.code(), Some(1));
    let found = verdicts(&output);
    assert!(
        found.contains(&("token".into(), "missing".into())),
        "{found:?}"
    );
    assert!(
        found.contains(&("product".into(), "ok".into())),
        "{found:?}"
    );
    assert!(
        !text(&output.stdout).contains("hf_"),
        "a secret was printed"
    );

    // A device that is not in this build.
    #[cfg(not(feature = "cuda"))]
    {
        let output = doctor("--device cuda", folder.path(), &[("CUDA_PATH", "/nowhere")]);
        assert_eq!(output.status.code(), Some(1));
        let printed = text(&output.stdout);
        assert!(printed.contains("--features cuda"), "{printed}");
        assert!(printed.contains("/nowhere/include"), "{printed}");
    }
}

#[test]
fn hub_that_does_not_answer_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    // A port that only the system may open, and on which nothing listens.
    let online = [
        ("HF_HUB_OFFLINE", "0"),
        ("HF_ENDPOINT", "http://127.0.0.1:1"),
    ];
    let output = doctor("--json", folder.path(), &online);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found = verdicts(&output);
    assert!(
        found.contains(&("hub".into(), "warning".into())),
        "{found:?}"
    );
}
