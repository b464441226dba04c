//! The confidence intervals of a mean score and of a mean difference, for the trainer and the page.

use sentinel_env::num::round_to;
use serde::{Deserialize, Serialize};

/// Half the width of a 95 % interval in standard errors.
const Z95: f64 = 1.96;

/// A mean and half the width of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceInterval {
    /// The mean over cells.
    pub mean: f64,
    /// Half the width: 1.96 standard errors.
    pub half_width: f64,
}

impl ConfidenceInterval {
    /// Computes the interval of a mean over cells with equal weights. The cells are all there are,
    /// so only the spread within each makes the mean uncertain; a cell of one episode contributes
    /// no variance.
    #[must_use]
    pub fn from_cells(cells: &[Vec<f64>]) -> Self {
        let sums = CellSums::new(cells);
        Self {
            mean: round_to(sums.mean(), 4),
            half_width: round_to(Z95 * sums.variance.sqrt() / sums.count, 4),
        }
    }
}

/// Returns the mean over cells with equal weights, which is not rounded; 0 without cells.
#[must_use]
pub fn mean_of_cells(cells: &[Vec<f64>]) -> f64 {
    CellSums::new(cells).mean()
}

/// The sums over cells from which means and intervals are made.
struct CellSums {
    /// The number of cells, at least 1.
    count: f64,
    /// The sum of the means of the cells.
    sum: f64,
    /// The sum of the variances of these means.
    variance: f64,
}

impl CellSums {
    fn new(cells: &[Vec<f64>]) -> Self {
        let (mut sum, mut variance) = (0.0, 0.0);
        for values in cells {
            let n = values.len().max(1) as f64;
            let mean = values.iter().sum::<f64>() / n;
            let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
            sum += mean;
            variance += squares / (n - 1.0).max(1.0) / n;
        }
        Self {
            count: cells.len().max(1) as f64,
            sum,
            variance,
        }
    }

    fn mean(&self) -> f64 {
        self.sum / self.count
    }
}

/// Returns the mean of some values and half the width of its 95 % interval, which a single value
/// does not have.
#[must_use]
pub fn mean_and_half_width(values: &[f64]) -> (f64, Option<f64>) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n.max(1.0);
    if values.len() < 2 {
        return (mean, None);
    }
    let squares: f64 = values
        .iter()
        .map(|value| (value - mean) * (value - mean))
        .sum();
    let half_width = Z95 * (squares / (n - 1.0) / n).sqrt();
    (mean, Some(half_width))
}

/// The mean of paired differences with its 95 % interval by Student's t, which is also right for
/// few pairs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PairedInterval {
    /// The mean over cells with equal weights.
    pub mean: f64,
    /// Half the width of the interval; `None` if a cell has fewer than two differences, so that its
    /// spread is unknown.
    pub half_width: Option<f64>,
}

impl PairedInterval {
    /// The confidence of the interval.
    pub const CONFIDENCE: f64 = 0.95;

    /// Computes the interval of a mean over cells with equal weights. The degrees of freedom are
    /// those of the smallest cell, which is conservative for several.
    #[must_use]
    pub fn from_cells(cells: &[Vec<f64>]) -> Self {
        let sums = CellSums::new(cells);
        let freedom = cells.iter().map(|cell| cell.len().saturating_sub(1)).min();
        let quantile = freedom.and_then(student_t95);
        Self {
            mean: sums.mean(),
            half_width: quantile.map(|t| t * sums.variance.sqrt() / sums.count),
        }
    }

    /// Returns the lower and the upper bound, if they are known.
    #[must_use]
    pub fn bounds(&self) -> Option<[f64; 2]> {
        let half = self.half_width?;
        Some([self.mean - half, self.mean + half])
    }
}

/// The two-sided 95 % quantiles of Student's t with 1 to 10 degrees of freedom.
const STUDENT: [f64; 10] = [
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
];
/// The same quantile of the normal distribution.
const NORMAL: f64 = 1.959_964;

/// Returns the two-sided 95 % quantile of Student's t; `None` without a degree of freedom. From 11
/// degrees on it is the expansion of Cornish and Fisher, which is right to three decimals.
fn student_t95(freedom: usize) -> Option<f64> {
    let at = freedom.checked_sub(1)?;
    if let Some(quantile) = STUDENT.get(at) {
        return Some(*quantile);
    }
    let (z, v) = (NORMAL, freedom as f64);
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    Some(z + first / v + second / (v * v) + third / (v * v * v))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with a table of the t distribution.
    #[test]
    fn student_t_quantiles_match_table() {
        let table = [
            (1, 12.706),
            (10, 2.228),
            (11, 2.201),
            (20, 2.086),
            (30, 2.042),
            (120, 1.980),
        ];
        for (freedom, expected) in table {
            let found = student_t95(freedom).unwrap_or(0.0);
            assert!((found - expected).abs() < 1e-3, "{freedom}: {found}");
        }
        assert_eq!(student_t95(0), None);
    }

    /// The page's evaluations and tournaments, and the trainer's report, read the same cases.
    #[test]
    fn intervals_match_the_shared_cases() {
        let text = include_str!("../../testdata/intervals.json");
        let vector: serde_json::Value = serde_json::from_str(text).expect("JSON");
        for case in vector["cases"].as_array().expect("cases") {
            let cells = serde_json::from_value(case["cells"].clone());
            let cells: Vec<Vec<f64>> = cells.expect("scores");
            let found = ConfidenceInterval::from_cells(&cells);
            let expected = |key: &str| case[key].as_f64();
            assert_eq!(
                (Some(found.mean), Some(found.half_width)),
                (expected("mean"), expected("half_width")),
                "{}",
                case["what"]
            );
            let paired = PairedInterval::from_cells(&cells).half_width;
            let paired = paired.map(|half_width| round_to(half_width, 6));
            assert_eq!(paired, expected("paired_half_width"), "{}", case["what"]);
        }
    }

    #[test]
    fn paired_interval_needs_two_values_per_cell() {
        let found = PairedInterval::from_cells(&[vec![0.0, 1.0, 0.0, 1.0]]);
        let half = 3.1824 * (1f64 / 12.0).sqrt();
        assert!(
            found
                .half_width
                .is_some_and(|width| (width - half).abs() < 1e-9)
        );
        assert_eq!(found.bounds(), Some([0.5 - half, 0.5 + half]));
        assert_eq!(
            PairedInterval::from_cells(&[vec![1.0], vec![1.0, 2.0]]).half_width,
            None
        );
        assert_eq!(PairedInterval::from_cells(&[]).half_width, None);
    }

    #[test]
    fn interval_weights_cells_equally_and_uses_spread_in_cells() {
        let apart = ConfidenceInterval::from_cells(&[vec![0.0; 10], vec![1.0; 5]]);
        assert_eq!((apart.mean, apart.half_width), (0.5, 0.0));
        let spread = ConfidenceInterval::from_cells(&[vec![0.0, 1.0, 0.0, 1.0]]);
        // s² = 1/3, standard error √(1/12).
        assert_eq!(spread.half_width, round_to(1.96 * (1f64 / 12.0).sqrt(), 4));
    }
}
