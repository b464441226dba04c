//! A chart: lines over a shared axis, strips of bars below, and a cursor that can be dragged.

use std::sync::Arc;

use leptos::html;
use leptos::prelude::*;
use sentinel_page_protocol::{Chart, Line, Strip};
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;

use super::parts::tone;
use crate::num::{css, fixed, short};
use crate::plot::{Plane, value_at};
use crate::reactive::{effect, memo};

/// The positions that a chart's cursor can take, and where it is.
#[derive(Clone, Copy)]
pub struct Scrubber {
    /// The positions, in order.
    pub stops: Memo<Arc<Vec<f32>>>,
    /// Index of the position at the cursor.
    pub at: Memo<usize>,
    /// Moves the cursor to the position with this index.
    pub seek: Callback<usize>,
    /// `true` to fade what lies ahead of the cursor.
    pub fades: Memo<bool>,
    /// `true` to write the values at the cursor below the chart.
    pub reads: bool,
}

impl Scrubber {
    fn position(self) -> f32 {
        let at = self.at.get();
        self.stops
            .with(|stops| stops.get(at).or(stops.last()).copied().unwrap_or(0.0))
    }

    fn end(self) -> usize {
        self.stops.with(|stops| stops.len().saturating_sub(1))
    }
}

/// The chart with this content. It is a slider: arrow keys, pointing and dragging move the cursor.
#[component]
pub fn ChartView(chart: Memo<Arc<Chart>>, scrubber: Scrubber) -> impl IntoView {
    let node = NodeRef::<html::Div>::new();
    let width = measured_width(node);
    let plane = memo(move |_| {
        let last = scrubber
            .stops
            .with(|stops| f64::from(stops.last().copied().unwrap_or(1.0)));
        chart.with(|chart| Plane::new(chart, width.get(), last))
    });
    let point = move |event: &web_sys::PointerEvent| {
        let Some(node) = node.get_untracked() else {
            return;
        };
        let x = f64::from(event.client_x()) - node.get_bounding_client_rect().left();
        let plane = plane.get_untracked();
        let index = scrubber
            .stops
            .with_untracked(|stops| plane.nearest(stops, x));
        scrubber.seek.run(index);
    };
    let press = move |event: web_sys::KeyboardEvent| {
        let far = if event.shift_key() { 5 } else { 1 };
        let at = scrubber.at.get_untracked();
        let end = untrack(move || scrubber.end());
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
        scrubber.seek.run(to.min(end));
    };
    let drawing = move || chart.with(|chart| drawing(chart, &plane.get()));
    let x = memo(move |_| plane.get().x(f64::from(scrubber.position())));
    let spoken = move || chart.with(|chart| spoken(chart, scrubber.position()));
    let dots = move || chart.with(|chart| dots(chart, &plane.get(), scrubber.position()));
    let read = move || {
        chart.with(|chart| {
            let at = scrubber.position();
            if scrubber.reads {
                readout(chart, at)
            } else {
                strip_text(chart, at)
            }
        })
    };
    let text = move |of: fn(&Chart) -> &String| chart.with(|chart| of(chart).clone());
    let px = move |of: fn(&Plane) -> f64| css(plane.with(of)) + "px";
    view! {
        <section class="chart" data-chart=move || text(|c| &c.id) aria-label=move || text(|c| &c.title)>
            <h3>{move || text(|c| &c.title)}" "<small>{move || text(|c| &c.subtitle)}</small></h3>
            <div class="plot" node_ref=node tabindex="0" role="slider"
                aria-label=move || text(|c| &c.title)
                aria-valuemin="0" aria-valuemax=move || scrubber.end().to_string()
                aria-valuenow=move || scrubber.at.get().to_string() aria-valuetext=move || spoken()
                style:height=move || px(|p| p.height)
                on:pointerdown=move |event| point(&event)
                on:pointermove=move |event| if event.buttons() & 1 == 1 { point(&event) }
                on:keydown=press>
                <svg aria-hidden="true" width="100%" height="100%">{move || drawing()}</svg>
                <div class="field" style:left=move || px(|p| p.left) style:width=move || px(|p| p.right - p.left)
                    style:height=move || px(|p| p.height - 34.0)>
                    <div class="fog" hidden=move || !scrubber.fades.get()
                        style:transform=move || format!("translateX({}px)", css(x.get() - plane.get().left))></div>
                </div>
                <div class="now" style:height=move || px(|p| p.height - 32.0)
                    style:transform=move || format!("translateX({}px)", css(x.get() - 1.0))></div>
                {move || dots()}
            </div>
            <p class="readout">{move || read()}</p>
        </section>
    }
}

