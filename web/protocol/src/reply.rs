//! Messages from an engine to the shell.

use serde::{Deserialize, Serialize};

use crate::{
    AnalysisUpdate, Answer, Chart, Evaluation, ExportedFile, ForeignFile, Panel, Records, StepLine,
    Tone, TrainingUpdate, WorldInfo,
};

/// A message from an engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// Description of the world; answers [`Request::Describe`](crate::Request::Describe).
    World(Box<WorldInfo>),
    /// New frames of an episode as the agent sees it.
    Run(Box<RunUpdate>),
    /// Hidden state of frames of an episode.
    Truth(Box<TruthUpdate>),
    /// Answer to the world's question; answers [`Request::Answer`](crate::Request::Answer) once the
    /// episode has ended, unless it does not pose the question.
    Answer {
        /// Number of the run that the answer belongs to.
        run: u32,
        /// Answer to the question, with the guess of the network.
        answer: Box<Answer>,
    },
    /// Words and warning for a draft action; answers [`Request::Check`](crate::Request::Check).
    Checked {
        /// Number of the run that the action belongs to.
        run: u32,
        /// Number of actions before it.
        at: u32,
        /// The checked action as the address writes it.
        code: String,
        /// The same action with the parts that the rules ask for and the draft leaves out, as the world
        /// suggests them; the checked one if nothing is missing.
        completed: String,
        /// The completed action in words; empty if the code is not an action.
        label: String,
        /// Sentence about what would go wrong with it; empty if nothing is known.
        warning: String,
    },
    /// The analysis of a run cannot be made, for the reason of a [`Reply::Problem`] before it.
    NoAnalysis {
        /// Number of the run.
        run: u32,
    },
    /// Replay files that can be played.
    Replays(Vec<ListedReplay>),
    /// Path of a file that the engine needs, relative to the page. The answer is
    /// [`Request::File`](crate::Request::File).
    Need(String),
    /// A sentence about something that went wrong.
    Problem(String),
    /// An encoded [`DeferredReply`]. The shell's first module passes it on without decoding it.
    Deferred(#[serde(with = "crate::bytes")] Vec<u8>),
}

/// A message to the deferred parts of the shell. It is an enum of its own, so that only the second
/// module of the shell contains its decoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum DeferredReply {
    /// Analysis of an episode from its public evidence; answers
    /// [`Request::Analyze`](crate::Request::Analyze), several times.
    Analysis(Box<AnalysisUpdate>),
    /// Analysis of an episode from its true hidden state; sent while the shell wants hidden state.
    TrueAnalysis(Box<AnalysisUpdate>),
    /// Results of a tournament so far.
    Standings(Standings),
    /// Results of a part of a tournament or an analysis, for the engine that gathers them; see
    /// [`Request::PartialResults`](crate::Request::PartialResults).
    PartialResults {
        /// Number of the tournament or of the analyzed run.
        run: u32,
        /// Results as the engine encoded them.
        #[serde(with = "crate::bytes")]
        results: Vec<u8>,
    },
    /// The player that a dropped file turned out to be, if it is one. It comes before [`DeferredReply::Opened`].
    FileHandled {
        /// Name of the world whose engine handled it.
        world: String,
        /// Name of the file as it was sent.
        name: String,
        /// The player that it is, as the address writes it; empty for a file that is none.
        player: String,
    },
    /// Episode to open after the visitor dropped a file. Without a task only the player changes.
    Opened(PlayedEpisode),
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
    /// A sentence about a file that the visitor dropped and that was read.
    FileRead(String),
    /// A sentence about a file that could not be read or written.
    FileProblem(String),
    /// Results of an evaluation file that the visitor dropped.
    Evaluation(Evaluation),
    /// A dropped file that the engine of another world has to read.
    Foreign(ForeignFile),
    /// A file to save; answers [`Request::Export`](crate::Request::Export).
    Exported(ExportedFile),
    /// State of a training run; answers [`LearnerRequest::Train`](crate::LearnerRequest::Train), after every update and
    /// evaluation.
    Training(Box<TrainingUpdate>),
    /// A part of the episodes for an engine that helps; see
    /// [`LearnerRequest::PlayPart`](crate::LearnerRequest::PlayPart).
    Part {
        /// Number of the run.
        run: u32,
        /// Number of the engine that shall play it, from 0 on.
        helper: u8,
        /// The part as the engine that trains encoded it.
        #[serde(with = "crate::bytes")]
        part: Vec<u8>,
    },
    /// The episodes of a part.
    PartPlayed {
        /// Number of the run.
        run: u32,
        /// Episodes as the engine encoded them.
        #[serde(with = "crate::bytes")]
        episodes: Vec<u8>,
    },
    /// State from which the run can be continued, after an evaluation.
    TrainingCheckpoint {
        /// Number of the run.
        run: u32,
        /// State as the engine encoded it.
        #[serde(with = "crate::bytes")]
        state: Vec<u8>,
    },
    /// Newest policy of a training run; answers [`LearnerRequest::TakeModel`](crate::LearnerRequest::TakeModel).
    TrainedModel {
        /// Number of the run.
        run: u32,
        /// Content of the file `model.safetensors` with the policy.
        #[serde(with = "crate::bytes")]
        content: Vec<u8>,
    },
}

