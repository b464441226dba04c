//! The confidence interval of a mean score.

use sentinel_env::num::round_to;
use serde::{Deserialize, Serialize};

/// Half the width of a 95 % interval in standard errors.
const Z95: f64 = 1.96;

/// A mean and half the width of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The mean over cells.
    pub mean: f64,
    /// Half the width: 1.96 standard errors.
    pub half_width: f64,
}

impl Interval {
    /// Computes the interval of a mean over cells with equal weights. The cells are all there are,
    /// so only the spread within each makes the mean uncertain; a cell of one episode contributes
    /// no variance.
    #[must_use]
    pub fn of_cells(cells: &[Vec<f64>]) -> Self {
        let count = cells.len().max(1) as f64;
        let (mut sum, mut variance) = (0.0, 0.0);
        for scores in cells {
            let n = scores.len().max(1) as f64;
            let mean = scores.iter().sum::<f64>() / n;
            let squares: f64 = scores.iter().map(|s| (s - mean) * (s - mean)).sum();
            sum += mean;
            variance += squares / (n - 1.0).max(1.0) / n;
        }
        Self {
            mean: round_to(sum / count, 4),
            half_width: round_to(Z95 * variance.sqrt() / count, 4),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_count_alike_and_only_their_spread_widens_the_interval() {
        let apart = Interval::of_cells(&[vec![0.0; 10], vec![1.0; 5]]);
        assert_eq!((apart.mean, apart.half_width), (0.5, 0.0));
        let spread = Interval::of_cells(&[vec![0.0, 1.0, 0.0, 1.0]]);
        // s² = 1/3, standard error √(1/12).
        assert_eq!(spread.half_width, round_to(1.96 * (1f64 / 12.0).sqrt(), 4));
    }
}
