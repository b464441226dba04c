//! All actions in order; each leads to its moment.

use leptos::prelude::*;
use sentinel_env::trust::text::NodeId;

use super::scene::Scene;
use crate::play::{Frame, mark};

/// The list of actions.
#[component]
pub fn Log(scene: Scene) -> impl IntoView {
    let rows = move || {
        let truth = scene.truth();
        scene.run.with(|run| {
            let rows = run.frames.iter().enumerate().skip(1);
            rows.map(|(index, frame)| row(scene, index, frame, truth))
                .collect_view()
        })
    };
    let list = NodeRef::<leptos::html::Ol>::new();
    Effect::new(move |_| {
        let cursor = scene.page.cursor();
        if let Some(list) = list.get() {
            keep_in_sight(&list, cursor);
        }
    });
    view! {
        <section class="card actions" aria-label="Actions">
            <h3>"Actions"</h3>
            <ol class="log" node_ref=list>{rows}</ol>
        </section>
    }
}

/// Scrolls the list, and only the list, so that the current action stands in its middle.
fn keep_in_sight(list: &web_sys::Element, cursor: usize) {
    let rows = i32::try_from(list.child_element_count())
        .unwrap_or(1)
        .max(1);
    let height = list.scroll_height() / rows;
    let middle = i32::try_from(cursor).unwrap_or(0) * height - list.client_height() / 2;
    list.set_scroll_top(middle);
}

fn row(scene: Scene, index: usize, frame: &Frame, truth: bool) -> Option<impl IntoView + use<>> {
    let step = frame.step?;
    let mark = mark(&step, truth);
    let text = format!("{} {}", NodeId(step.node), step.action);
    let label = format!("Action {index}: {text}, {}", mark.word());
    let reward = format!("{:.3}", step.grades.reward);
    let missed = frame.missed.then(
        || view! { <span class="miss" title="The replay has no row for this step">"miss"</span> },
    );
    let own = frame
        .own
        .then(|| view! { <span class="own" title="Your action">"you"</span> });
    let current = move || scene.page.cursor() == index;
    let sign = format!("sign {}", mark.class());
    Some(view! {
        <li class:current=current>
            <button on:click=move |_| scene.page.seek(index) aria-label=label
                aria-current=move || current().then_some("step")>
                <span class="index">{index}</span>
                <span class=sign title=mark.word()>{mark.sign()}</span>
                <span class="what">{text}</span>
                {missed}{own}
                <span class="num">{reward}</span>
            </button>
        </li>
    })
}
