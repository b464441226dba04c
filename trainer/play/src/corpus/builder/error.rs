//! The failures of a build, and those of one network source.

use std::path::PathBuf;

use sentinel_base::Error;
use sentinel_http::HttpError;

use super::SourceName;

/// The reason why a corpus was not built. Nothing was written then.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// An option, a file or a world.
    #[error(transparent)]
    Corpus(#[from] Error),
    /// No source was chosen.
    #[error(
        "choose at least one source: --with-local, --with-synthetic, --with-hf or --with-ddi-api"
    )]
    NoSource,
    /// A network source failed.
    #[error(
        "source {name}: {error}; leave the source out, or build without it by \
             --skip-failed-sources"
    )]
    Source {
        /// The source that failed.
        name: SourceName,
        /// The failure of the source.
        #[source]
        error: SourceError,
    },
    /// No row is left.
    #[error("no row is left for {}: {reason}; choose another source", path.display())]
    Empty {
        /// The file that would be empty.
        path: PathBuf,
        /// The reason of each source for giving no row.
        reason: String,
    },
    /// The output folder holds a corpus.
    #[error("{} holds a corpus: overwrite it with --overwrite-output-dir, or name another folder", .0.display())]
    CorpusExists(PathBuf),
    /// The output folder holds other files.
    #[error("{} is not an empty folder, and holds no corpus: name another folder", .0.display())]
    NotEmpty(PathBuf),
    /// The user stopped the build.
    #[error("interrupted; nothing was written")]
    Interrupted,
}

/// The reason why a network source has no rows.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The server did not give a usable answer.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The dataset cannot be read by this user.
    #[error(
        "{error}; check the dataset's name, and set HF_TOKEN if the dataset is private or gated"
    )]
    Access {
        /// The answer of the server.
        error: HttpError,
    },
    /// The data is of another form.
    #[error("{url}: {reason}")]
    Schema {
        /// The address without its query, or the dataset.
        url: String,
        /// The form found, and those expected.
        reason: String,
    },
    /// The source states no license.
    #[error("{url} states no license: name it with --license {name}=ID, if you know it")]
    License {
        /// The address without its query, or the dataset.
        url: String,
        /// The source that needs a license.
        name: SourceName,
    },
    /// The source has no rows.
    #[error("{url} has no rows")]
    NoRows {
        /// The address without its query, or the dataset.
        url: String,
    },
    /// The network may not be used.
    #[error("HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE forbids network access: unset it")]
    Offline,
    /// The API and the document in its place failed.
    #[error("{api}; the document in its place failed too: {document}")]
    Both {
        /// The failure of the API.
        api: Box<SourceError>,
        /// The failure of the document.
        document: Box<SourceError>,
    },
}

impl SourceError {
    /// Returns `true` if the user stopped the program.
    pub(super) fn is_interrupted(&self) -> bool {
        match self {
            Self::Http(HttpError::Interrupted) => true,
            Self::Both { document, .. } => document.is_interrupted(),
            _ => false,
        }
    }

    pub(super) fn schema(url: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Schema {
            url: url.into(),
            reason: reason.into(),
        }
    }
}
