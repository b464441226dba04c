//! The failures of the commands of the Hub, and the fallback marks that they list.

use std::fmt;
use std::path::PathBuf;

use sentinel_http::HttpError;

/// The number of marks that a message lists.
const MARKS_SHOWN: usize = 3;

/// The reason why a command of the Hub stopped.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// A file of this machine cannot be read or written.
    #[error(transparent)]
    File(#[from] sentinel_base::Error),
    /// A request failed in another way than those below.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// There is no token.
    #[error("{action} needs a token: put one in HF_TOKEN, or log in with `hf auth login`")]
    NoToken {
        /// The action that needs it.
        action: &'static str,
    },
    /// Network access is forbidden.
    #[error("HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set: unset it, or use --dry-run")]
    Offline,
    /// The Hub does not know the token, or asks for one.
    #[error(
        "the Hub refused the token (401): {detail}; check that the token is valid and that {what} exists"
    )]
    TokenRefused {
        /// The object of the request.
        what: String,
        /// The message of the failed request.
        detail: String,
    },
    /// The Hub asks for a token.
    #[error(
        "{what} does not exist or is private (401): {detail}; for a private one, put a token in HF_TOKEN, or log in with `hf auth login`"
    )]
    TokenNeeded {
        /// The object of the request.
        what: String,
        /// The message of the failed request.
        detail: String,
    },
    /// The token lacks a permission.
    #[error(
        "the token has no permission for {what} (403): {detail}; use a token that may write to it"
    )]
    Forbidden {
        /// The object of the request.
        what: String,
        /// The message of the failed request.
        detail: String,
    },
    /// The account has to pay first.
    #[error("the account cannot pay for {what} (402): {detail}")]
    Payment {
        /// The object of the request.
        what: String,
        /// The message of the failed request.
        detail: String,
    },
    /// The Hub does not have the repository, revision or file.
    #[error("{what} is not on the Hub (404): {detail}; check the name, --repo-type and --revision")]
    NotFound {
        /// The object of the request.
        what: String,
        /// The message of the failed request.
        detail: String,
    },
    /// The Hub limits the number of requests.
    #[error("the Hub limits the number of requests (429): {detail}; run the command again later")]
    RateLimited {
        /// The message of the failed request.
        detail: String,
    },
    /// The Hub cannot be reached, or does not answer in time.
    #[error("the Hub at {endpoint} cannot be reached: {detail}; check the network and HF_ENDPOINT")]
    Unreachable {
        /// The address of the Hub.
        endpoint: String,
        /// The message of the failed request.
        detail: String,
    },
    /// The repository name is invalid.
    #[error("{0:?} is not the name of a repository: write owner/name")]
    RepoName(String),
    /// A pattern cannot be used.
    #[error("{0:?} is not a pattern of file names: use * and ?, such as \"*.json\"")]
    Pattern(String),
    /// An option has an invalid value.
    #[error("invalid value for {option}: {reason}")]
    Argument {
        /// The name of the option.
        option: &'static str,
        /// The fault and the allowed values.
        reason: String,
    },
    /// A job cannot be submitted yet.
    #[error("the job cannot run: {}", .0.join("; "))]
    Incomplete(Vec<String>),
    /// The files to upload are not what the kind of repository holds.
    #[error("{}: {reason}", path.display())]
    WrongFolder {
        /// The path of the folder or file.
        path: PathBuf,
        /// The fault and its remedy.
        reason: String,
    },
    /// A file to upload contains the token.
    #[error("{} contains the token: remove it from the file, and revoke the token if others have read it", .0.display())]
    HoldsToken(PathBuf),
    /// Some file to upload or to keep depends on a fallback.
    #[error(
        "{place} depends on a fallback and is refused without --allow-fallback: {}",
        shown(marks)
    )]
    Fallback {
        /// The folder or repository.
        place: String,
        /// The marks that were found.
        marks: Vec<FallbackMark>,
    },
    /// A file on the Hub would be written outside the folder.
    #[error("{what} has a file with the unsafe name {name:?}: nothing was kept")]
    UnsafeName {
        /// The name of the repository.
        what: String,
        /// The name of the file.
        name: String,
    },
    /// A downloaded file is not the one that the Hub lists.
    #[error(
        "{what}: {name} has the digest {found}, and the Hub lists {expected}: nothing was kept, run the command again"
    )]
    Digest {
        /// The name of the repository.
        what: String,
        /// The name of the file.
        name: String,
        /// The digest of the download.
        found: String,
        /// The digest that the Hub lists.
        expected: String,
    },
    /// A repository has no file that was asked for.
    #[error("{0} has no such file: check --include, --exclude and --revision")]
    NoFiles(String),
    /// The output folder is in use.
    #[error("{} is not an empty folder: name another one with --out, or remove it", .0.display())]
    Occupied(PathBuf),
}

/// Turns the answer of a progress callback into the error of a program that was asked to stop.
pub(crate) fn go_on(goes_on: bool) -> Result<(), HubError> {
    if goes_on {
        Ok(())
    } else {
        Err(HubError::Http(HttpError::Interrupted))
    }
}

/// A fallback mark in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FallbackMark {
    /// The name of the file.
    pub file: String,
    /// The text of the mark.
    pub what: String,
}

impl fmt::Display for FallbackMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.what)
    }
}

/// Describes the first marks.
fn shown(marks: &[FallbackMark]) -> String {
    let mut lines: Vec<String> = marks
        .iter()
        .take(MARKS_SHOWN)
        .map(FallbackMark::to_string)
        .collect();
    if marks.len() > MARKS_SHOWN {
        lines.push(format!("{} more", marks.len() - MARKS_SHOWN));
    }
    lines.join("; ")
}
