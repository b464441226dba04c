//! The repository, the questions about its files, and the commit.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sentinel_http as http;
use sentinel_http::Request;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::glob_pattern::GlobPattern;
use super::super::{HubClient, HubError, Repo, RepoType, remote_files, repo};
use super::config::UploadConfig;
use super::lfs;
use super::upload_plan::{UploadItem, UploadPlan, prefix};

/// The largest number of files of one question.
const QUESTION: usize = 256;
/// A file that the Hub needs and that is never removed.
const ATTRIBUTES: &str = ".gitattributes";

/// Makes the repository unless it exists.
pub(super) fn create_repository(
    client: &HubClient,
    repo: &Repo,
    private: bool,
) -> Result<(), HubError> {
    let (owner, name) = repo.owner_and_name();
    let mut body = json!({"name": name, "organization": owner, "type": repo.kind.name()});
    if private {
        body["visibility"] = "private".into();
    }
    if repo.kind == RepoType::Space {
        body["sdk"] = "static".into();
    }
    let url = repo::hub_url(client.endpoint(), ["api", "repos", "create"].into_iter())?;
    let request = Request::post(&url)?.json(&body)?.repeatable();
    let refused = match client.send(&repo.to_string(), &request) {
        Ok(_) => return Ok(()),
        // 409: it exists.
        Err(HubError::Http(error)) if error.status() == Some(409) => return Ok(()),
        Err(error) => error,
    };
    let is_permission = matches!(
        refused,
        HubError::TokenRefused { .. } | HubError::Payment { .. } | HubError::Forbidden { .. }
    );
    // A token that may not make repositories may still write to one that exists.
    if is_permission {
        let url = repo.api_url(client.endpoint(), &[])?;
        if client.get_json::<Value>(&repo.to_string(), &url).is_ok() {
            return Ok(());
        }
    }
    Err(refused)
}

/// The Hub's judgment of a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileUploadMode {
    path: String,
    upload_mode: UploadMode,
    /// `true` if the repository's `.gitignore` excludes the file.
    #[serde(default)]
    pub(super) should_ignore: bool,
    /// The digest of the content that the repository has under this name: the SHA-256 of a file in
    /// git LFS, else git's.
    pub(super) oid: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum UploadMode {
    Regular,
    Lfs,
}

impl FileUploadMode {
    pub(super) fn is_lfs(&self) -> bool {
        self.upload_mode == UploadMode::Lfs
    }
}

#[derive(Debug, Deserialize)]
struct Modes {
    files: Vec<FileUploadMode>,
}

/// Asks how each file is to be sent.
pub(super) fn fetch_upload_modes<'a>(
    client: &HubClient,
    repo: &Repo,
    revision: &str,
    items: &'a [UploadItem],
) -> Result<Vec<(&'a UploadItem, FileUploadMode)>, HubError> {
    let url = repo.api_url(client.endpoint(), &["preupload", revision])?;
    let mut all = Vec::new();
    for chunk in items.chunks(QUESTION) {
        let mut files = Vec::new();
        for item in chunk {
            let sample = STANDARD.encode(item.read_sample()?);
            files.push(json!({"path": item.name, "size": item.size, "sample": sample}));
        }
        let what = format!("branch {revision} of {repo}");
        let answer: Modes = client.post_json(&what, &url, &json!({"files": files}))?;
        for item in chunk {
            let mode = answer.files.iter().find(|mode| mode.path == item.name);
            let mode = mode.ok_or_else(|| http::HttpError::Json {
                url: url.clone(),
                reason: format!("it does not say how to send {}", item.name),
            })?;
            all.push((item, mode.clone()));
        }
    }
    Ok(all)
}

/// The content of a file in a commit.
#[derive(Debug)]
pub(super) enum Content {
    /// In the commit itself.
    Regular { bytes: Vec<u8>, oid: String },
    /// In git LFS, by its SHA-256.
    Lfs { oid: String },
}

