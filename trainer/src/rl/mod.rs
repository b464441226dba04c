//! Reinforcement learning as plain arithmetic: advantages and the GRPO family of losses.
//!
//! This module does not depend on a tensor library. Functions take flat `f64` slices in row-major
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
mod nan_stats;

pub(crate) use nan_stats::{min_mean_max, nan_mean};

use std::collections::BTreeMap;

pub use args::LossArgs;
pub use error::RlError;

/// Logged values, keyed by their names in TRL.
pub type Metrics = BTreeMap<String, f64>;
