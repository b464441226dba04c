//! Charts of grouped bars and of horizontal bars.

use kuva::plot::{BarPlot, ScatterPlot};
use kuva::render::annotations::{ReferenceLine, TextAnnotation};
use kuva::render::plots::Plot as Layer;
use kuva::render::render::Scene;

use super::chart::{BarRow, BarSeries, Chart, Estimate};
use super::frame::{
    MARGIN, SIZE, extents, layout, range, render, series_color, with_x, with_y, zero_line,
};
use super::palette::{self, INK, MUTED};

/// The share of the height of a chart that a label above a bar takes.
const LABEL_SHARE: f64 = 0.07;
/// The largest number of bars that are labeled with their values.
const LABELED_BARS: usize = 16;

/// The width of a character of a group's name.
const CHARACTER: f64 = 7.0;
/// The share of the width of a chart between the vertical axis and the legend.
const PLOT_SHARE: f64 = 0.7;
/// The angle of names of groups that do not fit side by side, in degrees.
const SLANT: f64 = -35.0;

/// Formats the label of a bar, with as many decimals as tell bars apart.
fn bar_label(value: f64, largest: f64) -> String {
    if largest >= 100.0 {
        format!("{value:.0}")
    } else if largest >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// Returns the lengths of the whiskers of a number that has an interval.
fn whiskers(estimate: Estimate) -> Option<(f64, f64)> {
    let (below, above) = estimate.whiskers()?;
    Some((below.max(0.0), above.max(0.0)))
}

/// Returns points of no size, which only carry whiskers.
fn invisible(at: Vec<(f64, f64)>) -> ScatterPlot {
    ScatterPlot::new()
        .with_data(at)
        .with_color(INK)
        .with_size(0.0)
}

/// Draws bars side by side in groups, labeled with their values if there are few.
pub(super) fn grouped(chart: &Chart, groups: &[String], series: &[BarSeries]) -> Scene {
    const WIDTH: f64 = 0.8;
    let mut plot = BarPlot::new().with_width(WIDTH).with_error_cap_width(0.3);
    let (mut ends, mut labels) = (Vec::new(), Vec::new());
    let largest = extents(chart).fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let is_labeled = groups.len() * series.len() <= LABELED_BARS;
    let slot = WIDTH / series.len().max(1) as f64;
    let (low, mut high) = range(&chart.y, extents(chart).chain([0.0]));
    let above = (high - low) * 0.02;
    let tallest = extents(chart).fold(0.0, f64::max);
    if is_labeled {
        // Room for the label of the tallest bar.
        high = high.max(tallest + (high - low) * LABEL_SHARE);
    }
    for (i, group) in groups.iter().enumerate() {
        let bars = series.iter().enumerate().map(|(j, s)| {
            let value = s.values[i].map_or(0.0, |estimate| estimate.value);
            (value, series_color(s.color.as_ref(), j).to_owned())
        });
        plot = plot.with_group(group.as_str(), bars.collect::<Vec<_>>());
        for (j, s) in series.iter().enumerate() {
            let x = i as f64 + 1.0 - WIDTH / 2.0 + slot * (j as f64 + 0.5);
            if let Some(estimate) = s.values[i]
                && let Some(pair) = whiskers(estimate)
            {
                ends.push(((x, estimate.value), pair));
            }
            match s.values[i] {
                None => labels.push(TextAnnotation::new("none", x, above)),
                Some(estimate) if is_labeled => {
                    let top = estimate.interval.map_or(estimate.value, |[_, high]| high);
                    let text = bar_label(estimate.value, largest);
                    labels.push(TextAnnotation::new(text, x, top.max(0.0) + above));
                }
                Some(_) => {}
            }
        }
    }
    if series.len() > 1 {
        plot = plot.with_legend(series.iter().map(|s| s.label.as_str()).collect());
    }
    let mut layers = vec![Layer::Bar(plot)];
    if !ends.is_empty() {
        let (at, pairs): (Vec<_>, Vec<_>) = ends.into_iter().unzip();
        layers.push(Layer::Scatter(invisible(at).with_y_err_asymmetric(pairs)));
    }
    let mut layout = layout(chart, &layers);
    layout = with_y(layout, &chart.y, (low.min(0.0), high));
    if !fit_side_by_side(groups) {
        layout = layout.with_x_tick_rotate(SLANT);
    }
    if chart.y.range.is_none() && low >= -MARGIN * high * 2.0 {
        layout = layout.with_y_axis_min(0.0);
    }
    for label in labels {
        layout = layout.with_annotation(label.with_font_size(10).with_color(MUTED));
    }
    if low < -MARGIN * high * 2.0 {
        layout = layout.with_reference_line(zero_line());
    }
    render(chart, layers, layout)
}

/// Returns `true` if the names of groups fit side by side below their bars.
fn fit_side_by_side(groups: &[String]) -> bool {
    let longest = groups.iter().map(|group| group.chars().count()).max();
    let slot = SIZE.0 * PLOT_SHARE / groups.len().max(1) as f64;
    longest.unwrap_or(0) as f64 * CHARACTER <= slot
}

/// Draws a bar for each row, labeled with its value.
pub(super) fn horizontal(chart: &Chart, rows: &[BarRow]) -> Scene {
    let mut plot = BarPlot::new().with_horizontal(true).with_width(0.7);
    let (mut at, mut pairs) = (Vec::new(), Vec::new());
    // Rows are drawn from the bottom up.
    for (i, row) in rows.iter().rev().enumerate() {
        let color = row.color.as_deref().unwrap_or_else(|| palette::color(0));
        plot = plot.with_group(row.label.as_str(), vec![(row.estimate.value, color)]);
        if let Some(pair) = whiskers(row.estimate) {
            at.push((row.estimate.value, i as f64 + 1.0));
            pairs.push(pair);
        }
    }
    let mut layers = vec![Layer::Bar(plot)];
    if !at.is_empty() {
        layers.push(Layer::Scatter(invisible(at).with_x_err_asymmetric(pairs)));
    }
    let mut layout = layout(chart, &layers);
    let (low, high) = range(&chart.x, extents(chart).chain([0.0]));
    let low = if low >= -MARGIN * high * 2.0 {
        0.0
    } else {
        low
    };
    layout = with_x(layout, &chart.x, (low, high));
    let largest = extents(chart).fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let beside = (high - low) * 0.03;
    for (i, row) in rows.iter().rev().enumerate() {
        let end = row
            .estimate
            .interval
            .map_or(row.estimate.value, |[_, high]| high);
        let text = bar_label(row.estimate.value, largest);
        let label = TextAnnotation::new(text, end.max(0.0) + beside, i as f64 + 1.0);
        layout = layout.with_annotation(label.with_font_size(11).with_color(MUTED));
    }
    // Room for the labels behind the longest bar.
    if chart.x.range.is_none() {
        layout = layout.with_x_axis_max(high + beside * 2.0);
    }
    if low < 0.0 {
        let zero = ReferenceLine::vertical(0.0).with_color(INK);
        layout = layout.with_reference_line(zero.with_dasharray("none"));
    }
    render(chart, layers, layout)
}
