//! `sentinel pull`: downloads a repository into a folder.
//!
//! All files go to a hidden folder beside the output folder first. That one is renamed when every
//! digest is the one that the Hub lists, so that the output folder holds everything or nothing.
//! Files that may carry fallback marks come first: a refused run costs no download of weights.

use std::path::{Path, PathBuf};

use sentinel_base::{Error, files};
use sentinel_http::Request;

use super::error::go_on;
use super::glob_pattern::GlobPattern;
use super::remote_files::{self, RemoteFile};
use super::{FallbackMark, HubClient, HubError, Repo, RepoType, fallback_marks};

/// The configuration of `sentinel pull`.
#[derive(Clone, Debug, clap::Args)]
pub struct PullConfig {
    /// Name of the repository: owner/name
    #[arg(value_name = "REPO")]
    pub repo: String,
    /// The folder to write, which must be new or empty
    #[arg(long, alias = "output-dir", value_name = "DIR")]
    pub out: PathBuf,
    /// Kind of the repository
    #[arg(long, value_enum, value_name = "KIND", default_value_t)]
    pub repo_type: RepoType,
    /// Branch, tag or commit
    #[arg(long, value_name = "REVISION", default_value = "main")]
    pub revision: String,
    /// Download only files with these names, such as "*.json"; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub include: Vec<String>,
    /// Leave out files with these names; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,
    /// Keep files that depend on a fallback
    #[arg(long)]
    pub allow_fallback: bool,
}

/// The result of a download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulled {
    /// The commit that was downloaded.
    pub commit: String,
    /// The number of files.
    pub files: usize,
    /// The number of bytes.
    pub bytes: u64,
    /// The fallback marks in the files, which were allowed.
    pub marks: Vec<FallbackMark>,
}

/// Downloads a repository. `progress` is called with the name and size of each file before its
/// download, and returns `false` to stop.
///
/// # Errors
/// Returns an error if the output folder is in use or cannot be written, if the Hub does not answer
/// as it should, if a digest differs, or if a file depends on a fallback and that is not allowed.
/// Nothing is left behind then.
pub fn pull(
    config: &PullConfig,
    client: &HubClient,
    progress: &dyn Fn(&str, u64) -> bool,
) -> Result<Pulled, HubError> {
    let repo = Repo::new(config.repo_type, &config.repo)?;
    check_free(&config.out)?;
    let commit = remote_files::resolve_commit(client, &repo, &config.revision)?;
    let chosen = choose(
        config,
        &repo,
        remote_files::list_files(client, &repo, &commit)?,
    )?;

    let parent = files::parent_folder(&config.out);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".sentinel-pull-");
    // With the permissions of a new folder, not readable by the owner alone.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
    let written = |source| Error::Write {
        path: config.out.clone(),
        source,
    };
    let part = builder.tempdir_in(parent).map_err(written)?;
    let (scanned, others): (Vec<_>, Vec<_>) = chosen
        .iter()
        .partition(|file| fallback_marks::is_scanned(&file.path));
    let mut found = Vec::new();
    for file in &scanned {
        go_on(progress(&file.path, file.size))?;
        let path = fetch(client, &repo, &commit, file, part.path())?;
        found.extend(fallback_marks::file_marks(&file.path, &path)?);
    }
    if !found.is_empty() && !config.allow_fallback {
        let place = repo.to_string();
        return Err(HubError::Fallback {
            place,
            marks: found,
        });
    }
    for file in &others {
        go_on(progress(&file.path, file.size))?;
        fetch(client, &repo, &commit, file, part.path())?;
    }
    if config.out.is_dir() {
        std::fs::remove_dir(&config.out).map_err(written)?;
    }
    std::fs::rename(part.path(), &config.out).map_err(written)?;
    // The folder has moved: there is nothing to remove.
    let _ = part.keep();
    Ok(Pulled {
        commit,
        files: chosen.len(),
        bytes: chosen.iter().map(|file| file.size).sum(),
        marks: found,
    })
}

/// Checks that the output folder is new or empty, and that it can be made.
fn check_free(out: &Path) -> Result<(), HubError> {
    let folder = files::parent_folder(out);
    if !folder.is_dir() {
        return Err(HubError::File(Error::NoFolder {
            path: out.to_owned(),
            folder: folder.to_owned(),
        }));
    }
    // `.` cannot be replaced by a folder of another name.
    if files::is_occupied(out, &[]) || out.file_name().is_none() {
        return Err(HubError::Occupied(out.to_owned()));
    }
    Ok(())
}

/// Returns the files to download.
fn choose(
    config: &PullConfig,
    repo: &Repo,
    all: Vec<RemoteFile>,
) -> Result<Vec<RemoteFile>, HubError> {
    let include = GlobPattern::parse_all(&config.include)?;
    let exclude = GlobPattern::parse_all(&config.exclude)?;
    let fits = |name: &str, patterns: &[GlobPattern]| patterns.iter().any(|p| p.matches(name));
    let mut chosen = all;
    chosen.retain(|file| {
        let is_included = include.is_empty() || fits(&file.path, &include);
        is_included && !fits(&file.path, &exclude)
    });
    if chosen.is_empty() {
        return Err(HubError::NoFiles(repo.to_string()));
    }
    match chosen.iter().find(|file| !file.has_safe_name()) {
        None => Ok(chosen),
        Some(file) => Err(HubError::UnsafeName {
            what: repo.to_string(),
            name: file.path.clone(),
        }),
    }
}

/// Downloads one file and verifies its digest.
fn fetch(
    client: &HubClient,
    repo: &Repo,
    commit: &str,
    file: &RemoteFile,
    folder: &Path,
) -> Result<PathBuf, HubError> {
    let path = folder.join(&file.path);
    files::create_folder(files::parent_folder(&path))?;
    let start = ["resolve", commit];
    let segments: Vec<&str> = start.into_iter().chain(file.path.split('/')).collect();
    let url = repo.file_url(client.endpoint(), &segments)?;
    let what = format!("{} of {repo}", file.path);
    client.download(&what, Request::get(&url)?, file.size, &path)?;
    file.verify(repo, &path)?;
    Ok(path)
}