/// The width of an element in pixels, kept up to date.
fn measured_width(node: NodeRef<html::Div>) -> RwSignal<f64> {
    let width = RwSignal::new(640.0);
    let observer = StoredValue::new_local(None::<(web_sys::ResizeObserver, Closure<dyn FnMut()>)>);
    effect(move |_| {
        let Some(node) = node.get() else { return };
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

/// Returns everything that stays while the cursor moves.
fn drawing(chart: &Chart, plane: &Plane) -> AnyView {
    let grid: Vec<AnyView> = if chart.lines.is_empty() {
        Vec::new()
    } else {
        let values = plane.ticks.values();
        values
            .map(|value| grid_line(plane, plane.y(value), plane.ticks.label(value)))
            .collect()
    };
    let foot = plane.height - 18.0;
    let positions = plane.positions().into_iter();
    let positions: Vec<AnyView> = positions
        .map(|position| {
            let (x, label) = (plane.x(position), fixed(position, 0));
            view! { <text class="tick" text-anchor="middle" x=css(x) y=css(foot)>{label}</text> }
                .into_any()
        })
        .collect();
    // The first line lies on top.
    let lines: Vec<AnyView> = chart
        .lines
        .iter()
        .rev()
        .map(|line| curve(plane, line))
        .collect();
    let names: Vec<AnyView> = if chart.lines.len() > 1 {
        let places = plane.names(&chart.lines);
        chart
            .lines
            .iter()
            .zip(places)
            .map(|(line, y)| end_name(plane, line, y))
            .collect()
    } else {
        Vec::new()
    };
    let strips = chart.strips.iter().enumerate();
    let strips: Vec<AnyView> = strips
        .map(|(index, strip)| bars(plane, index, strip))
        .collect();
    let (x_label, y_label) = (chart.x_label.clone(), chart.y_label.clone());
    view! {
        {grid}
        <text class="tick" x="0" y=css(plane.height - 3.0)>{y_label}</text>
        <text class="tick" text-anchor="end" x=css(plane.right) y=css(plane.height - 3.0)>{x_label}</text>
        {positions}
        {strips}
        {lines}
        {names}
    }
    .into_any()
}

fn grid_line(plane: &Plane, y: f64, label: String) -> AnyView {
    view! {
        <line class="grid" x1=css(plane.left) x2=css(plane.right) y1=css(y) y2=css(y)/>
        <text class="tick" text-anchor="end" x=css(plane.left - 6.0) y=css(y + 4.0)>{label}</text>
    }
    .into_any()
}

fn style(line: &Line) -> String {
    let mut class = String::from("l");
    class.push(char::from(b'0' + line.style.min(7)));
    class
}

fn curve(plane: &Plane, line: &Line) -> AnyView {
    let band = plane.band(line);
    let class = style(line);
    let band_class = class.clone() + " interval";
    let class = class + " line";
    let band = (!band.is_empty()).then(|| view! { <path class=band_class d=band/> });
    view! { {band}<path class=class d=plane.path(line)/> }.into_any()
}

fn end_name(plane: &Plane, line: &Line, y: f64) -> AnyView {
    let (class, name) = (style(line) + " end", line.name.clone());
    view! { <text class=class x=css(plane.right + 8.0) y=css(y + 4.5)>{name}</text> }.into_any()
}

fn bars(plane: &Plane, index: usize, strip: &Strip) -> AnyView {
    let bar = |(i, bar): (usize, &sentinel_page_protocol::Bar)| {
        let [x, y, width, height] = plane.bar(index, i + 1, bar.value);
        let sign = bar.sign.clone();
        let sign = (!sign.is_empty()).then(|| {
            view! { <text class="bar-sign" data-tone=tone(bar.tone) text-anchor="middle" x=css(x + width / 2.0) y=css(y - 3.0)>{sign}</text> }
        });
        view! {
            <rect class="bar" data-tone=tone(bar.tone) x=css(x) y=css(y) width=css(width) height=css(height) rx="1.5"/>
            {sign}
        }
        .into_any()
    };
    let bars: Vec<AnyView> = strip.bars.iter().enumerate().map(bar).collect();
    let label = strip.label.clone();
    let base = plane.strip(index);
    view! {
        <text class="tick" x=css(plane.right + 8.0) y=css(base - 3.0)>{label}</text>
        {bars}
    }
    .into_any()
}

/// Returns a dot on every line at the cursor.
fn dots(chart: &Chart, plane: &Plane, at: f32) -> Vec<AnyView> {
    let dot = |line: &Line| {
        let value = value_at(line, at);
        let (x, y) = (
            plane.x(f64::from(at)),
            plane.y(f64::from(value.unwrap_or(0.0))),
        );
        let place = format!("translate({}px,{}px)", css(x), css(y));
        let class = style(line) + " dot";
        view! { <i class=class hidden=value.is_none() style:transform=place></i> }.into_any()
    };
    chart.lines.iter().map(dot).collect()
}

/// Returns the values at the cursor, with the names of their lines.
fn readout(chart: &Chart, at: f32) -> Vec<AnyView> {
    let label = chart.x_label.clone() + " " + &fixed(f64::from(at), 0);
    let first = view! { <span>{label}</span> }.into_any();
    let value = |line: &Line| {
        let text =
            value_at(line, at).map_or_else(|| "–".to_owned(), |value| short(f64::from(value)));
        let (class, name) = (style(line) + " key", line.name.clone());
        view! { <span><i class=class></i>{name}" "<b>{text}</b></span> }.into_any()
    };
    std::iter::once(first)
        .chain(chart.lines.iter().map(value))
        .collect()
}

/// Returns what the bars of the action at the cursor say.
fn strip_text(chart: &Chart, at: f32) -> Vec<AnyView> {
    let text = |strip: &Strip| {
        let bar = (at as usize)
            .checked_sub(1)
            .and_then(|index| strip.bars.get(index))?;
        let (label, text) = (strip.label.clone(), bar.text.clone());
        (!text.is_empty()).then(|| view! { <span>{label}": "<b>{text}</b></span> }.into_any())
    };
    chart.strips.iter().filter_map(text).collect()
}

/// Returns the moment at the cursor in words.
fn spoken(chart: &Chart, at: f32) -> String {
    let mut out = chart.x_label.clone() + " " + &fixed(f64::from(at), 0);
    for line in &chart.lines {
        if let Some(value) = value_at(line, at) {
            out = out + ", " + &line.name + " " + &short(f64::from(value));
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
