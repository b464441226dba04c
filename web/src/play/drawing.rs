//! A chart of an episode as markup: lines over all actions, and strips of bars below them.

use std::fmt::Write;

use sentinel_policy::insertion_sort::sort;

use super::{Frame2d, polyline, tick_positions};

/// Where the parts of a chart stand, whatever it shows. Lengths are in pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shape {
    /// What the chart is called.
    pub title: &'static str,
    /// Height of the whole.
    pub height: f64,
    /// Lower edge of the lines.
    pub bottom: f64,
    /// Lower edge of all that moves with the cursor.
    pub foot: f64,
    /// Room for the names at the ends of the lines.
    pub margin: f64,
}

impl Shape {
    /// The plane of the lines for a chart of this width.
    #[must_use]
    pub fn plane(&self, width: f64, actions: usize) -> Frame2d {
        Frame2d {
            left: 34.0,
            right: (width - self.margin).max(60.0),
            top: 12.0,
            bottom: self.bottom,
            actions: actions.max(1),
        }
    }
}

/// What a chart shows, apart from its width.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// Where its parts stand.
    pub shape: Shape,
    /// Lines of values 0..1.
    pub lines: Vec<Line>,
    /// Strips of bars, from top to bottom.
    pub strips: Vec<Strip>,
    /// What is said of each action when it is pointed at; empty when nothing is.
    pub titles: Vec<String>,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Number of its color and dashes, `0..5`.
    pub style: usize,
    /// What stands at its end.
    pub name: &'static str,
    /// Its value after 0, 1, 2, … actions.
    pub values: Vec<f64>,
}

/// One strip of bars.
#[derive(Clone, Debug, PartialEq)]
pub struct Strip {
    /// What stands above it.
    pub label: String,
    /// Upper edge in pixels.
    pub top: f64,
    /// Lower edge in pixels.
    pub bottom: f64,
    /// Its bars.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// The action, from 1 on.
    pub action: usize,
    /// Its height, 0..1 of the strip's.
    pub value: f64,
    /// Style classes.
    pub class: String,
    /// What stands above it, and the style class of that.
    pub sign: Option<(String, &'static str)>,
}

impl Drawing {
    /// The chart without its cursor. Numbers and words of ours only, so nothing needs escaping.
    #[must_use]
    pub fn markup(&self, width: f64, actions: usize) -> String {
        let plane = self.shape.plane(width, actions);
        let mut out = String::new();
        self.axes(&plane, &mut out);
        self.bars(&plane, &mut out);
        self.draw_lines(&plane, &mut out);
        out
    }

    fn axes(&self, plane: &Frame2d, out: &mut String) {
        let (left, right) = (plane.left, plane.right);
        for value in [0.0, 0.25, 0.5, 0.75, 1.0] {
            let y = plane.y(value);
            // A `String` takes all that is written to it, here and below.
            let _ = write!(
                out,
                "<line class=\"grid\" x1=\"{left}\" x2=\"{right}\" y1=\"{y}\" y2=\"{y}\"/>\
                <text class=\"axis\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{value:.2}</text>",
                left - 6.0,
                y + 4.0
            );
        }
        for strip in &self.strips {
            let _ = write!(
                out,
                "<text class=\"axis band\" x=\"{left}\" y=\"{}\">{}</text>",
                strip.top - 4.0,
                strip.label
            );
        }
        for action in tick_positions(plane) {
            let _ = write!(
                out,
                "<text class=\"axis\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{action}</text>",
                plane.x(action),
                self.shape.height - 4.0
            );
        }
    }

