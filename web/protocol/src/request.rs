//! Messages from the shell to an engine.

use serde::{Deserialize, Serialize};

use crate::Export;

/// An episode in the words of the address. An unknown word is answered with
/// [`Reply::Problem`](crate::Reply::Problem), and the default takes its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpisodeRef {
    /// Name of the task; empty for the default.
    pub task: String,
    /// Seed of the episode; values above 2^63 − 1 are clamped.
    pub seed: u64,
    /// Name of the stream mode; empty for the default.
    pub streams: String,
    /// Named rule set with single changes; empty for the hardened rules.
    pub rules: String,
}

/// The visitor's own actions, which replace the player's from some step on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// Number of actions that the player takes first.
    pub at: u32,
    /// The visitor's actions as the address writes them, without separators.
    pub actions: String,
    /// `true` if the player continues after them.
    pub resume: bool,
}

/// A tournament: every player plays the same episodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TournamentSpec {
    /// Names of the tasks.
    pub tasks: Vec<String>,
    /// Players as the address writes them.
    pub players: Vec<String>,
    /// Lowest seed; the others follow it without a gap.
    pub first_seed: u64,
    /// Number of seeds of each task.
    pub seeds: u32,
    /// Name of the stream mode; empty for the default.
    pub streams: String,
    /// Named rule set with single changes; empty for the hardened rules.
    pub rules: String,
    /// Player with which the others are compared; empty for the best one.
    pub reference: String,
    /// Number of this engine among those that share the episodes, from 0; engine 0 gathers the
    /// scores.
    pub part: u32,
    /// Number of engines that share the episodes; 0 means 1.
    pub parts: u32,
}

/// A message to an engine. `run` is a number that the shell chooses; a later message with the same
/// number replaces the earlier run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Asks for a description of the world, [`Reply::World`](crate::Reply::World).
    Describe,
    /// Plays an episode to its end, or to the point where the visitor has to act.
    Play {
        /// Number under which the engine reports the run.
        run: u32,
        /// The episode to play.
        episode: EpisodeRef,
        /// The player: a policy, `grpo`, `replay:NAME` or `you`; empty for the default.
        player: String,
        /// The visitor's own actions, if any.
        branch: Option<Branch>,
        /// `true` if the trained policy watches and says whom it suspects.
        watched: bool,
    },
    /// Starts or stops sending the hidden state of a run.
    ShowTruth {
        /// Number of the run.
        run: u32,
        /// `true` to send it.
        show: bool,
    },
    /// Asks for the answer to the world's question about a run,
    /// [`Reply::Answer`](crate::Reply::Answer), which comes at the end of the episode and again if the
    /// model that watches arrives later.
    Answer {
        /// Number of the run.
        run: u32,
    },
    /// Starts the analysis of a run, or ends it.
    Analyze {
        /// Number of the run.
        run: u32,
        /// `true` to start it.
        start: bool,
        /// Number of this engine among those that divide the steps, from 0; engine 0 gathers the
        /// results.
        part: u32,
        /// Number of engines that divide the steps; 0 means 1.
        parts: u32,
    },
    /// Asks what would go wrong with a draft action; answered by
    /// [`Reply::Checked`](crate::Reply::Checked).
    Check {
        /// Number of the run that the action would belong to.
        run: u32,
        /// Number of actions before it.
        at: u32,
        /// The action as the address writes it.
        code: String,
    },
    /// Starts a tournament in place of the previous one.
    Tournament {
        /// Number under which the engine reports the standings.
        run: u32,
        /// Players, tasks and seeds.
        spec: TournamentSpec,
    },
    /// Pauses or continues a tournament.
    Pause {
        /// Number of the tournament.
        run: u32,
        /// `true` to pause, `false` to continue.
        paused: bool,
    },
    /// Delivers results of another engine that works on a part of the tournament or analysis, from
    /// [`DeferredReply::PartialResults`](crate::DeferredReply::PartialResults).
    PartialResults {
        /// Number of the tournament or of the analyzed run.
        run: u32,
        /// Results as the other engine encoded them.
        #[serde(with = "crate::bytes")]
        results: Vec<u8>,
    },
    /// Changes the player with which the others are compared.
    Reference {
        /// Number of the tournament.
        run: u32,
        /// Player as the address writes it; empty for the best one.
        player: String,
    },
    /// Ends the work for a run or a tournament. The results of a tournament stay.
    Stop {
        /// Number of the run or tournament.
        run: u32,
    },
    /// Delivers a file that the visitor dropped or that the engine asked for.
    File {
        /// File name if the visitor dropped it, otherwise the path that the engine asked for.
        name: String,
        /// Content in bytes, or a sentence that says why it is missing.
        #[serde(with = "crate::bytes::content")]
        content: Result<Vec<u8>, String>,
        /// `true` if the visitor dropped it.
        dropped: bool,
    },
    /// Delivers a file that the visitor dropped earlier, without an answer: another engine has
    /// already answered.
    Lend {
        /// Name of the file.
        name: String,
        /// Content of the file in bytes.
        #[serde(with = "crate::bytes")]
        content: Vec<u8>,
    },
    /// Asks for the curves of training runs side by side,
    /// [`DeferredReply::Records`](crate::DeferredReply::Records).
    Training {
        /// Name of the world whose run is shown if `runs` is empty.
        world: String,
        /// Names of the runs as the address writes them, separated by colons.
        runs: String,
    },
    /// Asks for the tables and charts of the reports,
    /// [`DeferredReply::Records`](crate::DeferredReply::Records).
    Results {
        /// Name of the world whose sections come first.
        world: String,
    },
    /// Asks for a file to save, [`DeferredReply::Exported`](crate::DeferredReply::Exported).
    Export {
        /// Number of the run that is saved; 0 for what belongs to no run.
        run: u32,
        /// The kind of file.
        export: Export,
    },
    /// An encoded [`LearnerRequest`](crate::LearnerRequest), which only the engine that trains decodes.
    Learner(#[serde(with = "crate::bytes")] Vec<u8>),
    /// Asks for the scores of the checkpoints on one episode,
    /// [`DeferredReply::Checkpoints`](crate::DeferredReply::Checkpoints).
    Checkpoints,
}
