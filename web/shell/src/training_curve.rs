//! The curve of a training run: mean scores over seconds, and the players that it passes.

use sentinel_page_protocol::{Chart, Line, Placement, TrainingScore};

/// Least fall of the score, beside the intervals, that is a loss: scores of evaluations vary.
const LEAST_LOSS: f64 = 0.02;

/// Number of equal scores in a row from which on a policy counts as one that no longer changes.
const STILL_FROM: usize = 4;

/// Scores of a run, each with the seconds of training before it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrainingCurve {
    points: Vec<(f64, TrainingScore)>,
}

/// A player that the run has passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Passed {
    /// Label of the player.
    pub label: String,
    /// Mean score of the player.
    pub mean: f64,
    /// Seconds of training before the score that was higher for the first time.
    pub seconds: f64,
}

impl TrainingCurve {
    /// Creates a curve from the scores of a run, each with the seconds of training before it.
    #[must_use]
    pub const fn new(points: Vec<(f64, TrainingScore)>) -> Self {
        Self { points }
    }

    /// Returns the scores, each with the seconds of training before it.
    #[must_use]
    pub fn points(&self) -> &[(f64, TrainingScore)] {
        &self.points
    }

    /// Adds the score of an evaluation after `seconds` of training; ignores one that a restarted engine
    /// repeats.
    pub fn push(&mut self, seconds: f64, score: TrainingScore) {
        if self
            .newest()
            .is_none_or(|last| last.updates < score.updates)
        {
            self.points.push((seconds, score));
        }
    }

    /// Returns the newest score; `None` before the first one.
    #[must_use]
    pub fn newest(&self) -> Option<TrainingScore> {
        self.points.last().map(|(_, score)| *score)
    }

    /// Returns the highest score, if the newest one is clearly below it.
    #[must_use]
    pub fn lost(&self) -> Option<TrainingScore> {
        let newest = self.newest()?;
        let scores = self.points.iter().map(|(_, score)| *score);
        let best = scores.max_by(|a, b| a.mean.total_cmp(&b.mean))?;
        let reach = best.half_width + newest.half_width + LEAST_LOSS;
        (newest.mean + reach < best.mean).then_some(best)
    }

    /// Returns the number of updates after which the score has not changed, if some evaluations agree.
    #[must_use]
    pub fn still_since(&self) -> Option<u32> {
        let newest = self.newest()?;
        let is_equal =
            |(_, score): &&(f64, TrainingScore)| score.mean.to_bits() == newest.mean.to_bits();
        let equal = self.points.iter().rev().take_while(is_equal).count();
        (equal >= STILL_FROM).then(|| self.points[self.points.len() - equal].1.updates)
    }

    /// Returns the players that the run has passed, the one with the lowest score first.
    #[must_use]
    pub fn passed(&self, rivals: &[Placement]) -> Vec<Passed> {
        let mut all: Vec<Passed> = rivals
            .iter()
            .filter(|rival| rival.scored > 0)
            .filter_map(|rival| {
                let is_higher = |(_, score): &(f64, TrainingScore)| score.mean > rival.mean;
                // Who was below from the start was not passed.
                let first = self
                    .points
                    .iter()
                    .position(is_higher)
                    .filter(|at| *at > 0)?;
                let (seconds, _) = &self.points[first];
                Some(Passed {
                    label: rival.label.clone(),
                    mean: rival.mean,
                    seconds: *seconds,
                })
            })
            .collect();
        all.sort_by(|a, b| a.mean.total_cmp(&b.mean));
        all
    }

    /// Returns the chart of the run, with a level line for each rival. The order of `players` decides on
    /// their colors.
    #[must_use]
    pub fn chart(&self, rivals: &[Placement], players: &[String]) -> Chart {
        let x: Vec<f32> = self.points.iter().map(|(at, _)| *at as f32).collect();
        let end = x.last().copied().unwrap_or(0.0).max(1.0);
        let own = Line {
            name: "This policy".to_owned(),
            y: self.points.iter().map(|(_, s)| s.mean as f32).collect(),
            half_width: self
                .points
                .iter()
                .map(|(_, s)| s.half_width as f32)
                .collect(),
            x,
            ..Line::default()
        };
        let style = |rival: &Placement| {
            let found = players.iter().position(|player| *player == rival.player);
            1 + (found.unwrap_or(0) % 7) as u8
        };
        let level = |rival: &Placement| Line {
            name: rival.label.clone(),
            style: style(rival),
            x: vec![0.0, end],
            y: vec![rival.mean as f32; 2],
            half_width: Vec::new(),
        };
        let scored = rivals.iter().filter(|rival| rival.scored > 0);
        let lines: Vec<Line> = std::iter::once(own).chain(scored.map(level)).collect();
        let values = || lines.iter().flat_map(|line| line.y.iter().copied());
        let (low, high) = (
            values().fold(1.0, f32::min),
            values().fold(0.0, f32::max).max(0.1),
        );
        Chart {
            id: "training-run".to_owned(),
            title: "Mean score".to_owned(),
            subtitle: "of the greedy policy on fixed validation seeds, with its 95 % interval"
                .to_owned(),
            x_label: "seconds of training".to_owned(),
            y_label: "score".to_owned(),
            range: [(low - 0.02).max(0.0), (high + 0.02).min(1.0)],
            lines,
            strips: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(scores: &[f64]) -> TrainingCurve {
        let mut curve = TrainingCurve::default();
        for (index, mean) in scores.iter().enumerate() {
            let score = TrainingScore {
                updates: index as u32,
                mean: *mean,
                half_width: 0.01,
            };
            curve.push(index as f64, score);
        }
        curve
    }

    fn rival(label: &str, mean: f64) -> Placement {
        Placement {
            label: label.to_owned(),
            scored: 1,
            mean,
            ..Placement::default()
        }
    }

    #[test]
    fn a_clear_fall_is_a_loss() {
        assert_eq!(curve(&[]).lost(), None);
        assert_eq!(curve(&[0.5, 0.8, 0.79, 0.77]).lost(), None);
        let best = curve(&[0.5, 0.8, 0.7]).lost().expect("a loss");
        assert_eq!((best.updates, best.mean), (1, 0.8));
    }

    #[test]
    fn equal_scores_in_a_row_are_counted() {
        assert_eq!(curve(&[0.5, 0.6, 0.6, 0.6]).still_since(), None);
        assert_eq!(
            curve(&[0.6, 0.5, 0.6, 0.6, 0.6, 0.6]).still_since(),
            Some(2)
        );
    }

    #[test]
    fn players_are_passed_in_order_of_their_scores() {
        let rivals = [rival("best", 0.9), rival("good", 0.7), rival("random", 0.5)];
        assert_eq!(
            curve(&[0.6, 0.6]).passed(&rivals),
            [],
            "random was below it"
        );
        let passed = curve(&[0.4, 0.6, 0.8]).passed(&rivals);
        let found: Vec<_> = passed.iter().map(|p| (&p.label[..], p.seconds)).collect();
        assert_eq!(found, [("random", 1.0), ("good", 2.0)]);
    }
}
