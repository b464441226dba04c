//! A chart: lines over a shared axis, strips of bars below, and a cursor that can be dragged.

use std::sync::Arc;

use leptos::prelude::{
    Callable, Callback, GetValue, SetValue, StoredValue, UpdateValue, on_cleanup, untrack,
};
use sentinel_page_protocol::{Bar, Chart, Line, Strip};
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::KeyboardEvent;

use super::widgets::tone_name;
use crate::chart_geometry::{Scale, value_at};
use crate::dom::html::{b, div, h3, i, p, section, small, span};
use crate::dom::svg::{line, path, rect, svg, text};
use crate::dom::{El, IntoView, NodeRef, View};
use crate::number_format::{compact, css, fixed};
use crate::page::Page;
use crate::reactive::{Memo, Signal, effect, memo};

/// Cursor of a chart, with the positions that it can take.
#[derive(Clone, Copy)]
pub struct Scrubber {
    /// Positions that the cursor can take, in ascending order.
    pub stops: Memo<Arc<Vec<f32>>>,
    /// Index of the current position in `stops`.
    pub at: Memo<usize>,
    /// Moves the cursor to the position with this index.
    pub seek: Callback<usize>,
    /// `true` to fade the part of the chart ahead of the cursor.
    pub fades_future: Memo<bool>,
    /// `true` to show the values at the cursor below the chart.
    pub shows_values: bool,
}

impl Scrubber {
    /// Creates the scrubber of a chart over the actions 0 to `last` of an episode: it moves the
    /// page's cursor.
    pub fn over_episode(
        page: Page,
        at: Memo<usize>,
        last: Memo<usize>,
        shows_values: bool,
    ) -> Self {
        Self {
            stops: memo(move || Arc::new((0..=last.get()).map(|action| action as f32).collect())),
            at,
            seek: Callback::new(move |action| page.seek(action)),
            fades_future: memo(move || !page.future.get()),
            shows_values,
        }
    }

    /// Moves the cursor by a key; other keys do nothing.
    fn press(self, event: &KeyboardEvent) {
        let far = if event.shift_key() { 5 } else { 1 };
        let at = self.at.get_untracked();
        let end = untrack(move || self.end());
        let to = match event.key().as_str() {
            "ArrowLeft" | "ArrowDown" => at.saturating_sub(far),
            "ArrowRight" | "ArrowUp" => at + far,
            "PageDown" => at.saturating_sub(10),
            "PageUp" => at + 10,
            "Home" => 0,
            "End" => end,
            _ => return,
        };
        event.prevent_default();
        event.stop_propagation();
        self.seek.run(to.min(end));
    }

    fn position(self) -> f32 {
        let at = self.at.get();
        self.stops
            .with(|stops| stops.get(at).or(stops.last()).copied().unwrap_or(0.0))
    }

    fn end(self) -> usize {
        self.stops.with(|stops| stops.len().saturating_sub(1))
    }
}

/// Returns a chart. It is a slider: arrow keys, pressing and dragging move the cursor.
#[must_use]
pub fn chart_view(chart: Memo<Arc<Chart>>, scrubber: Scrubber) -> El {
    let node = NodeRef::new_local(None);
    let width = measured_width(node);
    let scale = memo(move || {
        let last = scrubber
            .stops
            .with(|stops| f64::from(stops.last().copied().unwrap_or(1.0)));
        chart.with(|chart| Scale::new(chart, width.get(), last))
    });
    let point = move |event: &web_sys::PointerEvent| {
        let Some(node) = node.get_value() else {
            return;
        };
        let x = f64::from(event.client_x()) - node.get_bounding_client_rect().left();
        let scale = scale.get_untracked();
        let index = scrubber
            .stops
            .with_untracked(|stops| scale.nearest_stop(stops, x));
        scrubber.seek.run(index);
    };
    let drawing = move || chart.with(|chart| drawing(chart, &scale.get()));
    let x = memo(move || scale.get().x(f64::from(scrubber.position())));
    let value_text = move || chart.with(|chart| value_text(chart, scrubber.position()));
    let dots = move || chart.with(|chart| dots(chart, &scale.get(), scrubber.position()));
    let read = move || {
        chart.with(|chart| {
            let at = scrubber.position();
            if scrubber.shows_values {
                readout(chart, at)
            } else {
                strip_text(chart, at)
            }
        })
    };
    let title = move |of: fn(&Chart) -> &String| move || chart.with(|chart| of(chart).clone());
    let px = move |of: fn(&Scale) -> f64| move || css(scale.with(of)) + "px";
    let shift = move |to: f64| format!("translateX({}px)", css(to));
    let fog = div()
        .class("fog")
        .hidden(move || !scrubber.fades_future.get())
        .style("transform", move || shift(x.get() - scale.get().left));
    let field = div()
        .class("field")
        .style("left", px(|p| p.left))
        .style("width", px(|p| p.right - p.left))
        .style("height", px(|p| p.height - 34.0))
        .child(fog);
    let now = div()
        .class("now")
        .style("height", px(|p| p.height - 32.0))
        .style("transform", move || shift(x.get() - 1.0));
    let drawn = svg().attr("aria-hidden", "true").attr("width", "100%");
    let plot = div()
        .class("plot")
        .node(node)
        .attr("tabindex", "0")
        .attr("role", "slider")
        .label(title(|chart| &chart.title))
        .attr("aria-valuemin", "0")
        .attr("aria-valuemax", move || scrubber.end().to_string())
        .attr("aria-valuenow", move || scrubber.at.get().to_string())
        .attr("aria-valuetext", value_text)
        .style("height", px(|p| p.height))
        .on_pointer("pointerdown", move |event| point(&event))
        .on_pointer("pointermove", move |event| {
            if event.buttons() & 1 == 1 {
                point(&event);
            }
        })
        .on_key(move |event| scrubber.press(&event))
        .child(drawn.attr("height", "100%").child(drawing))
        .child(field)
        .child(now)
        .child(dots);
    let heading = h3().child(title(|chart| &chart.title)).child(" ");
    section()
        .class("chart")
        .attr("data-chart", title(|chart| &chart.id))
        .label(title(|chart| &chart.title))
        .child(heading.child(small().child(title(|chart| &chart.subtitle))))
        .child(plot)
        .child(p().class("readout").child(read))
}

