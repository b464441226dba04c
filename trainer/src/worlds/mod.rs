//! The parts of the command line that each world implements: its evaluation file and its traces.

mod cluster;
mod polyguard;
mod trust;

pub use cluster::ClusterSummary;
pub use polyguard::PolyguardSummary;
pub use trust::PolicySummary;

use std::path::Path;
use std::sync::Arc;

use sentinel_env::num::round_to;
use sentinel_env::{Protocol, Session};
use sentinel_policy::Playable;
use sentinel_policy::nn::{Model, TrainedPolicy};
use sentinel_policy::policy::Player;
use sentinel_policy::rollout::Run;
use serde::Serialize;

use crate::compact::{self, Learn, TrainError};
use crate::eval::Evaluation;

/// A world with an evaluation as the reference summarizes it.
pub trait Evaluated: Learn + Playable {
    /// One row of the file's `episodes`.
    type Row: Serialize + Clone + std::fmt::Debug + PartialEq + Send + Sync;
    /// Means over rows.
    type Summary: Serialize + Clone + std::fmt::Debug + PartialEq + Send;
    /// The policies that play by default.
    const POLICIES: &'static str;
    /// The task that is played by default; `None` for all of the world.
    const TASK: Option<&'static str>;
    /// Columns of the table, behind policy, task and episodes.
    const COLUMNS: &'static [&'static str];

    /// Returns the row of an episode.
    fn row(policy: &str, run: &Run<Self>) -> Self::Row;
    /// Returns the summary of some rows; all 0 without any.
    fn summary(rows: &[&Self::Row]) -> Self::Summary;
    /// Returns the number of episodes, and the numbers of the table's columns.
    fn cells(summary: &Self::Summary) -> (usize, Vec<f64>);
    /// Returns the file: the reference's keys in its order, and own keys only where a reader needs
    /// them.
    fn file(evaluation: &Evaluation<Self>) -> impl Serialize;
    /// Returns the greedy player of a model.
    #[must_use]
    fn trained(model: &Arc<Model<Self::Net>>) -> Player<Self> {
        Player::Public(Box::new(TrainedPolicy::new(Arc::clone(model))))
    }
}

/// A world whose episodes can be traced row by row (golden/README).
pub trait Traced: Evaluated + Protocol {
    /// Returns the first row.
    fn reset_row(session: &Session<Self>) -> impl Serialize;
    /// Returns the row of the step just taken.
    fn step_row(session: &Session<Self>, step: &Self::Info) -> impl Serialize;
    /// Returns the last row; `None` while the episode runs. `random_next` is the next draw of the policy's
    /// own stream, if it has one.
    fn final_row(session: &Session<Self>, random_next: Option<f64>) -> Option<impl Serialize>;
}

/// Reads the model of a folder.
///
/// # Errors
/// If it cannot be read, or was trained for another world.
pub fn load_model<W: Evaluated>(folder: &Path) -> Result<Arc<Model<W::Net>>, TrainError> {
    compact::load_model(folder).map(Arc::new)
}

/// Returns the mean of a value over rows, to four decimals; 0 without any.
fn mean<T>(rows: &[&T], value: impl Fn(&T) -> f64) -> f64 {
    let sum: f64 = rows.iter().map(|row| value(row)).sum();
    round_to(sum / rows.len().max(1) as f64, 4)
}

fn is_reference(rules: &str) -> bool {
    rules == "reference"
}
