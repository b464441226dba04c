//! What is worth pointing at in an episode.

/// How one action turned out, as far as the viewer may know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// A sign that does not rely on color.
    pub sign: &'static str,
    /// The word.
    pub word: &'static str,
    /// Name of the style class.
    pub class: &'static str,
    /// Whether a viewer may want to jump here.
    pub notable: bool,
}

impl Mark {
    /// A mark that a viewer passes over.
    #[must_use]
    pub const fn plain(sign: &'static str, word: &'static str, class: &'static str) -> Self {
        Self {
            sign,
            word,
            class,
            notable: false,
        }
    }

    /// A mark that a viewer may want to jump to.
    #[must_use]
    pub const fn notable(sign: &'static str, word: &'static str, class: &'static str) -> Self {
        Self {
            sign,
            word,
            class,
            notable: true,
        }
    }
}