/// Returns the width of an element in pixels, kept up to date.
fn measured_width(node: NodeRef) -> Signal<f64> {
    let width = Signal::new(640.0);
    let observer = StoredValue::new_local(None::<(web_sys::ResizeObserver, Closure<dyn FnMut()>)>);
    effect(move || {
        let Some(node) = node.get_value() else {
            return;
        };
        let measure = {
            let node = node.clone();
            move || {
                let now = f64::from(node.client_width()).max(160.0);
                if (width.get_untracked() - now).abs() > 0.5 {
                    width.set(now);
                }
            }
        };
        measure();
        let on_resize = Closure::<dyn FnMut()>::new(measure);
        if let Ok(observed) = web_sys::ResizeObserver::new(on_resize.as_ref().unchecked_ref()) {
            observed.observe(&node);
            observer.set_value(Some((observed, on_resize)));
        }
    });
    on_cleanup(move || {
        observer.update_value(|observer| {
            if let Some((observed, _)) = observer.take() {
                observed.disconnect();
            }
        });
    });
    width
}

/// Returns the parts of the chart that do not depend on the cursor.
fn drawing(chart: &Chart, scale: &Scale) -> View {
    let grid: Vec<View> = if chart.lines.is_empty() {
        Vec::new()
    } else {
        let values = scale.ticks.values();
        values
            .map(|value| grid_line(scale, scale.y(value), scale.ticks.label(value)))
            .collect()
    };
    let foot = scale.height - 18.0;
    let positions = scale.x_ticks().into_iter();
    let positions: Vec<El> = positions
        .map(|position| {
            let (x, label) = (scale.x(position), fixed(position, 0));
            tick(x, foot, label).attr("text-anchor", "middle")
        })
        .collect();
    // The first line is drawn on top.
    let lines: Vec<View> = chart
        .lines
        .iter()
        .rev()
        .map(|line| curve(scale, line))
        .collect();
    let names: Vec<El> = if chart.lines.len() > 1 {
        let places = scale.name_positions(&chart.lines);
        chart
            .lines
            .iter()
            .zip(places)
            .map(|(line, y)| end_name(scale, line, y))
            .collect()
    } else {
        Vec::new()
    };
    let strips = chart.strips.iter().enumerate();
    let strips: Vec<View> = strips
        .map(|(index, strip)| bars(scale, index, strip))
        .collect();
    let label_y = scale.height - 3.0;
    let x_label = tick(scale.right, label_y, chart.x_label.clone());
    View::Fragment(vec![
        grid.into_view(),
        tick(0.0, label_y, chart.y_label.clone()).into_view(),
        x_label.attr("text-anchor", "end").into_view(),
        positions.into_view(),
        strips.into_view(),
        lines.into_view(),
        names.into_view(),
    ])
}

/// Returns a text beside an axis.
fn tick(x: f64, y: f64, label: String) -> El {
    let tick = text().class("tick").attr("x", css(x)).attr("y", css(y));
    tick.child(label)
}

fn grid_line(scale: &Scale, y: f64, label: String) -> View {
    let line = line()
        .class("grid")
        .attr("x1", css(scale.left))
        .attr("x2", css(scale.right))
        .attr("y1", css(y))
        .attr("y2", css(y));
    let label = tick(scale.left - 6.0, y + 4.0, label).attr("text-anchor", "end");
    View::Fragment(vec![line.into_view(), label.into_view()])
}

