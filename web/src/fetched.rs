//! A file that is fetched when it is first needed.

/// Where such a file stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Fetched<T> {
    /// Nobody needed it yet.
    #[default]
    Unasked,
    /// On its way.
    Loading,
    /// Here, and read.
    Ready(T),
    /// Could not be had or could not be read, and why.
    Failed(String),
}

impl<T> Fetched<T> {
    /// The content, once it is there.
    #[must_use]
    pub const fn ready(&self) -> Option<&T> {
        match self {
            Self::Ready(content) => Some(content),
            Self::Unasked | Self::Loading | Self::Failed(_) => None,
        }
    }

    /// Whether to fetch it when it is needed now. What failed once is asked for again.
    #[must_use]
    pub const fn missing(&self) -> bool {
        matches!(self, Self::Unasked | Self::Failed(_))
    }
}

impl<T> From<Result<T, String>> for Fetched<T> {
    fn from(result: Result<T, String>) -> Self {
        match result {
            Ok(content) => Self::Ready(content),
            Err(reason) => Self::Failed(reason),
        }
    }
}
