//! The commands against a Hub on the loopback address.

mod jobs;
mod pulls;
mod refusals;
mod uploads;

use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

use sentinel_base::provenance::Provenance;
use sentinel_http::{HfEnvironment, HttpConfig, HttpError};
use sentinel_testkit::loopback::Reply;
use serde_json::{Value, json};

use super::fake_hub::{COMMIT, Hub, TOKEN, sha256};
use super::job::{JobConfig, JobSpec, submit};
use super::pull::{PullConfig, Pulled, pull};
use super::upload::{self, UploadConfig, UploadEvent, Uploaded};
use super::*;

type Failure = Box<dyn std::error::Error>;
type Tested = Result<(), Failure>;

/// Parses the options of a command.
fn options<T: clap::Args + clap::FromArgMatches>(words: &[&str]) -> Result<T, clap::Error> {
    let command = T::augment_args(clap::Command::new("test").no_binary_name(true));
    T::from_arg_matches(&command.try_get_matches_from(words)?)
}

/// Uploads a folder to `me/run`, with further options.
fn send(
    client: &HubClient,
    folder: &Path,
    more: &[&str],
    seen: &RefCell<Vec<String>>,
) -> Result<Uploaded, HubError> {
    let path = folder.display().to_string();
    let words = [&[path.as_str(), "--repo", "me/run"], more].concat();
    let config: UploadConfig = options(&words).map_err(|error| HubError::Argument {
        option: "test",
        reason: error.to_string(),
    })?;
    upload::upload(&config, &upload::plan(&config)?, client, &|event| {
        seen.borrow_mut().push(match event {
            UploadEvent::Sending { path, .. } => format!("send {path}"),
            UploadEvent::Present { path } => format!("skip {path}"),
            UploadEvent::Committing { files, removed } => format!("commit {files} -{removed}"),
        });
        true
    })
}

/// Downloads `me/run` to a folder, with further options.
fn fetch(client: &HubClient, out: &Path, more: &[&str]) -> Result<Pulled, HubError> {
    let out = out.display().to_string();
    let words = [&["me/run", "--out", out.as_str()], more].concat();
    let config: PullConfig = options(&words).map_err(|error| HubError::Argument {
        option: "test",
        reason: error.to_string(),
    })?;
    pull(&config, client, &|_, _| true)
}

/// Writes a folder of an adapter with two large files.
fn adapter() -> Result<tempfile::TempDir, Failure> {
    let folder = tempfile::tempdir()?;
    for (name, text) in [
        ("adapter_config.json", "{\"r\": 8}"),
        ("adapter_model.safetensors", "0123456789"),
        ("more.safetensors", "abc"),
        ("copy.safetensors", "abc"),
        ("empty.safetensors", ""),
        ("a.ignored", "x"),
        ("checkpoint.safetensors", "state"),
        ("README.md", "# Card\n"),
        (".lock", ""),
    ] {
        std::fs::write(folder.path().join(name), text)?;
    }
    std::fs::create_dir_all(folder.path().join("checkpoint-5"))?;
    std::fs::write(folder.path().join("checkpoint-5/trainer_state.json"), "{}")?;
    std::fs::create_dir_all(folder.path().join("completions"))?;
    std::fs::write(
        folder.path().join("completions/completions_1.jsonl"),
        "{}\n",
    )?;
    std::fs::create_dir_all(folder.path().join(".git"))?;
    std::fs::write(folder.path().join(".git/config"), "")?;
    Provenance::new().write(folder.path())?;
    Ok(folder)
}

/// Returns the message of a failure, and checks that it does not hold the token.
fn message<T: std::fmt::Debug>(result: Result<T, HubError>) -> String {
    let text = match &result {
        Ok(value) => format!("no error: {value:?}"),
        Err(error) => error.to_string(),
    };
    assert!(!format!("{text} {result:?}").contains(TOKEN), "{text}");
    text
}

fn job(words: &[&str], variables: &[(&str, &str)]) -> Result<JobSpec, Failure> {
    let config: JobConfig = options(words)?;
    let variable = |name: &str| {
        let found = variables.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Ok(JobSpec::new(&config, variable)?)
}
