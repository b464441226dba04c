//! Group-relative policy optimization (GRPO) of a language model that plays a world in words.
//!
//! * [`Sample`]: a prompt, a completion and its advantage.
//! * [`accumulate`]: loss, gradients and metrics of the samples of one optimizer step, by the
//!   [`Objective`]: the loss of [`crate::rl`] and the temperature of the policy.
//! * [`Voice`]: a model as a [`crate::corpus::rollout::Speaker`], which keeps what it said as tokens.
//! * [`train`]: a whole run, `sentinel lm grpo`.
//! * [`Speech`]: a model that was loaded to play, by the options that all such commands have.
//! * [`play`]: episodes of a model, to measure it; [`play_rollout`]: the same as `sentinel lm rollout`.
//! * [`estimate`]: how much memory a run takes.

mod collect;
mod config;
pub mod estimate;
mod job;
mod micro;
mod objective;
mod play;
mod speech;
mod voice;

pub use config::{Continue, Credit, GrpoConfig};
pub use job::train;
pub use objective::{Accumulated, Objective, Sample, accumulate, reference_logps};
pub use play::{PlayConfig, Played, check_replaces, play, play_rollout};
pub use speech::{Speech, SpeechOptions};
pub use voice::{Said, Voice};
