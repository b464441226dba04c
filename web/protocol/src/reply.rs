//! Messages from an engine to the shell.

use serde::{Deserialize, Serialize};

use crate::{AnalysisUpdate, Chart, Panel, Records, StepLine, WorldInfo};

/// A message from an engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// Description of the world; answers [`Request::Describe`](crate::Request::Describe).
    World(Box<WorldInfo>),
    /// New frames of an episode as the agent sees it.
    Run(Box<RunUpdate>),
    /// Hidden state of frames of an episode.
    Truth(Box<TruthUpdate>),
    /// Analysis of an episode from its public evidence; answers
    /// [`Request::Analyze`](crate::Request::Analyze), several times.
    Analysis(Box<AnalysisUpdate>),
    /// Analysis of an episode from its true hidden state; sent while the shell wants hidden state.
    TrueAnalysis(Box<AnalysisUpdate>),
    /// Words and warning for a draft action; answers [`Request::Check`](crate::Request::Check).
    Checked {
        /// Number of the run that the action belongs to.
        run: u32,
        /// The checked action as the address writes it.
        code: String,
        /// The action in words; empty if the code is not an action.
        label: String,
        /// Sentence about what would go wrong; empty if nothing is known.
        warning: String,
    },
    /// Results of a tournament so far.
    Standings(Standings),
    /// Replay files that can be played.
    Replays(Vec<ListedReplay>),
    /// Path of a file that the engine needs, relative to the page. The answer is
    /// [`Request::File`](crate::Request::File).
    Need(String),
    /// Episode to open after the visitor dropped a file; empty words mean the defaults.
    Opened(PlayedEpisode),
    /// A sentence about something that went wrong.
    Problem(String),
    /// A training log that the visitor dropped; the shell passes it on to the engine that reads
    /// logs.
    TrainingLog {
        /// File name of the log.
        name: String,
        /// Content of the log.
        text: String,
    },
    /// Name in the address of a training run whose log the visitor dropped.
    RunAdded(String),
    /// Content of a screen; answers [`Request::Training`](crate::Request::Training) and
    /// [`Request::Results`](crate::Request::Results) once the files are here.
    Records(Box<Records>),
    /// Scores of the checkpoints on one episode; answers
    /// [`Request::Checkpoints`](crate::Request::Checkpoints) once the models are here.
    Checkpoints(Box<Panel>),
}

/// New frames of a run. Frame 0 is the state before the first action.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunUpdate {
    /// Number that the shell gave the run.
    pub run: u32,
    /// The episode that is played, with the words that the engine understood.
    pub episode: PlayedEpisode,
    /// Index of the first frame in `frames`; the shell replaces all frames from there on.
    pub from: u32,
    /// Encoded [`AgentView`](crate::AgentView)s, so that the shell decodes only the one that it
    /// shows.
    pub frames: Vec<Vec<u8>>,
    /// Lines of the actions that lead to `frames`; one fewer than frames if `from` is 0.
    pub steps: Vec<StepLine>,
    /// All charts of the run so far.
    pub charts: Vec<Chart>,
    /// Number of actions and hash of the trajectory; empty before the end, since the hash depends
    /// on hidden state.
    pub digest: String,
    /// `true` if no more frames follow.
    pub complete: bool,
    /// `true` if the episode has ended.
    pub done: bool,
    /// Reason why the visitor's last action was refused; empty if it was not.
    pub refused: String,
    /// Sentence about the replay or the model that plays; empty for other players.
    pub source_note: String,
    /// `true` if `source_note` is a warning.
    pub source_warning: bool,
}

/// Hidden state of frames of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TruthUpdate {
    /// Number that the shell gave the run.
    pub run: u32,
    /// Index of the first frame in `frames`; the shell replaces all frames from there on.
    pub from: u32,
    /// Encoded [`Truth`](crate::Truth)s, in the order of the frames.
    pub frames: Vec<Vec<u8>>,
    /// Lines of the actions with their true results.
    pub steps: Vec<StepLine>,
    /// All charts of the run, with hidden values.
    pub charts: Vec<Chart>,
}

/// An episode and its player, in the words that the address uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayedEpisode {
    /// Name of the task.
    pub task: String,
    /// Seed of the episode, at most 2^63 − 1.
    pub seed: u64,
    /// Name of the stream mode.
    pub streams: String,
    /// Named rule set with single changes, such as `hardened-completion`.
    pub rules: String,
    /// The player as the address writes it.
    pub player: String,
    /// Readable name of the player.
    pub player_label: String,
}

/// Results of a tournament.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Standings {
    /// Number that the shell gave the tournament.
    pub run: u32,
    /// Number of episodes played so far.
    pub played: u32,
    /// Number of episodes of the whole tournament.
    pub total: u32,
    /// Players, the best mean first.
    pub placements: Vec<Placement>,
    /// Paired differences to the best player, in the order of `placements` without the best.
    pub differences: Vec<Difference>,
}

/// Results of one player in a tournament.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    /// The player as the address writes it.
    pub player: String,
    /// Readable name of the player.
    pub label: String,
    /// Mean score of the player's episodes.
    pub mean: f64,
    /// Half the width of the 95 % interval of the mean; NaN with fewer than two episodes.
    pub half_width: f64,
    /// Episode with the lowest score, the first of equals; `None` before the first episode.
    pub worst: Option<EpisodeScore>,
    /// Episode with the highest score, the first of equals; `None` before the first episode.
    pub best: Option<EpisodeScore>,
}

/// Score of one episode of a tournament.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EpisodeScore {
    /// Index into the tournament's tasks.
    pub task: u16,
    /// Seed of the episode.
    pub seed: u64,
    /// Final score, rounded to four decimals.
    pub score: f32,
}

/// Paired difference between a player and the best one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The compared player as the address writes it.
    pub player: String,
    /// Mean of its scores minus those of the best player on the same episodes.
    pub mean: f64,
    /// Half the width of the 95 % interval; NaN with fewer than two pairs.
    pub half_width: f64,
}

/// A replay file that the menu offers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ListedReplay {
    /// Name that follows `replay:` in the address.
    pub name: String,
    /// Policy, stream mode and rules of the file, in words.
    pub help: String,
    /// Episode of the file that is played when the replay is chosen.
    pub first: PlayedEpisode,
}
