//! Geometry of the charts, apart from their markup.

/// The plane of a chart in pixels: actions run from left to right, values from 0 (bottom) to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame2d {
    /// Left edge of the plot.
    pub left: f64,
    /// Right edge of the plot.
    pub right: f64,
    /// Top edge: value 1.
    pub top: f64,
    /// Bottom edge: value 0.
    pub bottom: f64,
    /// Number of actions that fit; at least one.
    pub actions: usize,
}

impl Frame2d {
    /// Where the state after `action` actions stands.
    #[must_use]
    pub fn x(&self, action: usize) -> f64 {
        let share = action as f64 / self.actions.max(1) as f64;
        self.left + (self.right - self.left) * share
    }

    /// Where a value of 0..1 stands.
    #[must_use]
    pub fn y(&self, value: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * value.clamp(0.0, 1.0)
    }

    /// The number of actions nearest to a horizontal position.
    #[must_use]
    pub fn action_at(&self, x: f64) -> usize {
        let share = (x - self.left) / (self.right - self.left).max(1.0);
        (share.clamp(0.0, 1.0) * self.actions as f64).round() as usize
    }
}

/// The points of a line through values 0, 1, 2, … actions.
#[must_use]
pub fn polyline(frame: &Frame2d, values: impl Iterator<Item = f64>) -> String {
    values
        .enumerate()
        .map(|(i, value)| format!("{:.1},{:.1}", frame.x(i), frame.y(value)))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Actions to label on the axis: multiples of 1, 2 or 5 that leave room for the numbers.
#[must_use]
pub fn tick_positions(frame: &Frame2d) -> Vec<usize> {
    let room = ((frame.right - frame.left) / 36.0).max(1.0);
    let step = [1, 2, 5, 10]
        .into_iter()
        .find(|s| frame.actions as f64 / *s as f64 <= room);
    (0..=frame.actions).step_by(step.unwrap_or(10)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_leads_back_to_its_action() {
        let frame = Frame2d {
            left: 30.0,
            right: 630.0,
            top: 10.0,
            bottom: 110.0,
            actions: 24,
        };
        for action in 0..=24 {
            assert_eq!(frame.action_at(frame.x(action)), action);
        }
        assert_eq!(frame.action_at(-50.0), 0);
        assert_eq!(frame.action_at(9999.0), 24);
        assert_eq!(frame.action_at(f64::NAN), 0);
        let empty = Frame2d {
            actions: 0,
            ..frame
        };
        assert_eq!(polyline(&empty, [0.5].into_iter()), "30.0,60.0");
    }

    #[test]
    fn labels_do_not_crowd() {
        for width in [120.0, 300.0, 900.0] {
            let frame = Frame2d {
                left: 0.0,
                right: width,
                top: 0.0,
                bottom: 1.0,
                actions: 40,
            };
            assert!(tick_positions(&frame).len() as f64 <= width / 36.0 + 2.0);
        }
    }
}
