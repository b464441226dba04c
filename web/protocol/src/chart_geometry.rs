//! Geometry of charts: axis ticks, positions of points, and places for names.

use crate::{Chart, Line};

use crate::number_format::{css, fixed, power_of_ten, scientific};

/// Height of the plot in pixels.
pub const PLOT: f64 = 200.0;
/// Height of a strip of bars with its label, in pixels.
pub const STRIP: f64 = 34.0;
/// Space for the signs above the bars of a strip, in pixels.
const SIGNS: f64 = 14.0;
/// Space above the plot for half a label, in pixels.
const TOP: f64 = 10.0;
/// Space for the labels of the horizontal axis, in pixels.
const FOOT: f64 = 36.0;
/// Smallest distance between two names at the ends of lines, in pixels.
const NAME_GAP: f64 = 16.0;

/// Labeled values of an axis, a whole number of equal steps apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ticks {
    /// First value, at or below the lowest value of the data.
    pub low: f64,
    /// Last value, at or above the highest value of the data.
    pub high: f64,
    /// Distance between two neighboring values.
    pub step: f64,
}

impl Ticks {
    /// Returns the labeled values.
    pub fn values(&self) -> impl Iterator<Item = f64> + use<> {
        let (low, step) = (self.low, self.step);
        let count = ((self.high - self.low) / self.step).round() as u32;
        (0..=count.min(50)).map(move |i| low + step * f64::from(i))
    }

    /// Returns the text of a labeled value, with as many decimals as needed to tell it from its
    /// neighbors.
    #[must_use]
    pub fn label(&self, value: f64) -> String {
        if value.abs() < self.step / 2.0 {
            return "0".to_owned();
        }
        if self.step < 5e-4 {
            return scientific(value, 1);
        }
        let mut digits = 0;
        let mut step = self.step;
        while digits < 4 && (step - step.round()).abs() > 1e-9 * step {
            step *= 10.0;
            digits += 1;
        }
        fixed(value, digits)
    }
}

/// Returns about `count` ticks that enclose `low` and `high`; their step is 1, 2, 2.5 or 5 times a
/// power of ten.
#[must_use]
pub fn ticks(low: f64, high: f64, count: f64) -> Ticks {
    let (low, high) = if high > low && (high - low).is_finite() {
        (low, high)
    } else {
        let low = if low.is_finite() { low } else { 0.0 };
        // A constant is drawn in the middle.
        let room = if low == 0.0 { 1.0 } else { low.abs() / 2.0 };
        (low - room, low + room)
    };
    let rough = (high - low) / count.max(1.0);
    let (power, _) = power_of_ten(rough);
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
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

/// Mapping from the values of a chart to pixels of its drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Width of the drawing.
    pub width: f64,
    /// Height of the drawing.
    pub height: f64,
    /// Left edge of the plot.
    pub left: f64,
    /// Right edge of the plot.
    pub right: f64,
    /// Top edge of the plot.
    pub top: f64,
    /// Bottom edge of the plot.
    pub bottom: f64,
    /// Highest horizontal position; the lowest is 0.
    pub x_max: f64,
    /// Ticks of the vertical axis, which span the plot from bottom to top.
    pub ticks: Ticks,
}

