//! Group-relative policy optimization (GRPO) of a language model.
//!
//! * [`Sample`]: a prompt, a completion and its advantage.
//! * [`Objective`]: the loss of [`crate::rl`], its options, and the temperature of the policy.
//! * [`accumulate`]: loss, gradients and metrics of the samples of one optimizer step.

mod objective;

pub use objective::{Accumulated, Objective, Sample, accumulate, reference_logps};
