//! Features of the evidence in a ledger that several worlds share.

use sentinel_env::ledger::{Evidence, SuccessRate};

use crate::nn::FeatureWriter;

/// Feature names of the right and wrong report counts, first for low stakes, then for high stakes.
const STAKES: [[&str; 2]; 2] = [
    ["low_stakes.right", "low_stakes.wrong"],
    ["high_stakes.right", "high_stakes.wrong"],
];

/// Writes four features: the right and wrong report counts at low stakes, then at high stakes, each
/// divided by `many`.
pub(crate) fn push_stakes<const N: usize, const D: usize>(
    row: &mut FeatureWriter<[f32; N]>,
    evidence: &Evidence<D>,
    many: f64,
) {
    for (names, rate) in STAKES.into_iter().zip([evidence.low, evidence.high]) {
        push_rate(row, names, rate, many);
    }
}

/// Writes two features: the right and wrong report counts of `rate`, each divided by `many`.
pub(crate) fn push_rate<const N: usize>(
    row: &mut FeatureWriter<[f32; N]>,
    [right, wrong]: [&str; 2],
    rate: SuccessRate,
    many: f64,
) {
    row.push(right, f64::from(rate.successes) / many);
    row.push(wrong, f64::from(rate.count - rate.successes) / many);
}
