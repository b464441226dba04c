//! Episodes played by prompts and completions, and their rewards: the bookkeeping of a
//! policy-gradient step.
//!
//! A [`TextAgent`] completes prompts: a language model, or a script that formats its actions as
//! text. Episodes run in parallel, one prompt of each at a time, so that a model completes them as
//! one batch.
//!
//! A completion can be credited in four ways:
//!
//! * by the reward of its own step ([`CompletionRow::reward`]), as the reference trains on first steps;
//! * by the mean reward of all events from its step on ([`CompletionRow::reward_to_go`]);
//! * by the score of its episode ([`Trajectory::score`]);
//! * by its value against other completions of a copy of the same state ([`generate_groups`]).

mod command;
mod episode_summary;
mod groups;
mod play;
mod rollout_stats;
mod text_agent;

pub use command::{RandomScript, RolloutArgs, RolloutReport, dry_run};
pub use episode_summary::{EpisodeSummary, rollout_summaries};
pub use groups::{CompletionValue, Group, Member, generate_groups};
pub use play::{CompletionRow, Ending, PromptArgs, RolloutConfig, Trajectory, rollout};
pub use rollout_stats::{RolloutStats, RolloutSums};
pub use text_agent::{EpisodeSlot, run_batched};
pub use text_agent::{GenerationRequest, RolloutError, Script, TextAgent};