impl Scale {
    /// Creates the scale of `chart` for a drawing of `width` pixels, with positions from 0 to
    /// `x_max`.
    #[must_use]
    pub fn new(chart: &Chart, width: f64, last: f64) -> Self {
        let [low, high] = chart.range.map(f64::from);
        let ticks = ticks(low, high, 4.0);
        let longest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0) as f64;
        let label = longest(
            &mut ticks
                .values()
                .map(|value| ticks.label(value).chars().count()),
        );
        let left = 14.0 + 7.2 * label;
        let name = longest(&mut chart.lines.iter().map(|line| line.name.chars().count()));
        // One line needs no name: the title says what it is.
        let name = if chart.lines.len() > 1 {
            14.0 + 8.0 * name
        } else {
            12.0
        };
        let strip = longest(&mut chart.strips.iter().map(|strip| strip.label.chars().count()));
        let name = name.max(14.0 + 6.6 * strip);
        let has_plot = !chart.lines.is_empty();
        let bottom = if has_plot { TOP + PLOT } else { 2.0 };
        Self {
            width,
            height: bottom + chart.strips.len() as f64 * STRIP + FOOT,
            left,
            right: (width - name.min(width * 0.34)).max(left + 60.0),
            top: if has_plot { TOP } else { 2.0 },
            bottom,
            x_max: last.max(1.0),
            ticks,
        }
    }

    /// Returns the x coordinate of a horizontal position.
    #[must_use]
    pub fn x(&self, position: f64) -> f64 {
        self.left + (self.right - self.left) * (position / self.x_max).clamp(0.0, 1.0)
    }

    /// Returns the y coordinate of a value.
    #[must_use]
    pub fn y(&self, value: f64) -> f64 {
        let share = (value - self.ticks.low) / (self.ticks.high - self.ticks.low);
        self.bottom - (self.bottom - self.top) * share.clamp(0.0, 1.0)
    }

    /// Returns the y coordinate of the lower edge of a strip's bars.
    #[must_use]
    pub fn strip_base(&self, index: usize) -> f64 {
        self.bottom + (index + 1) as f64 * STRIP
    }

    /// Returns left edge, top edge, width and height of a bar in strip `strip`; `action` counts
    /// from 1.
    #[must_use]
    pub fn bar(&self, strip: usize, action: usize, value: f32) -> [f64; 4] {
        let slot = (self.right - self.left) / self.x_max;
        let gap = (slot * 0.12).clamp(0.2, 3.0);
        let value = if value.is_finite() {
            f64::from(value.clamp(0.0, 1.0))
        } else {
            0.0
        };
        let height = (value * (STRIP - SIGNS)).max(1.5);
        let right = self.x(action as f64);
        [
            right - slot + gap / 2.0,
            self.strip_base(strip) - height,
            (slot - gap).max(0.4),
            height,
        ]
    }

    /// Returns the index of the stop nearest to the x coordinate `x`; 0 if there is no stop.
    #[must_use]
    pub fn nearest_stop(&self, stops: &[f32], x: f64) -> usize {
        let mut nearest = (0, f64::INFINITY);
        for (index, stop) in stops.iter().enumerate() {
            let distance = (self.x(f64::from(*stop)) - x).abs();
            if distance < nearest.1 {
                nearest = (index, distance);
            }
        }
        nearest.0
    }

    /// Returns the horizontal positions to label, far enough apart for their numbers.
    #[must_use]
    pub fn x_ticks(&self) -> Vec<f64> {
        let room = ((self.right - self.left) / 80.0).clamp(1.0, 10.0);
        let ticks = ticks(0.0, self.x_max, room);
        let whole = ticks.values().filter(|value| value.fract() == 0.0);
        whole.filter(|value| *value <= self.x_max).collect()
    }

    /// Returns the SVG path of a line; it breaks where there is no value. A value between two breaks
    /// is a short stroke.
    #[must_use]
    pub fn line_path(&self, line: &Line) -> String {
        let mut out = String::new();
        let mut draws = false;
        for (index, value) in line.y.iter().enumerate() {
            if value.is_finite() {
                self.point(&mut out, if draws { 'L' } else { 'M' }, line, index, *value);
                let goes_on = line.y.get(index + 1).is_some_and(|next| next.is_finite());
                if !draws && !goes_on && line.y.len() > 1 {
                    out.push_str("h2");
                }
            }
            draws = value.is_finite();
        }
        out
    }

    /// Returns the SVG path of a line's interval; empty if the line has none.
    #[must_use]
    pub fn band_path(&self, line: &Line) -> String {
        let mut out = String::new();
        let known: Vec<usize> = (0..line.y.len().min(line.half_width.len()))
            .filter(|i| line.y[*i].is_finite() && line.half_width[*i].is_finite())
            .collect();
        for index in &known {
            let letter = if out.is_empty() { 'M' } else { 'L' };
            let high = line.y[*index] + line.half_width[*index];
            self.point(&mut out, letter, line, *index, high);
        }
        for index in known.iter().rev() {
            let low = line.y[*index] - line.half_width[*index];
            self.point(&mut out, 'L', line, *index, low);
        }
        out
    }

    fn point(&self, out: &mut String, letter: char, line: &Line, index: usize, value: f32) {
        out.push(letter);
        out.push_str(&css(self.x(f64::from(point_x(line, index)))));
        out.push(' ');
        out.push_str(&css(self.y(f64::from(value))));
    }

    /// Returns the y coordinates of the names at the ends of lines, moved apart so that none
    /// overlap.
    #[must_use]
    pub fn name_positions(&self, lines: &[Line]) -> Vec<f64> {
        let end = |line: &Line| {
            let last = line.y.iter().rev().find(|value| value.is_finite());
            last.map_or(self.bottom, |value| self.y(f64::from(*value)))
        };
        spread_labels(
            lines.iter().map(end).collect(),
            NAME_GAP,
            self.top,
            self.bottom,
        )
    }
}

