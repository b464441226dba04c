//! The files of an upload, before anything is sent.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use sentinel_base::Error;
use sentinel_run::{CHECKPOINT_FILE, LOCK_FILE};

use super::super::glob_pattern::GlobPattern;
use super::super::{FallbackMark, HubError, Repo, RepoType};
use super::config::UploadConfig;

/// The size from which the Hub puts a file into git LFS whatever its name is.
const LFS_SIZE: u64 = 10 << 20;
/// Endings of the names that the Hub's `.gitattributes` of a new repository puts into git LFS.
const LFS_ENDINGS: [&str; 32] = [
    "7z",
    "arrow",
    "bin",
    "bz2",
    "ckpt",
    "ftz",
    "gz",
    "h5",
    "joblib",
    "mlmodel",
    "model",
    "msgpack",
    "npy",
    "npz",
    "onnx",
    "ot",
    "parquet",
    "pb",
    "pickle",
    "pkl",
    "pt",
    "pth",
    "rar",
    "safetensors",
    "tar",
    "tflite",
    "tgz",
    "wasm",
    "xz",
    "zip",
    "zst",
    "mlpackage",
];
/// The number of bytes by which the Hub judges a file.
pub(super) const SAMPLE_BYTES: u64 = 512;
/// The README of a static Space, for a site without one.
const SPACE_README: &str = include_str!("../../../../web/space-readme.md");
/// The name of the page that describes a repository.
const README: &str = "README.md";
/// Files of which a folder must have one to be a model or an adapter.
const MODEL: [&str; 4] = [
    "config.json",
    "adapter_config.json",
    "model.safetensors",
    "adapter_model.safetensors",
];

/// The content of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    /// A file of this machine.
    File(PathBuf),
    /// A text that is made for the upload.
    Text(&'static str),
}

/// A file of an upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadItem {
    /// The name in the repository.
    pub name: String,
    /// The size in bytes.
    pub size: u64,
    source: Source,
}

impl UploadItem {
    /// Returns the file of this machine; `None` for a text that is made for the upload.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match &self.source {
            Source::File(path) => Some(path),
            Source::Text(_) => None,
        }
    }

    /// Returns `true` if a Hub with the rules of a new repository puts the file into git LFS. The
    /// Hub decides during an upload.
    #[must_use]
    pub fn is_large(&self) -> bool {
        let name = self.name.to_ascii_lowercase();
        let ending = Path::new(&name)
            .extension()
            .and_then(|ending| ending.to_str());
        let is_listed = ending.is_some_and(|ending| LFS_ENDINGS.contains(&ending));
        self.size > 0 && (self.size > LFS_SIZE || is_listed || name.contains("tfevents"))
    }

    /// Reads the first bytes.
    pub(super) fn read_sample(&self) -> Result<Vec<u8>, HubError> {
        match &self.source {
            Source::Text(text) => Ok(text.bytes().take(SAMPLE_BYTES as usize).collect()),
            Source::File(path) => {
                let mut start = Vec::new();
                let read = File::open(path)
                    .and_then(|file| file.take(SAMPLE_BYTES).read_to_end(&mut start));
                read.map_err(|source| read_error(path, source))?;
                Ok(start)
            }
        }
    }

    /// Reads the whole content.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, HubError> {
        match &self.source {
            Source::Text(text) => Ok(text.as_bytes().to_vec()),
            Source::File(path) => {
                std::fs::read(path).map_err(|source| read_error(path, source).into())
            }
        }
    }
}

fn read_error(path: &Path, source: std::io::Error) -> Error {
    Error::Read {
        path: path.to_owned(),
        source,
    }
}

/// The files of an upload.
#[derive(Clone, Debug)]
pub struct UploadPlan {
    /// The repository that receives the files.
    pub repo: Repo,
    /// The files, sorted by their names in the repository.
    pub items: Vec<UploadItem>,
    /// Names of files that are left out because they only serve to resume a run.
    pub left_out: Vec<String>,
    /// The fallback marks in the files, which were allowed.
    pub marks: Vec<FallbackMark>,
}

