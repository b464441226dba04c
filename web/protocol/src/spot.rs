//! The question of a world's first screen: several suspects, one of which is the answer.

use serde::{Deserialize, Serialize};

use crate::{PlayedEpisode, Tone};

/// The question that a world asks a visitor, with the words around it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpotInfo {
    /// Word for the suspect that is the answer, such as `the liar`.
    pub answer: String,
    /// Words at the lower and the upper end of the board's vertical axis.
    pub ends: [String; 2],
    /// Words in the part of the board above the level; empty if the level may fall.
    pub ahead: String,
    /// Names of the signs on the board: of good, bad and neutral evidence; empty if unused.
    pub signs: [String; 3],
    /// Meaning of an outlined sign; empty if none is outlined.
    pub checked: String,
    /// Sentence about where the suspicion of the network comes from, for the help of its card.
    pub source: String,
    /// Milliseconds for which a step is shown.
    pub step_ms: u32,
    /// `true` if the suspect that is the answer is drawn as an adversary at the end.
    pub has_adversary: bool,
    /// Episode that a first visit shows.
    pub episode: PlayedEpisode,
    /// Lowest of the seeds over which the mean score is computed.
    pub mean_seed: u64,
}

/// Something that a visitor can name as the answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Suspect {
    /// Name of the suspect.
    pub title: String,
    /// Public record so far in a few words, such as `2 of 3 right`.
    pub record: String,
}

/// A sign on the board: what an action showed about suspects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BoardSign {
    /// Suspects that it is about, one bit each.
    pub suspects: u8,
    /// Position on the vertical axis, `0..=1`.
    pub height: f32,
    /// Meaning of the sign's color.
    pub tone: Tone,
    /// `true` if the answer was checked before it was believed.
    pub is_checked: bool,
}

/// The hidden answer to the question, with the guess of the network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Index of the suspect that is the answer.
    pub suspect: u8,
    /// True nature of each suspect in a few words.
    pub truths: Vec<String>,
    /// One or two sentences about how it could have been known.
    pub text: String,
    /// Guess of the network; `None` if it did not watch, because its model is missing.
    pub guess: Option<Guess>,
}

/// The guess of the network at the end of an episode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Guess {
    /// Index of its likeliest suspect.
    pub suspect: u8,
    /// Number of the step from which on it was sure of this suspect, or of the last step.
    pub step: u32,
    /// Probability that it gives this suspect, `0..=1`.
    pub probability: f32,
    /// Sentences about the public evidence for this suspect up to the step, and about what the step
    /// changed.
    pub reason: String,
}
