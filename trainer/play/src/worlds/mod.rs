//! The parts of the command line that each world implements: its evaluation file and its traces.

mod cluster;
mod polyguard;
mod trust;

pub use cluster::ClusterSummary;
pub use polyguard::PolyguardSummary;
pub use trust::PolicySummary;

use sentinel_env::num::round_to;

/// Returns the mean of a value over rows, to four decimals; 0 for no rows.
fn mean<T>(rows: &[&T], value: impl Fn(&T) -> f64) -> f64 {
    let sum: f64 = rows.iter().map(|row| value(row)).sum();
    round_to(sum / rows.len().max(1) as f64, 4)
}

fn is_reference(rules: &str) -> bool {
    rules == "reference"
}
