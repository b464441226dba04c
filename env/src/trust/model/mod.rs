//! The plain types of the trust world.

mod action;
mod hidden;
mod observation;
mod scenario;
mod scenario_table;
mod setup;
mod state;
mod step;
mod task;

pub use action::{Action, ActionType};
pub(crate) use hidden::OUTCOME_DRAWS;
pub use hidden::{Behavior, Hidden};
pub use observation::{LastStep, NodeState, Observation, Progress, Status, TrustLedger};
pub(crate) use scenario::SCENARIOS_PER_TASK;
pub use scenario::{Node, Scenario, UnknownScenario};
pub use setup::{Change, Rules, Setup};
pub(crate) use state::State;
pub use state::Tally;
pub use step::{EpisodeOver, Grades, Step, TerminalReward, TerminalWeights};
pub use task::{Domain, TaskLayout};
