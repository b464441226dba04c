//! Episodes played in words, and what comes of them: the bookkeeping of a policy-gradient step.
//!
//! Whoever completes prompts is a [`Generator`]: a language model, or a script that says its
//! actions in words. Episodes go on side by side, one prompt of each at a time, so that a
//! model completes them as one batch.
//!
//! Three ways to credit a completion:
//!
//! * the reward of its own step ([`Row::reward`]), as the reference trains on first steps;
//! * the mean reward of all events from its step on ([`Row::reward_to_go`]);
//! * what it led to against other completions of a copy of the same state ([`groups`]).

mod dry_run;
mod generator;
mod groups;
mod play;
mod signals;

pub use dry_run::{DryRun, RolloutArgs, StandIn, dry_run, reference_dry_run};
pub(crate) use generator::{EpisodeSlot, run_batched};
pub use generator::{GenerationRequest, Generator, RolloutError, Script};
pub use groups::{Continuation, Group, Member, groups};
pub use play::{Ending, RolloutConfig, Row, Trajectory, rollout};
pub use signals::Signals;
