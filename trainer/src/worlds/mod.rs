//! What each world brings to the command line: its evaluation file, its traces, its actions for a
//! bench. A world joins by implementing these for its type.

mod cluster;
mod polyguard;
mod trust;

pub use cluster::ClusterSummary;
pub use polyguard::PolyguardSummary;
pub use trust::PolicySummary;

use std::path::Path;
use std::sync::Arc;

use sentinel_env::num::round_to;
use sentinel_policy::Model;
use sentinel_policy::play::{Player, Run};
use serde::Serialize;

use crate::compact::TrainError;
use crate::compact::learn::Learn;
use crate::compact::run::load;
use crate::eval::Evaluation;

/// A world with an evaluation as the reference sums it up.
pub trait Evaluated: Learn {
    /// One row of the file's `episodes`.
    type Row: Serialize + Clone + std::fmt::Debug + PartialEq + Send + Sync;
    /// Means over rows.
    type Summary: Serialize + Clone + std::fmt::Debug + PartialEq + Send;
    /// Who plays when nobody is named.
    const POLICIES: &'static str;
    /// What is played when nothing is said of tasks; without it all that the world has.
    const TASK: Option<&'static str>;
    /// Columns of the table, behind policy, task and episodes.
    const COLUMNS: &'static [&'static str];

    /// Sums up an episode.
    fn row(policy: &str, run: &Run<Self>) -> Self::Row;
    /// Sums up some rows; all 0 without any.
    fn summary(rows: &[&Self::Row]) -> Self::Summary;
    /// How many episodes, and the numbers of the table's columns.
    fn cells(summary: &Self::Summary) -> (usize, Vec<f64>);
    /// The file: the reference's keys in its order. Keys of ours stand in it only where they say
    /// something that its reader must know.
    fn file(evaluation: &Evaluation<Self>) -> impl Serialize;
    /// A player with the weights of a model.
    fn trained(model: &Arc<Model<Self::Net>>) -> Player<Self>;
}

/// A world whose episodes can be told row by row (golden/README).
pub trait Traced: Evaluated {
    /// How the episode starts.
    fn reset_row(session: &Self::Session) -> impl Serialize;
    /// The step that was just taken.
    fn step_row(session: &Self::Session, step: &Self::Step) -> impl Serialize;
    /// How the episode ended; `None` while it runs. `random_next` is the next draw of the policy's
    /// own stream, if it has one.
    fn final_row(session: &Self::Session, random_next: Option<f64>) -> Option<impl Serialize>;
}

/// Reads the model of a folder and sees whether it can play in the world.
///
/// # Errors
/// If it cannot be read, or was trained for another world.
pub fn load_model<W: Evaluated>(folder: &Path) -> Result<Arc<Model<W::Net>>, TrainError> {
    load(folder).map(Arc::new)
}

/// The mean of a value over rows, to four decimals; 0 without any.
fn mean<T>(rows: &[&T], value: impl Fn(&T) -> f64) -> f64 {
    let sum: f64 = rows.iter().map(|row| value(row)).sum();
    round_to(sum / rows.len().max(1) as f64, 4)
}

fn is_reference(rules: &str) -> bool {
    rules == "reference"
}
