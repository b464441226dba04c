//! Reinforcement learning as plain arithmetic: advantages and the GRPO family of losses.
//!
//! It must never know a tensor, a file or a world. Read `advantage.rs` first, then `loss/mod.rs`. To
//! add a loss: a variant of [`config::LossType`], its arms in `loss/terms.rs`, and its place in
//! `trainer/tests/grpo_oracle/slopes.rs`, which checks the gradient
//! (`docs/how-to/extend-the-trainer.md`).
//!
//! Functions take flat `f64` slices in row-major
//! order, and return the value together with its analytic gradient, so that the compact policy and
//! a language model share one loss: a trainer back-propagates `sum(logps * grad_logps)` (and the
//! same for entropies) with the gradients held constant. Names and defaults are those of TRL
//! 1.16.0; `docs/algorithms/grpo-loss.md` has the formulas.

pub mod advantage;
mod args;
pub mod config;
pub mod credit_options;
mod error;
pub mod importance_sampling;
pub mod loss;
mod metrics;
mod schedule;
mod scores;

pub use args::LossArgs;
pub use error::RlError;
pub use metrics::{Metrics, min_mean_max, nan_mean};
pub use schedule::{Schedule, ScheduleKind};
pub use scores::Scores;
