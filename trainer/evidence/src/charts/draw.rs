//! Drawing: from the description of a chart to the shapes of the library `kuva`.

use kuva::plot::legend::{LegendEntry, LegendShape};
use kuva::plot::line::LineStyle;
use kuva::plot::scatter::MarkerShape;
use kuva::plot::{BandPlot, LinePlot, RadarPlot, ScatterPlot};
use kuva::render::annotations::ReferenceLine;
use kuva::render::plots::Plot as Layer;
use kuva::render::render::Scene;

use super::chart::{AreaSeries, BaselineLine, Chart, Plot, Point, PointSeries};
use super::frame::{extents, layout, range, render, series_color, with_x, with_y, zero_line};
use super::palette::MUTED;
use super::{bars, fishbone};

/// Lines of at most this many points have a marker at each.
const MARKED_POINTS: usize = 24;

/// Draws a valid chart.
pub(super) fn scene(chart: &Chart) -> Scene {
    match &chart.plot {
        Plot::GroupedBars { groups, series } => bars::grouped(chart, groups, series),
        Plot::HorizontalBars { rows } => bars::horizontal(chart, rows),
        Plot::Lines { series, references } => points(chart, series, references, true),
        Plot::Points { series, references } => points(chart, series, references, false),
        Plot::StackedArea { x, series } => stacked_area(chart, x, series),
        Plot::Radar {
            axes,
            range,
            series,
        } => radar(chart, axes, *range, series),
        Plot::Fishbone { effect, causes } => fishbone::scene(chart, effect, causes),
    }
}

fn points(
    chart: &Chart,
    series: &[PointSeries],
    references: &[BaselineLine],
    connected: bool,
) -> Scene {
    const MARKERS: [MarkerShape; 4] = [
        MarkerShape::Circle,
        MarkerShape::Square,
        MarkerShape::Triangle,
        MarkerShape::Diamond,
    ];
    // Of lines that coincide, the ones below can be seen at the sides.
    let wider = if coincide(series) { 0.6 } else { 0.0 };
    let width = |i: usize| 2.0 + wider * (series.len() - 1 - i).min(4) as f64;
    let mut layers = Vec::new();
    for (i, s) in series.iter().enumerate() {
        let color = series_color(s.color.as_ref(), i);
        let has_band = s.points.iter().any(|point| point.interval.is_some());
        let is_marked = !connected || s.points.len() <= MARKED_POINTS;
        let mut needs_legend = true;
        for points in s.segments().filter(|points| connected && points.len() > 1) {
            if has_band {
                layers.push(Layer::Band(band(points, color)));
            }
            let mut line = LinePlot::new()
                .with_data(pairs(points))
                .with_color(color)
                .with_stroke_width(width(i));
            if std::mem::take(&mut needs_legend) {
                line = line.with_legend(s.label.as_str());
            }
            if s.dashed {
                line = line.with_line_style(LineStyle::Dashed);
            }
            layers.push(Layer::Line(line));
        }
        // A point between two gaps has no line.
        let marked: Vec<Point> = if is_marked {
            s.points.clone()
        } else {
            let alone = s.segments().filter(|points| points.len() == 1);
            alone.flatten().copied().collect()
        };
        if is_marked || !marked.is_empty() {
            let mut marks = ScatterPlot::new()
                .with_data(pairs(&marked))
                .with_color(color)
                .with_marker(MARKERS[i % MARKERS.len()])
                .with_size(3.6);
            if needs_legend {
                marks = marks.with_legend(s.label.as_str());
                if has_band {
                    let whiskers = marked.iter().map(|p| {
                        let (low, high) = p.estimate().whiskers().unwrap_or_default();
                        (low.max(0.0), high.max(0.0))
                    });
                    marks = marks.with_y_err_asymmetric(whiskers.collect::<Vec<_>>());
                }
            }
            layers.push(Layer::Scatter(marks));
        }
    }
    let xs = series
        .iter()
        .flat_map(|s| s.points.iter().map(|p| p.x).chain(s.gaps.iter().copied()));
    let x = range(&chart.x, xs);
    let reference_values = references.iter().map(|reference| reference.value);
    let y = range(&chart.y, extents(chart).chain(reference_values));
    let mut layout = with_y(with_x(layout(chart, &layers), &chart.x, x), &chart.y, y);
    for reference in references {
        let line = if reference.value == 0.0 && reference.label.is_empty() {
            zero_line()
        } else {
            ReferenceLine::horizontal(reference.value)
                .with_color(MUTED)
                .with_label(reference.label.as_str())
        };
        layout = layout.with_reference_line(line);
    }
    render(chart, layers, layout)
}

