//! Messages of the shell to an engine.

use serde::{Deserialize, Serialize};

/// An episode by the words of the address. A word that the world does not know is answered with a
/// problem, and the default takes its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpisodeRef {
    /// The task; empty for the default.
    pub task: String,
    /// The seed.
    pub seed: u64,
    /// The stream mode; empty for the default.
    pub streams: String,
    /// The rules; empty for the reference's.
    pub rules: String,
}

/// Actions of the visitor from some step on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// Number of actions that the player took before.
    pub at: u32,
    /// The visitor's actions as the address writes them, without separators.
    pub actions: String,
    /// `true` if the player continues after them.
    pub resume: bool,
}

/// A tournament: every player plays the same episodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TournamentSpec {
    /// The tasks.
    pub tasks: Vec<String>,
    /// The players.
    pub players: Vec<String>,
    /// First seed.
    pub first_seed: u64,
    /// Number of seeds of each task.
    pub seeds: u32,
    /// The stream mode; empty for the default.
    pub streams: String,
    /// The rules; empty for the reference's.
    pub rules: String,
}

/// A message to an engine. `run` is a number that the shell chooses; a later message with the same
/// number replaces the earlier run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Asks for [`Reply::World`](crate::Reply::World).
    Describe,
    /// Plays an episode to its end or to where the visitor has to act.
    Play {
        /// Identifies the run.
        run: u32,
        /// The episode.
        episode: EpisodeRef,
        /// The player: a policy, `grpo`, `replay:NAME` or `you`; empty for the default.
        player: String,
        /// The visitor's own actions.
        branch: Option<Branch>,
    },
    /// Starts or stops sending the hidden state of a run.
    ShowTruth {
        /// Identifies the run.
        run: u32,
        /// `true` to send it.
        show: bool,
    },
    /// Asks what would go wrong with a composed action.
    Check {
        /// Identifies the run.
        run: u32,
        /// Number of actions before it.
        at: u32,
        /// The action as the address writes it.
        code: String,
    },
    /// Starts a tournament in place of the one before.
    Tournament {
        /// Identifies the tournament.
        run: u32,
        /// Who plays what.
        spec: TournamentSpec,
    },
    /// Pauses or continues a tournament.
    Pause {
        /// Identifies the tournament.
        run: u32,
        /// `true` to pause.
        paused: bool,
    },
    /// Ends the work for a run or a tournament.
    Stop {
        /// Identifies it.
        run: u32,
    },
    /// Reads a file that the visitor dropped, or a file that the engine asked for.
    File {
        /// Its name or its path.
        name: String,
        /// Its bytes, or a sentence that says why there are none.
        content: Result<Vec<u8>, String>,
        /// `true` if the visitor gave it.
        dropped: bool,
    },
    /// Asks for the curves of the training run that belongs to the trained policy.
    Curves,
}
