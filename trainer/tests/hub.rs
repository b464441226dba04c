//! `hf-job`, `upload` and `pull` as programs: their output, their errors, and the token, which is
//! in neither.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use crate::common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use common::Run;
use serde_json::Value;

const TOKEN: &str = "hf_SecretOfTheTests";

/// Runs `sentinel` in a folder with a token for the Hub at `endpoint`.
fn sentinel(folder: &Path, endpoint: &str, token: &str, line: &str) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_sentinel"))
        .current_dir(folder)
        .args(line.split_whitespace())
        .env("HF_ENDPOINT", endpoint)
        .env("HF_TOKEN", token)
        .env("HF_HOME", folder.join("no-login"))
        .env_remove("HF_HUB_OFFLINE")
        .env_remove("HF_TOKEN_PATH")
        .env_remove("HF_NAMESPACE")
        .env_remove("SENTINEL_MODEL_REPO")
        .env_remove("SENTINEL_ARTIFACT_REPO")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let run = Run {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    };
    let all = format!("{}{}", run.stdout, run.stderr);
    assert!(!all.contains(TOKEN), "the token is in the output: {all}");
    run
}

/// Starts a server that answers everything with 401 and repeats the headers that it got.
fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut text, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                    break;
                }
                let line = line.to_ascii_lowercase();
                if let Some(number) = line.strip_prefix("content-length:") {
                    length = number.trim().parse().unwrap();
                }
                if line.starts_with("authorization") {
                    text = format!("you sent Bearer {TOKEN}");
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let head = "HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-length";
            let _ = write!(stream, "{head}: {}\r\n\r\n{text}", text.len());
        }
    });
    address
}

fn adapter(folder: &Path) {
    let run = folder.join("run");
    std::fs::create_dir(&run).unwrap();
    std::fs::write(run.join("adapter_config.json"), "{}").unwrap();
    std::fs::write(run.join("adapter_model.safetensors"), "0123").unwrap();
    std::fs::write(run.join("checkpoint.safetensors"), "state").unwrap();
}

#[test]
fn hub_dry_runs_need_no_network_or_token() {
    let place = tempfile::tempdir().unwrap();
    let run = |line: &str| sentinel(place.path(), "http://127.0.0.1:1", "", line);
    for mode in ["gpu-test", "import-smoke", "train-smoke", "train-full"] {
        let found = run(&format!("hf-job --mode {mode} --dry-run"));
        let job: Value = serde_json::from_str(found.succeeds()).unwrap();
        assert_eq!(job["mode"], mode);
        assert_eq!(job["flavor"], "a10g-small");
    }
    adapter(place.path());
    let found = run("upload run --repo me/run --dry-run");
    let text = found.succeeds();
    assert!(
        text.contains("adapter_model.safetensors        4 B  LFS"),
        "{text}"
    );
    assert!(text.contains("2 files, 6 B; 1 in git LFS"), "{text}");
    assert!(
        text.contains("left out without --checkpoints: checkpoint.safetensors"),
        "{text}"
    );
    run("upload run --repo me --dry-run").fails(&["owner/name"]);
    run("upload none --repo me/run --dry-run").fails(&["none: there is no such file"]);
    let full = "hf-job --mode train-full";
    run(full).fails(&["--model-repo", "--artifact-repo", "--image"]);
    run("hf-job").fails(&["a job needs a token", "hf auth login"]);
    run("upload run --repo me/run").fails(&["an upload needs a token"]);
}

/// The Trainer of transformers writes NaN and Infinity into its log.
#[test]
fn run_with_numbers_that_are_not_finite_is_uploaded() {
    for name in ["nan", "infinity"] {
        let place = tempfile::tempdir().unwrap();
        let log = common::repository("testdata/oracle/trainer_state").join(format!("{name}.json"));
        let run = place.path().join("run");
        std::fs::create_dir(&run).unwrap();
        std::fs::copy(log, run.join("trainer_state.json")).unwrap();
        let line = "upload run --repo me/run --repo-type dataset --dry-run";
        let found = sentinel(place.path(), "http://127.0.0.1:1", "", line);
        assert!(found.succeeds().contains("trainer_state.json"), "{name}");
        std::fs::rename(run.join("trainer_state.json"), run.join("report.json")).unwrap();
        let found = sentinel(place.path(), "http://127.0.0.1:1", "", line);
        found.fails(&["report.json", "is not a number in JSON"]);
    }
}

#[test]
fn invalid_hub_endpoint_error_names_it() {
    let place = tempfile::tempdir().unwrap();
    adapter(place.path());
    let run = |line: &str| sentinel(place.path(), "ftp://127.0.0.1", TOKEN, line);
    run("pull me/run --out a").fails(&["HF_ENDPOINT \"ftp://127.0.0.1\"", "https://"]);
    let run = |line: &str| sentinel(place.path(), "http://example.org", TOKEN, line);
    run("pull me/run --out a").fails(&["only sent over https"]);
    assert!(!place.path().join("a").exists());
}

#[test]
fn token_is_in_no_output_or_file() {
    let place = tempfile::tempdir().unwrap();
    adapter(place.path());
    let hub = echo();
    let run = |line: &str| sentinel(place.path(), &hub, TOKEN, line);
    for line in [
        "hf-job",
        "hf-job --mode train-smoke --image a --namespace us",
        "upload run --repo me/run",
        "pull me/run --out out",
    ] {
        run(line).fails(&["refused the token (401)", "you sent Bearer ***"]);
    }
    run("hf-job --mode train-full --image a --dry-run").succeeds();
    run("upload run --repo me/run --dry-run").succeeds();
    std::fs::write(
        place.path().join("run/log.txt"),
        format!("HF_TOKEN={TOKEN}"),
    )
    .unwrap();
    run("upload run --repo me/run").fails(&["log.txt contains the token"]);
    std::fs::remove_file(place.path().join("run/log.txt")).unwrap();
    for entry in std::fs::read_dir(place.path().join("run")).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(TOKEN));
    }
    assert!(!place.path().join("out").exists());
}