impl From<DeferredReply> for Reply {
    fn from(reply: DeferredReply) -> Self {
        // Encoding fails only for sequences of unknown length, which no reply has.
        Self::Deferred(crate::encode(&reply).unwrap_or_default())
    }
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
    /// Sentence about a loophole that the rules leave open; empty if there is none.
    pub loophole: String,
    /// Sentence about the replay or the model that plays; empty if there is none.
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
    /// Number of episodes that are settled: played, or left out.
    pub played: u32,
    /// Number of episodes of the whole tournament, over all players.
    pub total: u32,
    /// Number of episodes that were left out, because a replay does not hold them.
    pub left_out: u32,
    /// Player with which the others are compared.
    pub reference: String,
    /// Lowest and highest score of the histograms.
    pub score_range: [f64; 2],
    /// Lowest and highest difference of the histograms.
    pub difference_range: [f64; 2],
    /// Players, the best mean first.
    pub placements: Vec<Placement>,
    /// Paired differences to the reference, in the order of `placements` without the reference.
    pub differences: Vec<Difference>,
}

/// Results of one player in a tournament.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    /// The player as the address writes it.
    pub player: String,
    /// Readable name of the player.
    pub label: String,
    /// Number of its episodes that have a score.
    pub scored: u32,
    /// Sentence about episodes that were left out, or a file that is missing; empty for none.
    pub note: String,
    /// Mean score of the player's episodes, with tasks of equal weight.
    pub mean: f64,
    /// Half the width of the 95 % interval of the mean; NaN without episodes.
    pub half_width: f64,
    /// Numbers of episodes with scores in equal parts of the range.
    pub histogram: Vec<u32>,
    /// Episodes with the lowest scores, the lowest first, and the first of equals first.
    pub worst: Vec<EpisodeScore>,
    /// Episodes with the highest scores, the highest first, and the first of equals first.
    pub best: Vec<EpisodeScore>,
}

/// Score of one episode of a tournament.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EpisodeScore {
    /// Index into the tournament's tasks.
    pub task: u16,
    /// Seed of the episode.
    pub seed: u64,
    /// Final score, rounded to four decimals; or a difference of two such scores.
    pub score: f32,
}

/// Paired differences between a player and the reference, over the episodes that both played.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The compared player as the address writes it.
    pub player: String,
    /// Mean of its scores minus those of the reference on the same episodes.
    pub mean: f64,
    /// Half the width of the 95 % interval; NaN if a task has one pair.
    pub half_width: f64,
    /// Verdict in a word: better, worse, undecided or same.
    pub verdict: String,
    /// Meaning of the verdict.
    pub tone: Tone,
    /// Numbers of pairs with a higher, an equal and a lower score than the reference.
    pub pairs: [u32; 3],
    /// Numbers of pairs with differences in equal parts of the range.
    pub histogram: Vec<u32>,
    /// Episodes in which the player is farthest ahead, with the difference.
    pub ahead: Vec<EpisodeScore>,
    /// Episodes in which the player is farthest behind, with the difference.
    pub behind: Vec<EpisodeScore>,
}

/// A replay file that the menu offers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ListedReplay {
    /// Name that follows `replay:` in the address.
    pub name: String,
    /// Policy, stream mode and rules of the file, in words.
    pub help: String,
    /// Episode of the file that is played when the replay is chosen. Its player's label names the file
    /// in menus.
    pub first: PlayedEpisode,
}
