//! `sentinel sweep`: the chain of evidence for several models, from the corpus to the reports.
//!
//! * [`plan`]: the entries of a sweep with the options of every stage, from the command line and
//!   from a manifest.
//! * [`state`]: the records of finished stages, by which a sweep continues.
//! * [`run`](run()): runs the entries, as many at a time as the memory allows ([`memory`]).
//! * `stages`: the work of each stage. It calls the functions behind the commands; only the check
//!   of saved artifacts is a process of its own.
//! * [`postsave()`], [`improvement()`]: inference with saved artifacts, and their comparison.
//! * [`find_active_model`]: the active model for commands that play.

mod artifact_episode_args;
mod compare;
pub mod find_active_model;
mod logprob_check;
pub mod memory;
pub mod plan;
mod postsave;
mod run;
mod stage_options;
mod stages;
pub mod state;

pub use artifact_episode_args::{ArtifactEpisodeArgs, ArtifactEpisodes};
pub use compare::{ImprovementArgs, improvement};
pub use plan::{PlanEntry, SweepArgs, SweepPlan};
pub use postsave::{PostSaveArgs, postsave};
pub use run::{SweepActivity, SweepEvent, SweepOptions, SweepOutcome, run};
pub use state::{Stage, StageStatus};
