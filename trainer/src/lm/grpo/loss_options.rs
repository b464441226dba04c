//! The options of the loss that only a language model has, under TRL's names. What is absent has TRL's default.

use serde::{Deserialize, Serialize};

use crate::args::parse_number;
use crate::lm::train::RunError;
use crate::rl::advantage::MultiObjectiveAggregation;
use crate::rl::sampling::{SamplingConfig, SamplingMode};

/// TRL's bound of the correction.
const CLIP_MAX: f64 = 3.0;

/// The options of the loss that only a language model has; the others are [`LossArgs`](crate::rl::LossArgs).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[command(next_help_heading = "Loss")]
pub struct LossOptions {
    /// Correct for a sampler that is not quite the policy, such as one in another precision [default: no
    /// correction]
    #[arg(
        long,
        alias = "vllm-importance-sampling-mode",
        value_enum,
        value_name = "MODE"
    )]
    pub importance_sampling_mode: Option<SamplingMode>,
    /// No correction below this [default: none]
    #[arg(long, value_name = "RATIO", value_parser = parse_number::<f64>)]
    pub importance_sampling_clip_min: Option<f64>,
    /// No correction above this [default: 3]
    #[arg(long, value_name = "RATIO", value_parser = parse_number::<f64>)]
    pub importance_sampling_clip_max: Option<f64>,
    /// When several rewards become one [default: sum_then_normalize]
    #[arg(long, value_enum, value_name = "WHEN")]
    pub multi_objective_aggregation: Option<MultiObjectiveAggregation>,
}

impl LossOptions {
    /// Returns how the sampler is corrected for; `None` where it is not.
    #[must_use]
    pub fn sampling(&self) -> Option<SamplingConfig> {
        Some(SamplingConfig {
            mode: self.importance_sampling_mode?,
            clip_min: self.importance_sampling_clip_min,
            clip_max: Some(self.importance_sampling_clip_max.unwrap_or(CLIP_MAX)),
        })
    }

    /// Checks what no other part checks.
    ///
    /// # Errors
    /// Names the first option that cannot be.
    pub fn check(&self) -> Result<(), RunError> {
        let bounds = [
            self.importance_sampling_clip_min,
            self.importance_sampling_clip_max,
        ];
        let Some(SamplingConfig {
            clip_min, clip_max, ..
        }) = self.sampling()
        else {
            return match bounds.iter().flatten().next() {
                None => Ok(()),
                Some(_) => Err(RunError::option(
                    "importance-sampling-clip-min and -max",
                    "left out without importance-sampling-mode, which they are bounds of",
                )),
            };
        };
        let (low, high) = (clip_min.unwrap_or(0.0), clip_max.unwrap_or(f64::INFINITY));
        if low >= 0.0 && low < high {
            Ok(())
        } else {
            Err(RunError::option(
                "importance-sampling-clip-min and -max",
                "at least 0, and the first below the second",
            ))
        }
    }
}
