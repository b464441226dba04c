//! `sentinel sweep`: the chain of evidence for several models, from the corpus to the reports.
//!
//! * [`plan`]: the entries of a sweep with the options of every stage, from the command line and
//!   from a manifest.
//! * [`state`]: the records of finished stages, by which a sweep continues.
//! * [`run`](run()): runs the entries, as many at a time as the memory allows ([`memory`]).
//! * `stages`: the work of each stage. It calls the functions behind the commands; only the check
//!   of saved artifacts is a process of its own.
//! * [`postsave()`], [`improvement()`]: inference with saved artifacts, and their comparison.
//! * [`active`]: the active model for commands that play.

pub mod active;
mod compare;
mod logprobs;
pub mod memory;
mod options;
pub mod plan;
mod play;
mod postsave;
mod run;
mod stages;
pub mod state;

pub use compare::{ImprovementArgs, improvement};
pub use plan::{Entry, Plan, SweepArgs};
pub use play::{Play, PlayArgs};
pub use postsave::{PostSaveArgs, postsave};
pub use run::{Activity, SweepEvent, SweepOptions, SweepOutcome, run};
pub use state::{Stage, StageStatus};
