//! Files that the engine fetches from the page's host or that the visitor drops.

/// State of a file of the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Fetched<T> {
    /// The file was not needed so far.
    #[default]
    NotRequested,
    /// The file was requested and has not arrived.
    Loading,
    /// The file has arrived, with this content.
    Ready(T),
    /// The file could not be loaded, for this reason.
    Failed(String),
}

impl<T> Fetched<T> {
    /// Returns the content if the file has arrived.
    pub const fn ready(&self) -> Option<&T> {
        match self {
            Self::Ready(content) => Some(content),
            Self::NotRequested | Self::Loading | Self::Failed(_) => None,
        }
    }

    /// Returns `true` if the file has to be requested, also after a failure.
    pub const fn is_missing(&self) -> bool {
        matches!(self, Self::NotRequested | Self::Failed(_))
    }
}

/// Decodes a text file.
///
/// # Errors
/// Returns a sentence with the file's name if it is not UTF-8.
pub fn text(name: &str, bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|_| format!("{name} is not a text file"))
}

/// Returns the name of a file without its folders.
#[must_use]
pub fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