/// Returns the horizontal position of point `index` of a line.
#[must_use]
pub fn point_x(line: &Line, index: usize) -> f32 {
    line.x.get(index).copied().unwrap_or(index as f32)
}

/// Returns the value of a line at a horizontal position; `None` if it has no point there.
#[must_use]
pub fn value_at(line: &Line, at: f32) -> Option<f32> {
    let index = if line.x.is_empty() {
        at as usize
    } else {
        let index = line.x.partition_point(|x| at - *x >= 1e-3);
        line.x.get(index).filter(|x| (*x - at).abs() < 1e-3)?;
        index
    };
    line.y.get(index).copied().filter(|value| value.is_finite())
}

/// Returns all horizontal positions at which a line of `chart` has a point, in ascending order.
#[must_use]
pub fn stops(chart: &Chart) -> Vec<f32> {
    let mut all: Vec<f32> = Vec::new();
    for line in &chart.lines {
        let before = std::mem::take(&mut all);
        let mut before = before.into_iter().peekable();
        let own = (0..line.y.len()).map(|index| point_x(line, index));
        for x in own.filter(|x| x.is_finite()) {
            all.extend(std::iter::from_fn(|| before.next_if(|other| *other < x)));
            if before.peek() != Some(&x) && all.last() != Some(&x) {
                all.push(x);
            }
        }
        all.extend(before);
    }
    all
}

/// Returns the highest horizontal position in `chart`.
#[must_use]
pub fn extent(chart: &Chart) -> f64 {
    let line = |line: &Line| match line.x.last() {
        Some(last) => *last,
        None => line.y.len().saturating_sub(1) as f32,
    };
    let lines = chart.lines.iter().map(line);
    let strips = chart.strips.iter().map(|strip| strip.bars.len() as f32);
    f64::from(lines.chain(strips).fold(0.0, f32::max))
}

/// Moves positions apart until neighbors are at least `gap` from each other, as little as possible,
/// and within `low..=high` if there is room.
#[must_use]
pub fn spread_labels(mut places: Vec<f64>, gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    // Insertion sort for a few names: the standard library's sort would enlarge the program.
    for i in 1..order.len() {
        let mut j = i;
        while j > 0 && places[order[j]] < places[order[j - 1]] {
            order.swap(j, j - 1);
            j -= 1;
        }
    }
    // Groups of touching names: sum of their positions, and number of names.
    let mut groups: Vec<(f64, usize)> = Vec::new();
    let start = |group: (f64, usize)| {
        let count = group.1 as f64;
        let top = group.0 / count - gap * (count - 1.0) / 2.0;
        top.min(high - gap * (count - 1.0)).max(low)
    };
    for index in &order {
        groups.push((places[*index], 1));
        while let [.., before, after] = groups[..] {
            if start(before) + gap * before.1 as f64 <= start(after) + 1e-9 {
                break;
            }
            groups.pop();
            groups.pop();
            groups.push((before.0 + after.0, before.1 + after.1));
        }
    }
    let mut names = order.iter();
    for group in groups {
        let top = start(group);
        for (offset, index) in names.by_ref().take(group.1).enumerate() {
            places[*index] = top + gap * offset as f64;
        }
    }
    places
}

#[cfg(test)]
#[path = "chart_geometry_tests.rs"]
mod tests;
