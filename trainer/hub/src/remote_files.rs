//! The files of a repository at one commit, and their digests.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use sentinel_base::{Error, files};
use sentinel_http::Request;
use serde::Deserialize;
use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::{HubClient, HubError, Repo};

/// A file on the Hub.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct RemoteFile {
    /// The kind of entry: `file` or `directory`.
    #[serde(rename = "type")]
    kind: String,
    /// The name in the repository.
    pub(super) path: String,
    /// The size in bytes; 0 for a folder.
    #[serde(default)]
    pub(super) size: u64,
    /// The SHA-1 of git's object.
    #[serde(default)]
    oid: String,
    /// The SHA-256, if the file is in git LFS.
    lfs: Option<Lfs>,
}

#[derive(Clone, Debug, Deserialize)]
struct Lfs {
    oid: String,
}

/// The commit of a branch, tag or commit.
#[derive(Debug, Deserialize)]
struct Revision {
    sha: String,
}

/// Returns the commit that a branch, tag or commit of a repository stands for.
pub(super) fn resolve_commit(
    client: &HubClient,
    repo: &Repo,
    revision: &str,
) -> Result<String, HubError> {
    let url = repo.api_url(client.endpoint(), &["revision", revision])?;
    let found: Revision = client.get_json(&format!("{repo} at {revision}"), &url)?;
    Ok(found.sha)
}

/// Lists the files of a repository.
pub(super) fn list_files(
    client: &HubClient,
    repo: &Repo,
    revision: &str,
) -> Result<Vec<RemoteFile>, HubError> {
    let url = repo.api_url(client.endpoint(), &["tree", revision])?;
    let first = Request::get(&url)?.query(&[("recursive", "true"), ("expand", "false")]);
    let mut entries: Vec<RemoteFile> =
        client.list_pages(&format!("{repo} at {revision}"), first)?;
    entries.retain(|entry| entry.kind == "file");
    Ok(entries)
}

impl RemoteFile {
    /// Returns `true` if the name stays inside of a folder on every system.
    pub(super) fn has_safe_name(&self) -> bool {
        let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        !self.path.contains(['\\', ':', '\0']) && self.path.split('/').all(is_plain)
    }

    /// Checks the digest of a downloaded file.
    pub(super) fn verify(&self, repo: &Repo, path: &Path) -> Result<(), HubError> {
        let (found, expected) = match &self.lfs {
            Some(lfs) => (sha256(path)?, &lfs.oid),
            None => (git_oid(path)?, &self.oid),
        };
        if found == *expected {
            return Ok(());
        }
        Err(HubError::Digest {
            what: repo.to_string(),
            name: self.path.clone(),
            found,
            expected: expected.clone(),
        })
    }
}

/// Returns the SHA-256 of a file in hexadecimal digits.
pub(super) fn sha256(path: &Path) -> Result<String, HubError> {
    digest(path, Sha256::new())
}

/// Returns the SHA-1 that git has of a file's content.
pub(super) fn git_oid(path: &Path) -> Result<String, HubError> {
    let size = path.metadata().map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    digest(path, Sha1::new_with_prefix(git_header(size.len())))
}

/// Returns the SHA-1 that git has of this content.
pub(super) fn git_oid_of(content: &[u8]) -> String {
    let header = git_header(content.len() as u64);
    files::hex(
        &Sha1::new_with_prefix(header)
            .chain_update(content)
            .finalize(),
    )
}

fn git_header(size: u64) -> String {
    format!("blob {size}\0")
}

fn digest(path: &Path, mut hash: impl Digest) -> Result<String, HubError> {
    let failed = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let mut file = File::open(path).map_err(failed)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer).map_err(failed)? {
            0 => return Ok(files::hex(&hash.finalize())),
            count => hash.update(buffer.get(..count).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blob_oid_matches_git_hash_object() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a");
        std::fs::write(&path, "hello\n")?;
        // `printf 'hello\n' | git hash-object --stdin`
        let expected = "ce013625030ba8dba906f756967f9e9ca394464a";
        assert_eq!(git_oid(&path)?, expected);
        assert_eq!(git_oid_of(b"hello\n"), expected);
        Ok(())
    }

    #[test]
    fn file_names_outside_folder_are_unsafe() {
        let file = |path: &str| RemoteFile {
            kind: "file".to_owned(),
            path: path.to_owned(),
            size: 0,
            oid: String::new(),
            lfs: None,
        };
        for path in ["a", "a/b.json", ".gitattributes", "a..b"] {
            assert!(file(path).has_safe_name(), "{path}");
        }
        for path in [
            "",
            "/a",
            "../a",
            "a/../../b",
            "a//b",
            "a/./b",
            "a\\b",
            "C:a",
            "a/",
        ] {
            assert!(!file(path).has_safe_name(), "{path}");
        }
    }
}