    fn bars(&self, plane: &Frame2d, out: &mut String) {
        for strip in &self.strips {
            for bar in &strip.bars {
                let (from, to) = (plane.x(bar.action - 1), plane.x(bar.action));
                let gap = if to - from > 5.0 { 2.0 } else { 0.4 };
                let height = (strip.bottom - strip.top) * bar.value.clamp(0.0, 1.0);
                let _ = write!(
                    out,
                    "<rect class=\"{}\" x=\"{:.1}\" width=\"{:.1}\" y=\"{:.1}\" height=\"{height:.1}\"/>",
                    bar.class,
                    from + gap / 2.0,
                    (to - from - gap).max(1.0),
                    strip.bottom - height,
                );
                if let Some((text, class)) = &bar.sign {
                    let _ = write!(
                        out,
                        "<text class=\"sign {class}\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>",
                        (from + to) / 2.0,
                        strip.bottom - 3.0
                    );
                }
            }
        }
        for (index, title) in self.titles.iter().enumerate() {
            let (from, to) = (plane.x(index), plane.x(index + 1));
            let top = self
                .strips
                .first()
                .map_or(self.shape.bottom, |strip| strip.top);
            let _ = write!(
                out,
                "<rect class=\"touch\" x=\"{from:.1}\" width=\"{:.1}\" y=\"{top}\" height=\"{}\"><title>{title}</title></rect>",
                to - from,
                self.shape.foot - top
            );
        }
    }

    fn draw_lines(&self, plane: &Frame2d, out: &mut String) {
        let last = |line: &Line| line.values.last().copied().unwrap_or(0.0);
        let ends: Vec<f64> = self.lines.iter().map(|line| plane.y(last(line))).collect();
        let ends = spread(&ends, self.shape.bottom + 4.0);
        for (line, y) in self.lines.iter().zip(ends) {
            let x = plane.x(line.values.len().saturating_sub(1)) + 5.0;
            let points = polyline(plane, line.values.iter().copied());
            let _ = write!(
                out,
                "<polyline class=\"line s{0}\" points=\"{points}\"/>\
                <text class=\"name s{0}\" x=\"{x:.1}\" y=\"{1:.1}\">{2}</text>",
                line.style,
                y + 4.0,
                line.name
            );
        }
    }
}

/// Moves labels apart that would cover each other.
fn spread(ys: &[f64], bottom: f64) -> Vec<f64> {
    const GAP: f64 = 12.0;
    let mut order: Vec<usize> = (0..ys.len()).collect();
    sort(&mut order, |a, b| ys[*a] < ys[*b]);
    let mut out = ys.to_vec();
    for pair in 1..order.len() {
        let (above, below) = (order[pair - 1], order[pair]);
        out[below] = out[below].max(out[above] + GAP);
    }
    // Pushed out of the plot: pull the whole tail back up.
    for pair in (0..order.len()).rev() {
        let limit = bottom - GAP * (order.len() - 1 - pair) as f64;
        out[order[pair]] = out[order[pair]].min(limit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_their_distance_and_stay_inside() {
        let ys = spread(&[180.0, 181.0, 20.0, 182.0, 183.0], 190.0);
        let mut sorted = ys.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= 12.0));
        assert!(sorted[4] <= 190.0 && ys[2] == 20.0);
    }

    #[test]
    fn every_bar_and_line_is_drawn() {
        let bar = |action, value| Bar {
            action,
            value,
            class: "reward".to_owned(),
            sign: (action == 2).then(|| ("!".to_owned(), "bad")),
        };
        let drawing = Drawing {
            shape: Shape {
                title: "",
                height: 292.0,
                bottom: 186.0,
                foot: 272.0,
                margin: 30.0,
            },
            lines: vec![Line {
                style: 3,
                name: "S3",
                values: vec![0.5, 1.0, 0.0],
            }],
            strips: vec![Strip {
                label: "reward".to_owned(),
                top: 206.0,
                bottom: 240.0,
                bars: vec![bar(1, 0.5), bar(2, 7.0)],
            }],
            titles: vec!["first".to_owned(), "second".to_owned()],
        };
        let svg = drawing.markup(640.0, 2);
        assert_eq!(svg.matches("<rect class=\"reward\"").count(), 2);
        assert_eq!(svg.matches("<title>").count(), 2);
        assert!(
            svg.contains("height=\"34.0\"") && svg.contains("line s3"),
            "{svg}"
        );
    }
}
