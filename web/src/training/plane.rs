//! The plane of a curve: where a step and a value stand, and which values to label.

/// Values to label on an axis, a whole number of equal steps apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ticks {
    /// The first, at or below the lowest value.
    pub low: f64,
    /// The last, at or above the highest value.
    pub high: f64,
    /// The distance between two.
    pub step: f64,
}

impl Ticks {
    /// Each labeled value.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        let (low, step) = (self.low, self.step);
        let count = ((self.high - self.low) / self.step).round() as u32;
        (0..=count).map(move |i| low + step * f64::from(i))
    }

    /// The text of a labeled value: as many decimals as tell it from its neighbors.
    #[must_use]
    pub fn label(&self, value: f64) -> String {
        if value.abs() < self.step / 2.0 {
            return "0".to_owned();
        }
        if self.step < 5e-4 {
            return format!("{value:.1e}");
        }
        let decimals = (-self.step.log10().floor()).max(0.0) as usize;
        format!("{value:.decimals$}")
    }
}

/// About `count` labels that hold `low` and `high` between them: 1, 2 or 5 times a power of ten apart.
#[must_use]
pub fn ticks(low: f64, high: f64, count: u32) -> Ticks {
    let (low, high) = if high > low {
        (low, high)
    } else {
        // A constant stands in the middle of something.
        let room = if low == 0.0 { 1.0 } else { low.abs() / 2.0 };
        (low - room, low + room)
    };
    let rough = (high - low) / f64::from(count.max(1));
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(10.0 * power);
    Ticks {
        low: (low / step + 1e-9).floor() * step,
        high: (high / step - 1e-9).ceil() * step,
        step,
    }
}

/// A number for a person: few digits, or a power of ten when it is tiny.
#[must_use]
pub fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        small if small < 1e-3 => format!("{value:.2e}"),
        small if small < 0.1 => format!("{value:.4}"),
        large if large >= 1000.0 => format!("{value:.0}"),
        _ => format!("{value:.3}"),
    }
}

/// The plane of a chart in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plane {
    /// Left edge of the plot.
    pub left: f64,
    /// Right edge.
    pub right: f64,
    /// Top edge.
    pub top: f64,
    /// Bottom edge.
    pub bottom: f64,
    /// The last step; at least one.
    pub steps: u64,
    /// The values between bottom and top.
    pub ticks: Ticks,
}

impl Plane {
    /// Where a step stands.
    #[must_use]
    pub fn x(&self, step: u64) -> f64 {
        self.left + (self.right - self.left) * step as f64 / self.steps.max(1) as f64
    }

    /// Where a value stands.
    #[must_use]
    pub fn y(&self, value: f64) -> f64 {
        let share = (value - self.ticks.low) / (self.ticks.high - self.ticks.low);
        self.bottom - (self.bottom - self.top) * share.clamp(0.0, 1.0)
    }

    /// The index of the step nearest to a horizontal position; 0 when there is none.
    #[must_use]
    pub fn nearest(&self, steps: &[u64], x: f64) -> usize {
        let distance = |step: &u64| (self.x(*step) - x).abs();
        let near = steps.iter().enumerate();
        let near = near.min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)));
        near.map_or(0, |(index, _)| index)
    }

    /// The points of a line.
    #[must_use]
    pub fn polyline(&self, points: &[(u64, f64)]) -> String {
        let point =
            |(step, value): &(u64, f64)| format!("{:.1},{:.1}", self.x(*step), self.y(*value));
        points.iter().map(point).collect::<Vec<_>>().join(" ")
    }

    /// Steps to label, with room for their numbers.
    #[must_use]
    pub fn step_labels(&self) -> Vec<u64> {
        let room = ((self.right - self.left) / 70.0).clamp(1.0, 12.0) as u32;
        let ticks = ticks(0.0, self.steps.max(1) as f64, room);
        let whole = ticks.values().filter(|value| value.fract() == 0.0);
        whole
            .map(|value| value as u64)
            .filter(|step| *step <= self.steps)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(low: f64, high: f64, count: u32) -> Vec<String> {
        let ticks = ticks(low, high, count);
        ticks.values().map(|value| ticks.label(value)).collect()
    }

    #[test]
    fn labels_are_round_and_hold_the_data() {
        assert_eq!(labels(0.61, 0.87, 4), ["0.6", "0.7", "0.8", "0.9"]);
        assert_eq!(
            labels(0.0, 1.0, 5),
            ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert_eq!(labels(0.0, 3e-4, 3), ["0", "1.0e-4", "2.0e-4", "3.0e-4"]);
        assert_eq!(labels(0.7, 0.7, 2), ["0", "0.5", "1.0", "1.5"]);
        assert_eq!(labels(0.0, 0.0, 2), ["-1", "0", "1"]);
        for (low, high) in [(0.0, 1e-9), (-5.0, 7e6), (0.8, 0.8000001), (-2.0, -1.0)] {
            let ticks = ticks(low, high, 4);
            assert!(ticks.low <= low + ticks.step * 1e-6 && ticks.high >= high - ticks.step * 1e-6);
            assert!((2..=9).contains(&ticks.values().count()), "{low} {high}");
        }
    }

    #[test]
    fn a_position_leads_to_the_nearest_step() {
        let plane = Plane {
            left: 40.0,
            right: 440.0,
            top: 10.0,
            bottom: 110.0,
            steps: 200,
            ticks: ticks(0.0, 1.0, 5),
        };
        let steps = [0, 50, 100, 200];
        for (index, step) in steps.iter().enumerate() {
            assert_eq!(plane.nearest(&steps, plane.x(*step) + 9.0), index);
        }
        assert_eq!(
            (plane.nearest(&steps, -1e9), plane.nearest(&steps, 1e9)),
            (0, 3)
        );
        assert_eq!(plane.nearest(&[], 7.0), 0);
        assert_eq!(
            plane.polyline(&[(0, 0.0), (200, 1.0)]),
            "40.0,110.0 440.0,10.0"
        );
        assert_eq!(plane.step_labels(), [0, 50, 100, 150, 200]);
        assert_eq!(Plane { steps: 1, ..plane }.step_labels(), [0, 1]);
    }

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, 0.8123456, 0.01234567, 3e-4, 123456.0].map(short);
        assert_eq!(texts, ["0", "0.812", "0.0123", "3.00e-4", "123456"]);
    }
}
