//! A chart as markup. Everything in it is a number or a word of ours, so nothing needs escaping.

use std::fmt::Write;

use super::{Plane, Plot, short, ticks};

/// Height of a chart in pixels.
pub const HEIGHT: f64 = 190.0;

/// The plane of a plot in a chart of this width.
#[must_use]
pub fn plane(plot: &Plot, width: f64, last: u64) -> Plane {
    let (low, high) = plot.range();
    Plane {
        left: 52.0,
        right: (width - 14.0).max(100.0),
        top: 8.0,
        bottom: HEIGHT - 36.0,
        steps: last.max(1),
        ticks: ticks(low, high, 4),
    }
}

/// Markup as it grows; a `String` takes all that is written to it.
struct Markup(String);

impl Markup {
    fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        let _ = write!(
            self.0,
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        );
    }

    fn text(&mut self, anchor: &str, at: (f64, f64), text: &str) {
        let (x, y) = at;
        let _ = write!(
            self.0,
            "<text class=\"axis\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
        );
    }

    fn dot(&mut self, index: usize, at: (f64, f64)) {
        let (x, y) = at;
        let _ = write!(
            self.0,
            "<circle class=\"dot c{index}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"/>"
        );
    }
}

/// The chart with its marker at `step`.
#[must_use]
pub fn drawing(plot: &Plot, plane: &Plane, step: u64) -> String {
    let width = plane.right + 14.0;
    let mut out = Markup(format!(
        "<svg aria-hidden=\"true\" viewBox=\"0 0 {width:.0} {HEIGHT}\" width=\"100%\" height=\"{HEIGHT}\">"
    ));
    let (left, right, bottom) = (plane.left, plane.right, plane.bottom);
    for value in plane.ticks.values() {
        let y = plane.y(value);
        out.line("grid", (left, y), (right, y));
        out.text("end", (left - 6.0, y + 4.0), &plane.ticks.label(value));
    }
    for step in plane.step_labels() {
        out.text("middle", (plane.x(step), bottom + 15.0), &step.to_string());
    }
    out.text("end", (right, bottom + 30.0), "optimizer step");
    if let Some((_, value)) = plot.best {
        out.line("best", (left, plane.y(value)), (right, plane.y(value)));
    }
    let x = plane.x(step);
    out.line("cursor", (x, plane.top), (x, bottom));
    // The first line is the sum of the others: it lies on top.
    for (index, line) in plot.lines.iter().enumerate().rev() {
        let points = plane.polyline(&line.points);
        let _ = write!(
            out.0,
            "<polyline class=\"line c{index}\" points=\"{points}\"/>"
        );
        if let Some(value) = line.at(step) {
            out.dot(index, (x, plane.y(value)));
        }
    }
    out.0 + "</svg>"
}

/// The values at a step, each with the stroke of its line.
#[must_use]
pub fn readout(plot: &Plot, step: u64) -> String {
    let mut out = Markup(format!("<span data-step=\"{step}\">Step {step}</span>"));
    for (index, line) in plot.lines.iter().enumerate() {
        out.0 += "<span class=\"value\"><svg class=\"stroke\" width=\"22\" height=\"8\" aria-hidden=\"true\">";
        out.line(&format!("line c{index}"), (0.0, 4.0), (22.0, 4.0));
        let value = line.at(step).map_or("–".to_owned(), short);
        let _ = write!(out.0, "</svg>{} <strong>{value}</strong></span>", line.name);
    }
    out.0
}

/// The same for those who hear it.
#[must_use]
pub fn spoken(plot: &Plot, step: u64) -> String {
    let mut out = format!("Step {step}");
    for line in &plot.lines {
        let value = line.at(step).map_or("no value".to_owned(), short);
        let _ = write!(out, ", {} {value}", line.name);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::{parse, plots};
    use super::*;

    #[test]
    fn a_chart_holds_its_lines_labels_and_values() {
        let text = r#"{"global_step": 100, "best_metric": 0.8, "log_history": [
            {"step": 50, "eval_reward": 0.7, "eval_rewards/task1/mean": 0.9},
            {"step": 100, "eval_reward": 0.8}]}"#;
        let (plots, _) = plots(&parse(text).expect("a trainer state"));
        let plot = &plots[0];
        let plane = plane(plot, 400.0, 100);
        let svg = drawing(plot, &plane, 50);
        for part in [
            "class=\"line c0\"",
            "class=\"line c1\"",
            "class=\"best\"",
            "class=\"cursor\"",
            "optimizer step",
            ">0.80</text>",
            ">100</text>",
        ] {
            assert!(svg.contains(part), "{part} is not in {svg}");
        }
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(readout(plot, 100).contains("overall <strong>0.800</strong>"));
        assert_eq!(
            spoken(plot, 100),
            "Step 100, overall 0.800, task 1 no value"
        );
        assert!(
            plot.with_grounded_rationale()
                .ends_with("Dashed: the best, 0.800 at step 100.")
        );
    }
}
