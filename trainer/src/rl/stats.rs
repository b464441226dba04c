//! Means and deviations that pass over what is not a number.

/// The mean of what is a number; NaN when nothing is.
pub(crate) fn nan_mean(values: &[f64]) -> f64 {
    let known = values.iter().filter(|value| !value.is_nan());
    let (count, sum) = known.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    sum / count
}

/// The sample standard deviation (divisor n - 1) of what is a number; NaN for fewer than two.
pub(crate) fn nan_std(values: &[f64]) -> f64 {
    let mean = nan_mean(values);
    let known: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
    if known.len() < 2 {
        return f64::NAN;
    }
    let squares: f64 = known.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (known.len() - 1) as f64).sqrt()
}

/// The sum of what is a number; 0 when nothing is.
pub(crate) fn nan_sum(values: impl Iterator<Item = f64>) -> f64 {
    values.filter(|value| !value.is_nan()).sum()
}

/// Least, mean and greatest value; zeros when there is none.
pub(crate) fn min_mean_max(values: &[f64]) -> (f64, f64, f64) {
    if values.is_empty() {
        return (0.0, 0.0, 0.0);
    }
    let min = values.iter().copied().fold(f64::INFINITY, f64::min);
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (min, values.iter().sum::<f64>() / values.len() as f64, max)
}