impl UploadPlan {
    /// Lists the files.
    ///
    /// # Errors
    /// Returns an error if there is none, or if they are not what the kind of repository holds.
    pub(super) fn new(config: &UploadConfig, repo: Repo) -> Result<Self, HubError> {
        let prefix = prefix(&config.path_in_repo)?;
        let include = GlobPattern::parse_all(&config.include)?;
        let exclude = GlobPattern::parse_all(&config.exclude)?;
        GlobPattern::parse_all(&config.delete)?;
        let root = &config.path;
        if !root.exists() {
            return Err(HubError::WrongFolder {
                path: root.clone(),
                reason: "there is no such file or folder".to_owned(),
            });
        }
        let mut found = Vec::new();
        if root.is_dir() {
            walk(root, "", &mut found)?;
        } else {
            let name = root.file_name().and_then(|name| name.to_str());
            found.push((name.unwrap_or_default().to_owned(), root.clone()));
        }
        let fits = |name: &str, patterns: &[GlobPattern]| patterns.iter().any(|p| p.matches(name));
        found.retain(|(name, _)| {
            (include.is_empty() || fits(name, &include)) && !fits(name, &exclude)
        });
        let mut left_out = Vec::new();
        if !config.checkpoints && root.is_dir() {
            found.retain(|(name, _)| {
                let is_state = is_state(name);
                if is_state {
                    left_out.push(name.clone());
                }
                !is_state
            });
        }
        let mut items = Vec::new();
        for (name, path) in found {
            let size = path
                .metadata()
                .map_err(|source| read_error(&path, source))?
                .len();
            items.push(UploadItem {
                name: format!("{prefix}{name}"),
                size,
                source: Source::File(path),
            });
        }
        check_kind(config, &items)?;
        if repo.kind == RepoType::Space {
            add_readme(config, &mut items)?;
        }
        items.sort_by(|a, b| a.name.cmp(&b.name));
        left_out.sort_unstable();
        Ok(Self {
            repo,
            items,
            left_out,
            marks: Vec::new(),
        })
    }
}

/// Returns the folder of the repository with a slash at its end; an empty text for its root.
pub(super) fn prefix(path: &str) -> Result<String, HubError> {
    let path = path.trim_matches('/');
    let path = path.strip_prefix("./").unwrap_or(path);
    let is_plain = |part: &str| !part.is_empty() && part != "." && part != ".." && part != ".git";
    if path.is_empty() || path == "." {
        Ok(String::new())
    } else if !path.contains(['\\', '\0']) && path.split('/').all(is_plain) {
        Ok(format!("{path}/"))
    } else {
        Err(HubError::Argument {
            option: "--path-in-repo",
            reason: format!("{path:?} is not a folder of a repository, such as runs/first"),
        })
    }
}

/// Adds the files of a folder and of the folders in it. Links to files are followed, those to
/// folders are not: they could form a circle.
fn walk(folder: &Path, name: &str, found: &mut Vec<(String, PathBuf)>) -> Result<(), HubError> {
    let failed = |source| read_error(folder, source);
    for entry in folder.read_dir().map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        let Ok(own) = entry.file_name().into_string() else {
            return Err(HubError::WrongFolder {
                path,
                reason: "the name is not UTF-8: rename the file, or leave its folder out"
                    .to_owned(),
            });
        };
        let kind = entry.file_type().map_err(failed)?;
        // Hidden folders and the files of an unfinished write are never part of a run.
        let is_hidden = own == LOCK_FILE || own.starts_with(".sentinel-");
        let name = if name.is_empty() {
            own.clone()
        } else {
            format!("{name}/{own}")
        };
        if kind.is_dir() && !own.starts_with('.') {
            walk(&path, &name, found)?;
        } else if !is_hidden && path.is_file() {
            found.push((name, path));
        }
    }
    Ok(())
}

