//! Downloads from the Hugging Face Hub into the cache.

use std::path::PathBuf;

use hf_hub::api::sync::{ApiBuilder, ApiError};
use hf_hub::{Repo, RepoType};
use sentinel_http::{HfEnvironment, Token};

/// Name endings of the files that a model or an adapter consists of.
const WANTED: [&str; 4] = [".json", ".jinja", ".safetensors", "merges.txt"];

/// A snapshot that was downloaded, and the names of all files that its repository has.
pub(super) struct Download {
    pub(super) folder: PathBuf,
    pub(super) files: Vec<String>,
}

/// Downloads the files of a branch, tag or commit that are not in the cache yet.
///
/// # Errors
/// Returns the reason in words, which do not hold the token.
pub(super) fn download(
    repository: &str,
    revision: &str,
    hub: &HfEnvironment,
) -> Result<Download, String> {
    let token = hub.token_for_hub().map_err(|error| error.to_string())?;
    downloaded(repository, revision, hub, token).map_err(|error| {
        let reason = error.to_string();
        token.map_or_else(|| reason.clone(), |token| token.redact(&reason))
    })
}

fn downloaded(
    repository: &str,
    revision: &str,
    hub: &HfEnvironment,
    token: Option<&Token>,
) -> Result<Download, ApiError> {
    let mut builder = ApiBuilder::new()
        .with_progress(false)
        .with_endpoint(hub.endpoint.clone())
        // In place of a token that the library finds by itself.
        .with_token(token.map(|token| token.secret().to_owned()));
    if let Some(cache) = &hub.cache {
        builder = builder.with_cache_dir(cache.clone());
    }
    let repo = Repo::with_revision(repository.to_owned(), RepoType::Model, revision.to_owned());
    let repo = builder.build()?.repo(repo);
    let mut folder = None;
    let siblings = repo.info()?.siblings.into_iter();
    let files: Vec<String> = siblings.map(|file| file.rfilename).collect();
    for name in &files {
        // Files in subfolders of a repository belong to other libraries.
        if name.contains('/') || !WANTED.iter().any(|ending| name.ends_with(ending)) {
            continue;
        }
        let path = repo.get(name)?;
        folder = path.parent().map(PathBuf::from);
    }
    let missing = || {
        let reason = "the repository has no model files";
        ApiError::IoError(std::io::Error::other(reason))
    };
    let folder = folder.ok_or_else(missing)?;
    Ok(Download { folder, files })
}
