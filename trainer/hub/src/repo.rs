//! A repository of the Hub, and its addresses.

use std::fmt;
use std::str::FromStr;

use sentinel_http::{HttpError, without_secrets};
use url::Url;

use super::HubError;

/// The kind of a repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum RepoType {
    /// Weights, an adapter, or a whole run
    #[default]
    Model,
    /// Replays, reports and other files
    Dataset,
    /// The page, as a static Space
    Space,
}

impl RepoType {
    /// Returns the name of the kind in requests.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Dataset => "dataset",
            Self::Space => "space",
        }
    }

    /// Returns the segment of the interface's addresses.
    const fn plural(self) -> &'static str {
        match self {
            Self::Model => "models",
            Self::Dataset => "datasets",
            Self::Space => "spaces",
        }
    }
}

/// A repository: kind and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repo {
    /// The kind of the repository.
    pub kind: RepoType,
    /// The name with its owner, such as `owner/name`.
    id: String,
}

impl Repo {
    /// Returns the repository `owner/name`.
    ///
    /// # Errors
    /// Returns an error if `id` is not such a name.
    pub fn new(kind: RepoType, id: &str) -> Result<Self, HubError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let is_name = |part: &str| {
            let is_plain = !part.is_empty() && part.chars().all(plain);
            is_plain && !part.starts_with(['.', '-']) && !part.contains("..")
        };
        let is_valid = id.split('/').count() == 2 && id.split('/').all(is_name);
        if is_valid {
            let id = id.to_owned();
            Ok(Self { kind, id })
        } else {
            Err(HubError::RepoName(id.to_owned()))
        }
    }

    /// Returns the name with its owner.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns owner and name.
    pub(super) fn owner_and_name(&self) -> (&str, &str) {
        self.id.split_once('/').unwrap_or(("", &self.id))
    }

    /// Returns an address of the interface: `/api/models/owner/name` and what follows.
    pub(super) fn api_url(&self, endpoint: &str, rest: &[&str]) -> Result<String, HubError> {
        let (owner, name) = self.owner_and_name();
        let start = ["api", self.kind.plural(), owner, name];
        hub_url(endpoint, start.iter().chain(rest).copied())
    }

    /// Returns an address of the repository's files: `/owner/name` and what follows; datasets and
    /// spaces have their kind before it.
    pub(super) fn file_url(&self, endpoint: &str, rest: &[&str]) -> Result<String, HubError> {
        let (owner, name) = self.owner_and_name();
        let kind = Some(self.kind.plural()).filter(|_| self.kind != RepoType::Model);
        let start = kind.into_iter().chain([owner, name]);
        hub_url(endpoint, start.chain(rest.iter().copied()))
    }

    /// Returns the address of git LFS.
    pub(super) fn lfs_url(&self, endpoint: &str) -> Result<String, HubError> {
        Ok(self.file_url(endpoint, &[])? + ".git/info/lfs/objects/batch")
    }
}

impl fmt::Display for Repo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.name(), self.id)
    }
}

impl FromStr for Repo {
    type Err = HubError;

    fn from_str(id: &str) -> Result<Self, HubError> {
        Self::new(RepoType::Model, id)
    }
}

/// Returns an address of the Hub with segments that are escaped, slashes included.
pub(super) fn hub_url<'a>(
    endpoint: &str,
    segments: impl Iterator<Item = &'a str>,
) -> Result<String, HubError> {
    let refused = |reason: String| HttpError::Endpoint {
        url: without_secrets(endpoint).to_owned(),
        reason,
    };
    let mut url = Url::parse(endpoint).map_err(|error| refused(error.to_string()))?;
    url.path_segments_mut()
        .map_err(|()| refused("it is not the address of a server".to_owned()))?
        .pop_if_empty()
        .extend(segments);
    Ok(url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Tested = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn repo_urls_match_hub_layout() -> Tested {
        let hub = "https://hub.test/proxy/";
        let model = Repo::new(RepoType::Model, "me/tiny-0.5b")?;
        let space = Repo::new(RepoType::Space, "me/page")?;
        let pairs = [
            (
                model.api_url(hub, &["tree", "a/b"])?,
                "api/models/me/tiny-0.5b/tree/a%2Fb",
            ),
            (space.api_url(hub, &[])?, "api/spaces/me/page"),
            (
                model.file_url(hub, &["resolve", "main", "a b", "c%#?"])?,
                "me/tiny-0.5b/resolve/main/a%20b/c%25%23%3F",
            ),
            (
                space.lfs_url(hub)?,
                "spaces/me/page.git/info/lfs/objects/batch",
            ),
        ];
        for (found, expected) in pairs {
            assert_eq!(found, format!("{hub}{expected}"));
        }
        Ok(())
    }

    #[test]
    fn invalid_repo_ids_are_refused() {
        for id in [
            "", "me", "a/b/c", "../b", "a/..", "a/", "a b/c", "a/b?c", "-a/b", "a/b..c",
        ] {
            assert!(Repo::new(RepoType::Model, id).is_err(), "{id}");
        }
    }
}
