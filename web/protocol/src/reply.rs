//! Messages of an engine to the shell.

use serde::{Deserialize, Serialize};

use crate::{Chart, StepLine, WorldInfo};

/// A message of an engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// The world.
    World(Box<WorldInfo>),
    /// A part of an episode as the agent sees it.
    Run(Box<RunUpdate>),
    /// A part of an episode's hidden state.
    Truth(Box<TruthUpdate>),
    /// The answer to [`Request::Check`](crate::Request::Check): a warning, or nothing.
    Checked {
        /// Identifies the run.
        run: u32,
        /// The action.
        code: String,
        /// The action in words.
        label: String,
        /// What would go wrong; empty if nothing is known to.
        warning: String,
    },
    /// The results of a tournament so far.
    Standings(Standings),
    /// The curves of a training run.
    Curves(Curves),
    /// The replay files that can be played.
    Replays(Vec<ListedReplay>),
    /// A file that the engine needs, relative to the page. The answer is
    /// [`Request::File`](crate::Request::File).
    Need(String),
    /// A file that the visitor dropped has been read; the shell may play this episode.
    Opened(PlayedEpisode),
    /// A sentence about something that went wrong.
    Problem(String),
}

/// New frames of a run. Frame 0 is the moment before the first action.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunUpdate {
    /// Identifies the run.
    pub run: u32,
    /// The episode that is played, with the words that were understood.
    pub episode: PlayedEpisode,
    /// Index of the first frame in `frames`; all frames from here on are replaced.
    pub from: u32,
    /// Each an encoded [`AgentView`](crate::AgentView), so that the shell decodes only what it
    /// shows.
    pub frames: Vec<Vec<u8>>,
    /// The lines of the actions that lead to `frames`; one less if `from` is 0.
    pub steps: Vec<StepLine>,
    /// All charts of the run so far.
    pub charts: Vec<Chart>,
    /// Number and hash of the trajectory; empty before the end, since it depends on hidden state.
    pub digest: String,
    /// `true` if nothing more is to come.
    pub complete: bool,
    /// `true` if the episode has ended.
    pub done: bool,
    /// The reason why the visitor's next action was refused; empty if it was not.
    pub refused: String,
    /// A sentence about the replay or the model that plays; empty for neither.
    pub source_note: String,
    /// `true` if the note is a warning.
    pub source_warning: bool,
}

/// The hidden state of frames of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TruthUpdate {
    /// Identifies the run.
    pub run: u32,
    /// Index of the first frame.
    pub from: u32,
    /// Each an encoded [`Truth`](crate::Truth).
    pub frames: Vec<Vec<u8>>,
    /// The lines of the actions with the true results.
    pub steps: Vec<StepLine>,
    /// All charts of the run with their hidden values.
    pub charts: Vec<Chart>,
}

/// An episode in the words of the address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayedEpisode {
    /// The task.
    pub task: String,
    /// The seed.
    pub seed: u64,
    /// The stream mode.
    pub streams: String,
    /// The rules.
    pub rules: String,
    /// The player.
    pub player: String,
    /// The player's name in words.
    pub player_label: String,
}

/// The results of a tournament.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Standings {
    /// Identifies the tournament.
    pub run: u32,
    /// Episodes played.
    pub played: u32,
    /// Episodes in all.
    pub total: u32,
    /// The players, best mean first.
    pub placements: Vec<Placement>,
    /// Paired differences to the best player, in the order of `placements`, without the best.
    pub differences: Vec<Difference>,
}

/// A player in a tournament.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    /// The word in the address.
    pub player: String,
    /// The name.
    pub label: String,
    /// Mean score.
    pub mean: f64,
    /// Half the width of the 95 % interval of the mean; not a number below two episodes.
    pub half_width: f64,
    /// The episode with the lowest score, the first of equals; `None` before the first episode.
    pub worst: Option<EpisodeScore>,
    /// The episode with the highest score, the first of equals.
    pub best: Option<EpisodeScore>,
}

/// The score of one episode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EpisodeScore {
    /// Index into the tournament's tasks.
    pub task: u16,
    /// The seed.
    pub seed: u64,
    /// The score.
    pub score: f32,
}

/// A paired difference of two players.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The player that is compared with the best.
    pub player: String,
    /// Mean of its scores less those of the best on the same episodes.
    pub mean: f64,
    /// Half the width of the 95 % interval; not a number below two pairs.
    pub half_width: f64,
}

/// A replay file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ListedReplay {
    /// The name in the address, after `replay:`.
    pub name: String,
    /// What the file covers, in words.
    pub help: String,
    /// An episode that the file has, to play when it is chosen.
    pub first: PlayedEpisode,
}

/// The curves of a training run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curves {
    /// A sentence about the run.
    pub summary: String,
    /// The charts; their horizontal axis is the optimizer step.
    pub charts: Vec<Chart>,
}
