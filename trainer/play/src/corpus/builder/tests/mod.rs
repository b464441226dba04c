//! Whole builds: without the network, and against servers on the loopback address.

mod hub_dataset;
mod interactions;
mod offline;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use sentinel_http::{HttpClient, HttpConfig, Token};
use serde_json::Value;

use super::{BuildConfig, BuildError, NetworkAccess, Summary, build};
use crate::corpus::{Example, read_corpus};

type Tested = Result<(), Box<dyn std::error::Error>>;

/// The token that must be nowhere but in the header of a request.
const SECRET: &str = "hf_secret";

/// Returns access to the network that does not wait between attempts.
fn network(hub: &str) -> Result<NetworkAccess, sentinel_http::HttpError> {
    let config = HttpConfig {
        timeout: Duration::from_secs(20),
        retries: 2,
        ..HttpConfig::default()
    };
    Ok(NetworkAccess {
        client: HttpClient::new(config).with_wait(|_| true),
        token: Some(Token::new(SECRET)?),
        hub: hub.to_owned(),
        is_offline: false,
    })
}

/// Builds a corpus; the Hub is at `hub`.
fn built(config: &BuildConfig, hub: &str) -> Result<Summary, BuildError> {
    let network = network(hub).map_err(|error| BuildError::Source {
        name: super::SourceName::Hf,
        error: error.into(),
    })?;
    build(config, &network, &AtomicBool::new(false), &|| ())
}

/// Returns the message of a build that must fail, and checks that it left nothing behind.
fn failure(config: &BuildConfig, hub: &str) -> Result<String, Box<dyn std::error::Error>> {
    let error = built(config, hub).err().ok_or("the build succeeded")?;
    assert!(!config.output_dir.exists(), "{error}");
    let message = error.to_string();
    assert!(!message.contains(SECRET), "{message}");
    Ok(message)
}

/// Returns the rows of a corpus: as JSON, and as the trainer reads them.
fn rows(folder: &Path) -> Result<(Vec<Value>, Vec<Example>), Box<dyn std::error::Error>> {
    let path = folder.join("sft.jsonl");
    let text = std::fs::read_to_string(&path)?;
    assert!(!text.contains(SECRET));
    let values: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
    Ok((values?, read_corpus(&path)?))
}

/// Returns the names of all entries of a folder, also of hidden ones.
fn entries(folder: &Path) -> std::io::Result<Vec<String>> {
    let names = folder.read_dir()?;
    let names = names.map(|entry| entry.map(|e| e.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<Result<Vec<String>, _>>()?;
    names.sort();
    Ok(names)
}
