//! Logged values, and their means and deviations, which skip NaN values.

use std::collections::BTreeMap;

/// Logged values, keyed by their names in TRL.
pub type Metrics = BTreeMap<String, f64>;

/// Returns the mean of all values except NaN; NaN if there are none.
pub fn nan_mean(values: &[f64]) -> f64 {
    let known = values.iter().filter(|value| !value.is_nan());
    let (count, sum) = known.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    sum / count
}

/// Returns the sample standard deviation (divisor n - 1) of all values except NaN; NaN for fewer
/// than two.
pub(crate) fn nan_std(values: &[f64]) -> f64 {
    let mean = nan_mean(values);
    let known: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
    if known.len() < 2 {
        return f64::NAN;
    }
    let squares: f64 = known.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (known.len() - 1) as f64).sqrt()
}

/// Returns the sum of all values except NaN; 0 if there are none.
pub(crate) fn nan_sum(values: impl Iterator<Item = f64>) -> f64 {
    values.filter(|value| !value.is_nan()).sum()
}

/// Returns minimum, mean and maximum; zeros for an empty slice.
pub fn min_mean_max(values: &[f64]) -> (f64, f64, f64) {
    if values.is_empty() {
        return (0.0, 0.0, 0.0);
    }
    let min = values.iter().copied().fold(f64::INFINITY, f64::min);
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (min, values.iter().sum::<f64>() / values.len() as f64, max)
}
