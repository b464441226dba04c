//! The frame that charts share: its size, its colors, and its axes with their ranges and ticks.

use std::sync::Arc;

use kuva::plot::legend::LegendPosition;
use kuva::render::annotations::ReferenceLine;
use kuva::render::layout::{ComputedLayout, Layout, TickFormat};
use kuva::render::plots::Plot as Layer;
use kuva::render::render::{Primitive, Scene, TextAnchor, render_multiple};
use kuva::render::theme::Theme;

use super::chart::{Axis, Chart};
use super::palette::{self, GRID, INK};

/// The size of a chart in pixels; a README shows it about as wide.
pub(super) const SIZE: (f64, f64) = (800.0, 480.0);
/// The share of the extent of the data that is left free at both ends of an axis.
pub(super) const MARGIN: f64 = 0.04;
/// The number of characters of a title or subtitle on one line.
const WRAP: usize = 84;

/// The height that the label of the vertical axis takes.
const LABEL_ROOM: f64 = 20.0;
/// The distance of that label from the left edge.
const EDGE: f64 = 14.0;

/// Returns the color of a series: its own, or the next of the palette.
pub(super) fn series_color(own: Option<&String>, index: usize) -> &str {
    own.map_or_else(|| palette::color(index), String::as_str)
}

/// Returns the layout that all charts share.
pub(super) fn layout(chart: &Chart, layers: &[Layer]) -> Layout {
    let theme = Theme {
        background: "white".into(),
        axis_color: INK.into(),
        grid_color: GRID.into(),
        tick_color: INK.into(),
        text_color: INK.into(),
        legend_bg: "white".into(),
        legend_border: "none".into(),
        ..Theme::default()
    };
    let mut layout = Layout::auto_from_plots(layers)
        .with_theme(theme)
        .with_width(SIZE.0)
        .with_height(SIZE.1)
        .with_title(chart.title.as_str())
        .with_title_size(17)
        .with_title_wrap(WRAP * 3 / 4)
        .with_label_size(13)
        .with_tick_size(12)
        .with_body_size(12)
        .with_grid_line_width(0.8)
        .with_legend_position(LegendPosition::OutsideRightTop)
        .with_legend_box(false);
    if let Some(subtitle) = &chart.subtitle {
        layout = layout
            .with_subtitle(subtitle.as_str())
            .with_subtitle_size(12)
            .with_subtitle_wrap(WRAP);
    }
    if !chart.x.label.is_empty() {
        layout = layout.with_x_label(chart.x.label_with_unit());
    }
    layout
}

/// Draws the layers. The label of the vertical axis stands above it, where it is read without
/// turning the head.
pub(super) fn render(chart: &Chart, layers: Vec<Layer>, mut layout: Layout) -> Scene {
    let label = chart.y.label_with_unit();
    if label.is_empty() {
        return render_multiple(layers, layout);
    }
    layout.force_margin_top = Some(ComputedLayout::from_layout(&layout).margin_top + LABEL_ROOM);
    let top = ComputedLayout::from_layout(&layout).margin_top;
    let mut scene = render_multiple(layers, layout);
    scene.add(Primitive::Text {
        x: EDGE,
        y: top - LABEL_ROOM / 2.0,
        content: label,
        size: 13,
        anchor: TextAnchor::Start,
        rotate: None,
        bold: false,
        color: Some(INK.into()),
    });
    scene
}

/// Returns the values at both ends of an axis over `values`.
pub(super) fn range(axis: &Axis, values: impl Iterator<Item = f64>) -> (f64, f64) {
    if let Some([low, high]) = axis.range {
        return (low, high);
    }
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    if high - low > f64::EPSILON * low.abs().max(high.abs()) {
        let margin = (high - low) * MARGIN;
        (low - margin, high + margin)
    } else if low.is_finite() {
        // One value: an extent in which it stands in the middle.
        let half = if axis.whole {
            1.0
        } else {
            (low.abs() * 0.1).max(0.05)
        };
        (low - half, high + half)
    } else {
        (0.0, 1.0)
    }
}

/// Returns the tick labels of an axis; those of counts are left out between whole numbers.
fn ticks(axis: &Axis) -> TickFormat {
    if axis.whole {
        let whole = |value: f64| {
            if value.fract().abs() < 1e-9 {
                format!("{value:.0}")
            } else {
                String::new()
            }
        };
        TickFormat::Custom(Arc::new(whole))
    } else {
        TickFormat::Auto
    }
}

pub(super) fn with_x(mut layout: Layout, axis: &Axis, (low, high): (f64, f64)) -> Layout {
    layout.x_range = (low, high);
    layout.data_x_range = Some((low, high));
    layout
        .with_x_axis_min(low)
        .with_x_axis_max(high)
        .with_x_tick_format(ticks(axis))
}

pub(super) fn with_y(mut layout: Layout, axis: &Axis, (low, high): (f64, f64)) -> Layout {
    layout.y_range = (low, high);
    layout.data_y_range = Some((low, high));
    if axis.range.is_some() {
        layout = layout.with_y_axis_min(low).with_y_axis_max(high);
    }
    layout.with_y_tick_format(ticks(axis))
}

/// Returns all values of a chart, with both ends of their intervals.
pub(super) fn extents(chart: &Chart) -> impl Iterator<Item = f64> {
    chart.estimates().into_iter().flat_map(|(_, estimate)| {
        std::iter::once(estimate.value).chain(estimate.interval.into_iter().flatten())
    })
}

pub(super) fn zero_line() -> ReferenceLine {
    ReferenceLine::horizontal(0.0)
        .with_color(INK)
        .with_dasharray("none")
}
