//! Group-relative policy optimization (GRPO) of a language model that plays a world in words.
//!
//! * [`Sample`]: a prompt, a completion and its advantage.
//! * [`accumulate`]: loss, gradients and metrics of the samples of one optimizer step, by the
//!   [`Objective`]: the loss of [`crate::rl`] and the temperature of the policy.
//! * [`train`]: a whole run, `sentinel lm grpo`.
//! * [`estimate`]: how much memory a run takes.

mod collect;
mod config;
mod correction;
pub mod estimate;
mod job;
mod loss_options;
mod micro;
mod objective;

pub use config::{Continue, Credit, GrpoConfig};
pub use job::train;
pub use loss_options::LossOptions;
pub use objective::{Accumulated, Correction, Objective, Sample, accumulate, reference_logps};