impl Content {
    /// Reads a file. Empty files are never in git LFS.
    pub(super) fn new(item: &UploadItem, is_lfs: bool) -> Result<Self, HubError> {
        match item.file() {
            Some(path) if is_lfs && item.size > 0 => {
                let oid = remote_files::sha256(path)?;
                Ok(Self::Lfs { oid })
            }
            _ => {
                let bytes = item.bytes()?;
                let oid = remote_files::git_oid_of(&bytes);
                Ok(Self::Regular { bytes, oid })
            }
        }
    }

    /// Returns the digest that the Hub compares.
    pub(super) fn oid(&self) -> &str {
        match self {
            Self::Regular { oid, .. } | Self::Lfs { oid } => oid,
        }
    }

    /// Returns the object of git LFS; `None` for a file in the commit itself.
    pub(super) fn object<'a>((item, content): &'a (&UploadItem, Self)) -> Option<lfs::Object<'a>> {
        match content {
            Self::Regular { .. } => None,
            Self::Lfs { oid } => Some(lfs::Object {
                name: &item.name,
                path: item.file()?,
                size: item.size,
                oid,
            }),
        }
    }

    /// Returns the line of the commit that adds the file.
    fn line(&self, item: &UploadItem) -> Value {
        match self {
            Self::Regular { bytes, .. } => json!({"key": "file", "value": {
                "content": STANDARD.encode(bytes), "path": item.name, "encoding": "base64",
            }}),
            Self::Lfs { oid } => json!({"key": "lfsFile", "value": {
                "path": item.name, "algo": "sha256", "oid": oid, "size": item.size,
            }}),
        }
    }
}

/// Lists the files of the repository that `--delete` names and that are not uploaded.
pub(super) fn files_to_delete(
    config: &UploadConfig,
    client: &HubClient,
    plan: &UploadPlan,
) -> Result<Vec<String>, HubError> {
    let patterns = GlobPattern::parse_all(&config.delete)?;
    let prefix = prefix(&config.path_in_repo)?;
    let mut names = Vec::new();
    for file in remote_files::list_files(client, &plan.repo, &config.revision)? {
        let Some(own) = file.path.strip_prefix(&prefix) else {
            continue;
        };
        let is_kept = file.path == ATTRIBUTES || plan.items.iter().any(|i| i.name == file.path);
        if !is_kept && patterns.iter().any(|pattern| pattern.matches(own)) {
            names.push(file.path);
        }
    }
    Ok(names)
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Committed {
    commit_url: String,
}

/// Makes the commit and returns its address.
pub(super) fn commit(
    config: &UploadConfig,
    client: &HubClient,
    repo: &Repo,
    adds: &[(&UploadItem, Content)],
    removed: &[String],
) -> Result<String, HubError> {
    let usual = || format!("Upload with sentinel {}", env!("CARGO_PKG_VERSION"));
    let summary = config.message.clone().unwrap_or_else(usual);
    let header = json!({"key": "header", "value": {"summary": summary, "description": ""}});
    let adds = adds.iter().map(|(item, content)| content.line(item));
    let removed = removed
        .iter()
        .map(|path| json!({"key": "deletedFile", "value": {"path": path}}));
    let mut body = Vec::new();
    for line in std::iter::once(header).chain(adds).chain(removed) {
        serde_json::to_writer(&mut body, &line).map_err(sentinel_base::Error::from)?;
        body.push(b'\n');
    }
    let url = repo.api_url(client.endpoint(), &["commit", &config.revision])?;
    let size = body.len() as u64;
    // Not repeatable: a commit whose answer is lost would be made twice.
    let request = Request::post(&url)?.content("application/x-ndjson", http::Content::Bytes(body));
    let answer = client.transfer(&format!("a commit to {repo}"), request, size)?;
    Ok(answer.json::<Committed>()?.commit_url)
}
