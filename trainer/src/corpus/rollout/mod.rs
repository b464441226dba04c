//! Episodes played in words, and what comes of them: the bookkeeping of a policy-gradient step.
//!
//! Whoever completes prompts is a [`Speaker`]: a language model, or a script that says its
//! actions in words. Episodes go on side by side, one prompt of each at a time, so that a
//! model completes them as one batch.
//!
//! Three ways to credit a completion:
//!
//! * the reward of its own step ([`Row::reward`]), as the reference trains on first steps;
//! * the mean reward of all events from its step on ([`Row::to_go`]);
//! * what it led to against other completions of a copy of the same state ([`groups`]).

mod dry_run;
mod groups;
mod play;
mod signals;
mod speaker;

pub use dry_run::{DryRun, RolloutConfig, StandIn, dry_run, reference_dry_run};
pub use groups::{Continuation, Group, Member, groups};
pub use play::{Ending, Row, Terms, Trajectory, rollout};
pub use signals::Signals;
pub use speaker::{Asked, RolloutError, Script, Speaker};
pub(crate) use speaker::{Seat, side_by_side};
