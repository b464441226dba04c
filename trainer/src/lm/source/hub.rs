//! Downloads from the Hugging Face Hub into the cache.

use std::path::PathBuf;

use hf_hub::api::sync::{ApiBuilder, ApiError};
use hf_hub::{Repo, RepoType};

use super::HubOptions;
use crate::http::Token;

/// Name endings of the files that a model or an adapter consists of.
const WANTED: [&str; 4] = [".json", ".jinja", ".safetensors", "merges.txt"];

/// Downloads the files that are not in the cache yet, and returns the snapshot's folder.
///
/// # Errors
/// Returns the reason in words, which do not hold the token.
pub(super) fn download(repository: &str, options: &HubOptions) -> Result<PathBuf, String> {
    let token = options
        .hub
        .token_for_hub()
        .map_err(|error| error.to_string())?;
    downloaded(repository, options, token).map_err(|error| {
        let reason = error.to_string();
        token.map_or_else(|| reason.clone(), |token| token.redact(&reason))
    })
}

fn downloaded(
    repository: &str,
    options: &HubOptions,
    token: Option<&Token>,
) -> Result<PathBuf, ApiError> {
    let mut builder = ApiBuilder::new()
        .with_progress(false)
        .with_endpoint(options.hub.endpoint.clone())
        // In place of a token that the library finds by itself.
        .with_token(token.map(|token| token.secret().to_owned()));
    if let Some(cache) = &options.hub.cache {
        builder = builder.with_cache_dir(cache.clone());
    }
    let revision = options.revision().to_owned();
    let repo = Repo::with_revision(repository.to_owned(), RepoType::Model, revision);
    let repo = builder.build()?.repo(repo);
    let mut folder = None;
    for file in repo.info()?.siblings {
        let name = file.rfilename;
        // Files in subfolders of a repository belong to other libraries.
        if name.contains('/') || !WANTED.iter().any(|ending| name.ends_with(ending)) {
            continue;
        }
        let path = repo.get(&name)?;
        folder = path.parent().map(PathBuf::from);
    }
    folder.ok_or_else(|| {
        let reason = "the repository has no model files";
        ApiError::IoError(std::io::Error::other(reason))
    })
}
