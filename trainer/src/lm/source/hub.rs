//! Downloads from the Hugging Face Hub into the cache.

use std::path::PathBuf;

use hf_hub::api::sync::{ApiBuilder, ApiError};
use hf_hub::{Repo, RepoType};

use super::HubOptions;

/// Name endings of the files that a model or an adapter consists of.
const WANTED: [&str; 4] = [".json", ".jinja", ".safetensors", "merges.txt"];

/// Downloads the files that are not in the cache yet, and returns the snapshot's folder.
pub(super) fn download(repository: &str, options: &HubOptions) -> Result<PathBuf, ApiError> {
    let mut builder = ApiBuilder::new().with_progress(false);
    // Without a token in the options, the one stored by `hf auth login` is used.
    if options.token.is_some() {
        builder = builder.with_token(options.token.clone());
    }
    if let Some(cache) = &options.cache {
        builder = builder.with_cache_dir(cache.clone());
    }
    if let Some(endpoint) = &options.endpoint {
        builder = builder.with_endpoint(endpoint.clone());
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
