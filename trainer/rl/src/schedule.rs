//! Learning rate schedules, computed as in transformers.

use serde::{Deserialize, Serialize};

/// The shape of the learning rate after its warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum ScheduleKind {
    /// Linear decay to 0
    #[default]
    Linear,
    /// Half-cosine decay to 0
    Cosine,
    /// Constant after the warm-up
    #[serde(alias = "constant_with_warmup")]
    #[value(alias = "constant_with_warmup")]
    Constant,
}

/// A learning rate schedule by optimizer step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// Shape after the warm-up.
    pub kind: ScheduleKind,
    /// Largest learning rate, at the end of the warm-up.
    pub peak: f64,
    /// Number of steps over which the rate rises from 0.
    pub warmup: usize,
    /// Total number of steps of the run.
    pub total: usize,
}

impl Schedule {
    /// Returns the learning rate of a step, counted from 0.
    #[must_use]
    pub fn at(&self, step: usize) -> f64 {
        let (step, warmup) = (step as f64, self.warmup as f64);
        if step < warmup {
            return self.peak * step / warmup.max(1.0);
        }
        let total = self.total as f64;
        let progress = (step - warmup) / (total - warmup).max(1.0);
        let factor = match self.kind {
            ScheduleKind::Linear => 1.0 - progress,
            ScheduleKind::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * progress).cos()),
            ScheduleKind::Constant => 1.0,
        };
        self.peak * factor.max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(kind: ScheduleKind) -> Schedule {
        Schedule {
            kind,
            peak: 2.0,
            warmup: 4,
            total: 12,
        }
    }

    #[test]
    fn schedules_share_warmup_and_end_at_expected_rate() {
        let ends = [
            (ScheduleKind::Linear, 1.0, 0.0),
            (ScheduleKind::Cosine, 1.0, 0.0),
            (ScheduleKind::Constant, 2.0, 2.0),
        ];
        for (kind, middle, end) in ends {
            let schedule = schedule(kind);
            let near = |step, expected: f64| {
                let found = schedule.at(step);
                assert!((found - expected).abs() < 1e-12, "{kind:?} {step} {found}");
            };
            near(0, 0.0);
            near(2, 1.0);
            near(4, 2.0);
            near(8, middle);
            near(12, end);
        }
    }

    #[test]
    fn cosine_schedule_starts_above_linear_and_ends_below() {
        let (cosine, line) = (
            schedule(ScheduleKind::Cosine),
            schedule(ScheduleKind::Linear),
        );
        assert!(cosine.at(6) > line.at(6) && cosine.at(10) < line.at(10));
    }
}
