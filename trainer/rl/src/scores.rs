//! The scores of a policy.

use serde::{Deserialize, Serialize};

/// Mean scores over a range of seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// The mean score of each task, in the order of the run's tasks.
    pub tasks: Vec<f64>,
    /// The mean over the tasks.
    pub overall: f64,
}
