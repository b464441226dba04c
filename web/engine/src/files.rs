//! Files that come from beside the page or from the visitor.

/// A file of the page: not asked for yet, on its way, here, or not to be had.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Fetched<T> {
    /// Nobody needed it yet.
    #[default]
    Unasked,
    /// Asked for.
    Loading,
    /// Here.
    Ready(T),
    /// Not to be had, and why.
    Failed(String),
}

impl<T> Fetched<T> {
    /// Returns the content, if it is here.
    pub const fn ready(&self) -> Option<&T> {
        match self {
            Self::Ready(content) => Some(content),
            Self::Unasked | Self::Loading | Self::Failed(_) => None,
        }
    }

    /// Returns `true` if the file has to be asked for, also again after a failure.
    pub const fn is_missing(&self) -> bool {
        matches!(self, Self::Unasked | Self::Failed(_))
    }
}

/// Reads text.
///
/// # Errors
/// Returns a sentence with the file's name if it is not UTF-8.
pub fn text(name: &str, bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|_| format!("{name} is not text"))
}

/// Returns the name of a file without its folder.
#[must_use]
pub fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