/// Returns `true` if two series have half of their points in common.
fn coincide(series: &[PointSeries]) -> bool {
    let mut pairs = series
        .iter()
        .enumerate()
        .flat_map(|(i, one)| series[..i].iter().map(move |other| (one, other)));
    pairs.any(|(one, other)| {
        let both = one.points.iter().zip(&other.points);
        let shared = both
            .filter(|(a, b)| a.x == b.x && a.value == b.value)
            .count();
        shared > 1 && shared * 2 >= one.points.len()
    })
}

/// Returns the positions of points.
fn pairs(points: &[Point]) -> Vec<(f64, f64)> {
    points.iter().map(|p| (p.x, p.value)).collect()
}

/// Returns the band of a line; points without an interval have one of no height.
fn band(points: &[Point], color: &str) -> BandPlot {
    let ends = |k: usize| {
        let points = points.iter();
        points.map(move |p| p.interval.map_or(p.value, |ends| ends[k]))
    };
    let xs = points.iter().map(|p| p.x);
    BandPlot::new(
        xs.collect::<Vec<_>>(),
        ends(0).collect::<Vec<_>>(),
        ends(1).collect::<Vec<_>>(),
    )
    .with_color(color)
    .with_opacity(0.18)
}

fn stacked_area(chart: &Chart, x: &[f64], series: &[AreaSeries]) -> Scene {
    // A single point is drawn as wide as the distance of two steps.
    let widened: Vec<f64> = match x {
        [only] => vec![only - 0.5, only + 0.5],
        _ => x.to_vec(),
    };
    let at = |values: &[f64], i: usize| values[i.min(values.len() - 1)];
    let count = widened.len();
    let (mut above, mut below) = (vec![0.0; count], vec![0.0; count]);
    let mut layers = Vec::new();
    for (k, s) in series.iter().enumerate() {
        let color = series_color(s.color.as_ref(), k);
        for (base, sign) in [(&mut above, 1.0), (&mut below, -1.0)] {
            let from = base.clone();
            for (i, height) in base.iter_mut().enumerate() {
                *height += sign * (sign * at(&s.values, i)).max(0.0);
            }
            if from == *base {
                continue;
            }
            let (low, high) = if sign > 0.0 {
                (from, base.clone())
            } else {
                (base.clone(), from)
            };
            let area = BandPlot::new(widened.clone(), low, high)
                .with_color(color)
                .with_opacity(0.85);
            layers.push(Layer::Band(area));
        }
    }
    let heights = above.iter().chain(&below).copied().chain([0.0]);
    let y = range(&chart.y, heights);
    let low = if below.iter().all(|height| *height == 0.0) {
        0.0
    } else {
        y.0
    };
    let ends = (widened[0], widened[count - 1]);
    // From top to bottom, as the areas are seen.
    let entries = series.iter().enumerate().rev().map(|(k, s)| LegendEntry {
        label: s.label.clone(),
        color: series_color(s.color.as_ref(), k).to_owned(),
        shape: LegendShape::Rect,
        dasharray: None,
    });
    let mut layout = layout(chart, &layers).with_legend_entries(entries.collect());
    layout = with_x(layout, &chart.x, chart.x.range.map_or(ends, Into::into));
    layout = with_y(layout, &chart.y, (low, y.1));
    if low < 0.0 {
        layout = layout.with_reference_line(zero_line());
    }
    render(chart, layers, layout)
}

fn radar(chart: &Chart, axes: &[String], [low, high]: [f64; 2], series: &[AreaSeries]) -> Scene {
    let mut plot = RadarPlot::new(axes.iter().map(String::as_str))
        .with_range(low, high)
        .with_filled(true)
        .with_opacity(0.08)
        .with_stroke_width(2.2)
        .with_dot_size(3.2)
        .with_grid_lines(4)
        .with_legend(true);
    for (i, s) in series.iter().enumerate() {
        let color = series_color(s.color.as_ref(), i);
        plot = plot.with_series_color(s.values.clone(), s.label.as_str(), color);
    }
    let layers = vec![Layer::Radar(plot)];
    let mut layout = layout(chart, &layers);
    layout.force_margin_bottom = Some(8.0);
    layout.force_margin_left = Some(8.0);
    render(chart, layers, layout)
}
