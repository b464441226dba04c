//! One chart of the training page: curves over optimizer steps, with a readout.

use leptos::html;
use leptos::prelude::*;

use super::chart::measured_width;
use crate::training::{HEIGHT, Plot, drawing, plane, readout, spoken};

/// The chart. It reads like a slider: pointing or arrow keys choose the step that is told.
#[component]
pub(super) fn Curve(
    /// What to draw.
    plot: Plot,
    /// The last step of the run.
    last: u64,
) -> impl IntoView {
    let node = NodeRef::<html::Div>::new();
    let width = measured_width(node);
    let steps = plot.steps();
    let end = steps.len().saturating_sub(1);
    let chosen = RwSignal::new(end);
    let (id, title, unit) = (plot.id, plot.title, plot.unit);
    let meaning = plot.with_grounded_rationale();
    let plot = StoredValue::new(plot);
    let steps = StoredValue::new(steps);
    let space = move |width| plot.with_value(|plot| plane(plot, width, last));
    let point = move |event: leptos::ev::PointerEvent| {
        if let Some(node) = node.get_untracked() {
            let x = f64::from(event.client_x()) - node.get_bounding_client_rect().left();
            let plane = space(width.get_untracked());
            chosen.set(steps.with_value(|steps| plane.nearest(steps, x)));
        }
    };
    let press = move |event: leptos::ev::KeyboardEvent| {
        let far = if event.shift_key() { 10 } else { 1 };
        let at = chosen.get_untracked();
        let to = match event.key().as_str() {
            "ArrowLeft" | "ArrowDown" => at.saturating_sub(far),
            "ArrowRight" | "ArrowUp" => at + far,
            "Home" => 0,
            "End" => end,
            _ => return,
        };
        event.prevent_default();
        chosen.set(to.min(end));
    };
    let step = move || steps.with_value(|steps| steps.get(chosen.get()).copied().unwrap_or(0));
    let svg = move || plot.with_value(|plot| drawing(plot, &space(width.get()), step()));
    let values = move || plot.with_value(|plot| readout(plot, step()));
    let spoken = move || plot.with_value(|plot| spoken(plot, step()));
    // Markup made of numbers and our own words: far less code than a view of every line.
    view! {
        <section class="card curve" aria-label=title data-plot=id>
            <div class="curve-head"><h3>{title}</h3><span class="quiet">{unit}</span></div>
            <div class="chart" node_ref=node tabindex="0" role="slider" aria-label=format!("{title}, {unit}")
                style=format!("height:{HEIGHT}px") aria-valuemin="0" aria-valuemax=last.to_string()
                aria-valuenow=move || step().to_string() aria-valuetext=spoken
                on:pointermove=point on:pointerdown=point on:keydown=press inner_html=svg></div>
            <p class="readout" inner_html=values></p>
            <p class="quiet">{meaning}</p>
        </section>
    }
}