/// Returns `true` for a file that only serves to resume a run.
fn is_state(name: &str) -> bool {
    let mut parts = name.split('/').rev();
    let is_file = parts.next() == Some(CHECKPOINT_FILE);
    let step = |part: &str| part.strip_prefix("checkpoint-").map(str::to_owned);
    let is_step = |n: String| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit());
    is_file || parts.filter_map(step).any(is_step)
}

/// Checks that the files are what the kind of repository holds.
fn check_kind(config: &UploadConfig, items: &[UploadItem]) -> Result<(), HubError> {
    let wrong = |reason: &str| {
        Err(HubError::WrongFolder {
            path: config.path.clone(),
            reason: reason.to_owned(),
        })
    };
    let own = |item: &UploadItem| item.name.rsplit('/').next().unwrap_or_default().to_owned();
    let has = |names: &[&str]| items.iter().any(|item| names.contains(&own(item).as_str()));
    match config.repo_type {
        _ if items.is_empty() => wrong("there is no file to upload: check --include and --exclude"),
        RepoType::Model if config.path.is_dir() && !has(&MODEL) => wrong(
            "the folder holds no model and no adapter: name the folder of a run, or use --repo-type \
             dataset for replays and reports",
        ),
        RepoType::Space if config.path.is_dir() && !has(&["index.html"]) => wrong(
            "the folder holds no index.html: build the page with `cargo xtask demo --build-only` and \
             name its folder dist",
        ),
        _ => Ok(()),
    }
}

/// Adds the page that makes a repository a static Space, if the files have none.
fn add_readme(config: &UploadConfig, items: &mut Vec<UploadItem>) -> Result<(), HubError> {
    let is_root = prefix(&config.path_in_repo)?.is_empty();
    match items.iter().find(|item| item.name == README) {
        None if is_root && config.path.is_dir() => items.push(UploadItem {
            name: README.to_owned(),
            size: SPACE_README.len() as u64,
            source: Source::Text(SPACE_README),
        }),
        None => {}
        Some(readme) => {
            let text = readme.bytes()?;
            let text = String::from_utf8_lossy(&text);
            let header = text
                .strip_prefix("---")
                .and_then(|rest| rest.split_once("\n---"));
            let is_static = |line: &str| line.trim().replace([' ', '"'], "") == "sdk:static";
            if !header.is_some_and(|(header, _)| header.lines().any(is_static)) {
                return Err(HubError::WrongFolder {
                    path: config.path.join(README),
                    reason:
                        "its front matter does not say `sdk: static`: add it (docs/how-to/deploy-space.md), or \
                             remove the file, and one is made"
                            .to_owned(),
                });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_readme_has_the_front_matter_of_a_static_space() {
        let mut lines = SPACE_README.lines();
        assert_eq!(lines.next(), Some("---"));
        let front: Vec<&str> = lines.take_while(|line| *line != "---").collect();
        assert!(front.contains(&"sdk: static") && front.contains(&"app_file: index.html"));
    }

    #[test]
    fn checkpoint_files_are_recognized_as_resume_state() {
        for name in [
            "checkpoint.safetensors",
            "a/checkpoint-10/model.safetensors",
        ] {
            assert!(is_state(name), "{name}");
        }
        for name in [
            "model.safetensors",
            "checkpoint-x/a",
            "checkpoint-/a",
            "checkpoint-5",
        ] {
            assert!(!is_state(name), "{name}");
        }
    }

    #[test]
    fn lfs_is_used_by_extension_or_size() {
        let item = |name: &str, size| UploadItem {
            name: name.to_owned(),
            size,
            source: Source::Text(""),
        };
        for (name, size, is_large) in [
            ("model.safetensors", 1, true),
            ("pkg/web_bg.WASM", 1, true),
            ("runs/events.out.tfevents.1", 1, true),
            ("tokenizer.json", LFS_SIZE + 1, true),
            ("tokenizer.json", LFS_SIZE, false),
            ("empty.bin", 0, false),
        ] {
            assert_eq!(item(name, size).is_large(), is_large, "{name}");
        }
    }
}
