//! Captions of a guided playback.

use serde::{Deserialize, Serialize};

/// Milliseconds that a reader needs for one character.
const CHARACTER_MS: u32 = 40;
/// Milliseconds that a moment is shown in addition to the time for reading it.
const MOMENT_MS: u32 = 800;

/// A caption of a frame, made from what may be shown without hidden state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caption {
    /// Name of the moment, such as `First failure`; empty for a step that a viewer may miss.
    pub moment: String,
    /// One line about the frame, such as `Step 17: verifies S4, whose answer is wrong.`
    pub text: String,
    /// Milliseconds that the frame is shown if it is not a moment.
    pub brief_ms: u32,
}

impl Caption {
    /// Returns the time in milliseconds for which a guided playback shows the frame. `truth` is its
    /// caption of the Truth layer; empty for none.
    #[must_use]
    pub fn duration_ms(&self, truth: &str) -> u32 {
        if self.moment.is_empty() && truth.is_empty() {
            return self.brief_ms;
        }
        let characters = self.text.chars().count() + truth.chars().count();
        u32::try_from(characters).map_or(u32::MAX, |count| MOMENT_MS + CHARACTER_MS * count)
    }
}
