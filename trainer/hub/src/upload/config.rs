//! The configuration of an upload, and the events that it reports.

use std::path::PathBuf;

use super::super::RepoType;

/// The configuration of `sentinel upload`.
#[derive(Clone, Debug, clap::Args)]
pub struct UploadConfig {
    /// The folder whose contents are uploaded, or a single file
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// The repository: owner/name; it is made if it does not exist
    #[arg(long, alias = "repo-id", value_name = "REPO")]
    pub repo: String,
    /// Kind of the repository
    #[arg(long, value_enum, value_name = "KIND", default_value_t)]
    pub repo_type: RepoType,
    /// Folder of the repository that receives the files [default: its root]
    #[arg(
        long,
        value_name = "DIR",
        default_value = "",
        hide_default_value = true
    )]
    pub path_in_repo: String,
    /// Upload only files with these names, such as "*.json"; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub include: Vec<String>,
    /// Leave out files with these names; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,
    /// Remove files with these names from the repository, unless they are uploaded; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub delete: Vec<String>,
    /// Upload also the states to resume from: checkpoint.safetensors and the folders checkpoint-N/
    #[arg(long)]
    pub checkpoints: bool,
    /// Make a new repository private
    #[arg(long)]
    pub private: bool,
    /// Branch that receives the commit
    #[arg(long, value_name = "BRANCH", default_value = "main")]
    pub revision: String,
    /// Message of the commit
    #[arg(long, alias = "commit-message", value_name = "TEXT")]
    pub message: Option<String>,
    /// Upload files that depend on a fallback
    #[arg(long)]
    pub allow_fallback: bool,
    /// List the files with their sizes, and send nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// An event of an upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UploadEvent<'a> {
    /// The content of a file is about to be sent to git LFS.
    Sending {
        /// The name in the repository.
        path: &'a str,
        /// The size in bytes.
        size: u64,
    },
    /// The Hub has the content of a file already.
    Present {
        /// The name in the repository.
        path: &'a str,
    },
    /// The commit is about to be made.
    Committing {
        /// The number of files that are added or replaced.
        files: usize,
        /// The number of files that are removed.
        removed: usize,
    },
}

/// A callback that returns `false` to stop.
pub type Progress<'a> = &'a dyn Fn(&UploadEvent<'_>) -> bool;