fn style(line: &Line) -> String {
    let mut class = String::from("l");
    class.push(char::from(b'0' + line.style.min(7)));
    class
}

fn curve(scale: &Scale, line: &Line) -> View {
    let band = scale.band_path(line);
    let class = style(line);
    let interval = || path().class(class.clone() + " interval");
    let band = (!band.is_empty()).then(|| interval().attr("d", band));
    let curve = path().class(class.clone() + " line");
    let curve = curve.attr("d", scale.line_path(line));
    View::Fragment(vec![band.into_view(), curve.into_view()])
}

fn end_name(scale: &Scale, line: &Line, y: f64) -> El {
    // A name that does not fit is complete below the chart.
    let room = ((scale.width - scale.right - 8.0) / 7.5).max(1.0) as usize;
    let mut name: String = line.name.chars().take(room).collect();
    if name.len() < line.name.len() {
        name.push('…');
    }
    text()
        .class(style(line) + " end")
        .attr("x", css(scale.right + 8.0))
        .attr("y", css(y + 4.5))
        .child(name)
}

fn bars(scale: &Scale, index: usize, strip: &Strip) -> View {
    let bar = |(i, bar): (usize, &Bar)| {
        let [x, y, width, height] = scale.bar(index, i + 1, bar.value);
        let sign = || {
            text()
                .class("bar-sign")
                .attr("data-tone", tone_name(bar.tone))
                .attr("text-anchor", "middle")
                .attr("x", css(x + width / 2.0))
                .attr("y", css(y - 3.0))
                .child(bar.sign.clone())
        };
        let drawn = rect()
            .class("bar")
            .attr("data-tone", tone_name(bar.tone))
            .attr("x", css(x))
            .attr("y", css(y))
            .attr("width", css(width))
            .attr("height", css(height))
            .attr("rx", "1.5");
        let sign = (!bar.sign.is_empty()).then(sign);
        View::Fragment(vec![drawn.into_view(), sign.into_view()])
    };
    let bars: Vec<View> = strip.bars.iter().enumerate().map(bar).collect();
    let base = scale.strip_base(index);
    let label = tick(scale.right + 8.0, base - 3.0, strip.label.clone());
    View::Fragment(vec![label.into_view(), bars.into_view()])
}

/// Returns a dot on every line at the cursor.
fn dots(chart: &Chart, scale: &Scale, at: f32) -> Vec<El> {
    let dot = |line: &Line| {
        let value = value_at(line, at);
        let (x, y) = (
            scale.x(f64::from(at)),
            scale.y(f64::from(value.unwrap_or(0.0))),
        );
        let place = format!("translate({}px,{}px)", css(x), css(y));
        let dot = i().class(style(line) + " dot").hidden(value.is_none());
        dot.style("transform", place)
    };
    chart.lines.iter().map(dot).collect()
}

/// Returns the values at the cursor, with the names of their lines.
fn readout(chart: &Chart, at: f32) -> Vec<El> {
    let label = chart.x_label.clone() + " " + &fixed(f64::from(at), 0);
    let first = span().child(label);
    let value = |line: &Line| {
        let text =
            value_at(line, at).map_or_else(|| "–".to_owned(), |value| compact(f64::from(value)));
        let key = i().class(style(line) + " key");
        let value = span().child(key).child(line.name.clone()).child(" ");
        value.child(b().child(text))
    };
    std::iter::once(first)
        .chain(chart.lines.iter().map(value))
        .collect()
}

/// Returns the descriptions of the bars of the action at the cursor.
fn strip_text(chart: &Chart, at: f32) -> Vec<El> {
    let text = |strip: &Strip| {
        let bar = (at as usize)
            .checked_sub(1)
            .and_then(|index| strip.bars.get(index))?;
        let label = strip.label.clone() + ": ";
        let text = b().child(bar.text.clone());
        (!bar.text.is_empty()).then(|| span().child(label).child(text))
    };
    chart.strips.iter().filter_map(text).collect()
}

/// Returns the position and values at the cursor in words, for screen readers.
fn value_text(chart: &Chart, at: f32) -> String {
    let mut out = chart.x_label.clone() + " " + &fixed(f64::from(at), 0);
    for line in &chart.lines {
        if let Some(value) = value_at(line, at) {
            out = out + ", " + &line.name + " " + &compact(f64::from(value));
        }
    }
    for strip in &chart.strips {
        let bar = (at as usize)
            .checked_sub(1)
            .and_then(|index| strip.bars.get(index));
        if let Some(bar) = bar.filter(|bar| !bar.text.is_empty()) {
            out = out + ", " + &strip.label + " " + &bar.text;
        }
    }
    out
}
