//! Means of paired rollouts, and the interval of a loss.

/// Minimum number of rollouts for an interval.
pub const INTERVAL_ROLLOUTS_MIN: u32 = 8;

/// Quantiles of the normal distribution at `1 - 0.025 / k` for `k` from 1: a table, because
/// logarithms differ between targets in their last digit.
const QUANTILES: [f64; 32] = [
    1.959964, 2.241403, 2.393980, 2.497705, 2.575829, 2.638257, 2.690110, 2.734369, 2.772921,
    2.807034, 2.837597, 2.865260, 2.890512, 2.913726, 2.935199, 2.955167, 2.973820, 2.991316,
    3.007787, 3.023341, 3.038074, 3.052065, 3.065383, 3.078088, 3.090232, 3.101862, 3.113017,
    3.123735, 3.134046, 3.143980, 3.153563, 3.162818,
];

/// Returns the number of standard errors by which an interval reaches to each side, so that `count`
/// intervals from `rollouts` samples hold at once in 95 % of cases; `None` for too few rollouts.
///
/// It is the quantile of Student's t distribution for the error probability `0.05 / count`
/// (Bonferroni), by the expansion of Abramowitz & Stegun 26.7.5 around the normal quantile.
fn interval_factor(count: usize, rollouts: u32) -> Option<f64> {
    if rollouts < INTERVAL_ROLLOUTS_MIN {
        return None;
    }
    let z = QUANTILES[count.clamp(1, QUANTILES.len()) - 1];
    let v = f64::from(rollouts - 1);
    let (z3, z5) = (z * z * z, z * z * z * z * z);
    let z7 = z5 * z * z;
    let first = (z3 + z) / (4.0 * v);
    let second = (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * v * v);
    let third = (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * v * v * v);
    Some(z + first + second + third)
}

/// Running mean and variance of numbers (Welford 1962). Equal numbers give a variance of exactly 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Moments {
    count: u32,
    mean: f64,
    squares: f64,
}

impl Moments {
    pub(super) fn push(&mut self, value: f64) {
        self.count += 1;
        let delta = value - self.mean;
        self.mean += delta / f64::from(self.count);
        self.squares += delta * (value - self.mean);
    }

    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    pub(super) const fn mean(&self) -> f64 {
        self.mean
    }

    /// Returns the standard error of the mean; `None` for fewer than two numbers.
    pub(super) fn standard_error(&self) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        let n = f64::from(self.count);
        Some((self.squares / (n * (n - 1.0))).sqrt())
    }
}

/// The final scores of the rollouts of one step from one source of states.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Estimates {
    /// Scores of each action.
    pub(super) scores: Vec<Moments>,
    /// Score of each action minus that of the chosen action in the same state.
    pub(super) gains: Vec<Moments>,
}

impl Estimates {
    pub(super) fn new(actions: usize) -> Self {
        Self {
            scores: vec![Moments::default(); actions],
            gains: vec![Moments::default(); actions],
        }
    }

    /// Adds the scores of all actions in one state.
    pub(super) fn push(&mut self, scores: &[f64], chosen: usize) {
        for ((score, total), gain) in scores.iter().zip(&mut self.scores).zip(&mut self.gains) {
            total.push(*score);
            gain.push(score - scores[chosen]);
        }
    }

    /// Returns `true` if these are estimates of `count` actions, all from equally many rollouts.
    pub(super) fn has_actions(&self, count: usize) -> bool {
        let moments = || self.scores.iter().chain(&self.gains);
        (self.scores.len(), self.gains.len()) == (count, count)
            && moments().all(|moments| moments.count() == self.rollouts())
    }

    pub(super) fn rollouts(&self) -> u32 {
        self.scores.first().map_or(0, Moments::count)
    }

    /// Returns the action with the highest mean: the chosen one on a tie, else the first.
    pub(super) fn best(&self, chosen: usize) -> usize {
        let mut best = chosen;
        for (action, gain) in self.gains.iter().enumerate() {
            if gain.mean() > self.gains[best].mean() {
                best = action;
            }
        }
        best
    }

    /// Returns an interval that contains the loss of the chosen action in 95 % of cases: the
    /// highest lower and the highest upper end of the intervals of all gains, of which the chosen
    /// action's own is 0. `None` for too few rollouts.
    pub(super) fn loss_interval(&self) -> Option<[f64; 2]> {
        let factor = interval_factor(self.gains.len().saturating_sub(1), self.rollouts())?;
        let mut ends = [0.0, 0.0];
        for gain in &self.gains {
            let reach = factor * gain.standard_error()?;
            ends[0] = f64::max(ends[0], gain.mean() - reach);
            ends[1] = f64::max(ends[1], gain.mean() + reach);
        }
        Some(ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles of Student's t distribution, from its numerically integrated density.
    #[test]
    fn interval_factor_matches_t_distribution() {
        for (count, rollouts, expected) in [
            (1, 8, 2.3646),
            (11, 8, 4.1048),
            (11, 32, 3.0595),
            (25, 64, 3.2247),
        ] {
            let factor = interval_factor(count, rollouts).expect("enough rollouts");
            assert!(
                (factor - expected).abs() < 0.02,
                "{count} {rollouts}: {factor}"
            );
        }
        assert_eq!(interval_factor(3, INTERVAL_ROLLOUTS_MIN - 1), None);
    }

    #[test]
    fn equal_numbers_have_no_error() {
        let mut moments = Moments::default();
        for _ in 0..7 {
            moments.push(0.1 + 0.2);
        }
        assert_eq!(
            (moments.mean(), moments.standard_error()),
            (0.1 + 0.2, Some(0.0))
        );
    }

    #[test]
    fn interval_covers_true_loss_of_noisy_equal_actions() {
        // Five actions of equal value: an interval whose lower end is above 0 is an error.
        let mut stream = sentinel_env::rng::PcgRandom::new(9, &[]);
        let mut errors = 0;
        for _ in 0..1000 {
            let mut estimates = Estimates::new(5);
            for _ in 0..16 {
                let scores: [f64; 5] = std::array::from_fn(|_| stream.unit());
                estimates.push(&scores, 2);
            }
            let [low, high] = estimates.loss_interval().expect("enough rollouts");
            assert!(low <= high);
            errors += usize::from(low > 0.0);
        }
        assert!((1..=35).contains(&errors), "{errors} of 1000");
    }
}
