//! `sentinel upload`: commits files to a repository of the Hub.
//!
//! The steps of an upload are those of `hf upload` over git LFS:
//!
//! 1. The repository is made unless it exists.
//! 2. The Hub says for each file whether it belongs into git or into git LFS, and which content it
//!    has already. Unchanged files are left out.
//! 3. The contents for git LFS are sent, one object after another; those that the Hub has already
//!    are skipped by their SHA-256. An upload that broke off therefore continues where it stopped.
//! 4. One commit adds all files and removes those that `--delete` names.

mod commit;
mod config;
mod lfs;
mod upload_plan;

pub use config::{Progress, UploadConfig, UploadEvent};
pub use upload_plan::{UploadItem, UploadPlan};

use super::error::go_on;
use super::{HubClient, HubError, Repo, fallback_marks};

/// The result of an upload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uploaded {
    /// The address of the commit; `None` if the repository had everything already.
    pub commit_url: Option<String>,
    /// The number of files in the commit.
    pub added: usize,
    /// The number of files that the repository had already.
    pub unchanged: usize,
    /// The number of files that the repository's `.gitignore` excludes.
    pub ignored: usize,
    /// The number of files that the commit removes.
    pub removed: usize,
    /// The number of bytes that were sent to git LFS.
    pub sent: u64,
}

/// Lists what an upload sends, and checks it: no fallback unless it is allowed, nothing that the
/// kind of repository cannot hold.
///
/// # Errors
/// Returns an error if there is nothing to upload, if a file cannot be read, or if a check fails.
pub fn plan(config: &UploadConfig) -> Result<UploadPlan, HubError> {
    let repo = Repo::new(config.repo_type, &config.repo)?;
    let plan = UploadPlan::new(config, repo)?;
    let mut found = Vec::new();
    if config.path.is_file() {
        found.extend(fallback_marks::marks_beside(&config.path)?);
    }
    for item in &plan.items {
        if let Some(path) = item.file() {
            found.extend(fallback_marks::file_marks(&item.name, path)?);
        }
    }
    if !found.is_empty() && !config.allow_fallback {
        let place = config.path.display().to_string();
        return Err(HubError::Fallback {
            place,
            marks: found,
        });
    }
    Ok(UploadPlan {
        marks: found,
        ..plan
    })
}

/// Uploads what [`plan`] lists.
///
/// # Errors
/// Returns an error if a file cannot be read or contains the token, if there is no token, or if the
/// Hub does not answer as it should. The same command then continues the upload.
pub fn upload(
    config: &UploadConfig,
    plan: &UploadPlan,
    client: &HubClient,
    progress: Progress<'_>,
) -> Result<Uploaded, HubError> {
    let token = client.token("an upload")?;
    for path in plan.items.iter().filter_map(UploadItem::file) {
        fallback_marks::check_no_token(path, token)?;
    }
    let repo = &plan.repo;
    commit::create_repository(client, repo, config.private)?;
    let mut result = Uploaded::default();
    let mut adds = Vec::new();
    for (item, mode) in commit::fetch_upload_modes(client, repo, &config.revision, &plan.items)? {
        let content = commit::Content::new(item, mode.is_lfs())?;
        if mode.should_ignore {
            result.ignored += 1;
        } else if mode.oid.as_deref() == Some(content.oid()) {
            result.unchanged += 1;
        } else {
            adds.push((item, content));
        }
    }
    let large: Vec<lfs::Object<'_>> = adds.iter().filter_map(commit::Content::object).collect();
    result.sent = lfs::send(client, repo, &config.revision, &large, progress)?;
    let removed = if config.delete.is_empty() {
        Vec::new()
    } else {
        commit::files_to_delete(config, client, plan)?
    };
    (result.added, result.removed) = (adds.len(), removed.len());
    if adds.is_empty() && removed.is_empty() {
        return Ok(result);
    }
    go_on(progress(&UploadEvent::Committing {
        files: adds.len(),
        removed: removed.len(),
    }))?;
    result.commit_url = Some(commit::commit(config, client, repo, &adds, &removed)?);
    Ok(result)
}
