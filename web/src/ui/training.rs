//! The training page: the committed run, drawn from what its own trainer wrote down.

use leptos::prelude::*;

use super::curve::Curve;
use super::model::ModelNote;
use crate::fetched::Fetched;
use crate::page::Page;
use crate::text::grouped;
use crate::training::{TrainerState, plots};
use crate::world::World;

/// What was trained, and its curves.
#[component]
pub fn Training<W: World>(page: Page<W>) -> impl IntoView {
    let address = W::LEARNED.and_then(|learned| learned.curves).unwrap_or("");
    let curves = move || page.training.get().ready().map(|state| drawn(state));
    let problem = move || match page.training.get() {
        Fetched::Failed(reason) => reason,
        Fetched::Unasked | Fetched::Loading => format!("Loading {address}…"),
        Fetched::Ready(_) => String::new(),
    };
    let failed = move || page.training.with(|t| matches!(t, Fetched::Failed(_)));
    view! {
        <main class="training">
            <section class="heading" aria-label="What was trained">
                <h2>"How GRPO was trained"</h2>
                <p class="note">
                    "The policy plays groups of episodes with the same seed and luck, and is pulled towards what did better than "
                    "its group. It sees public observations only. Every curve is read from "
                    <a href=address>{address}</a>", which its trainer wrote."
                </p>
                <ModelNote page/>
            </section>
            <div id="training-note" class="note" class:bad=failed role="status">
                <span>{problem}</span>" "
                <button hidden=move || !failed() on:click=move |_| page.fetch_training()>"Try again"</button>
            </div>
            {curves}
        </main>
    }
}

fn drawn(state: &TrainerState) -> impl IntoView + use<> {
    let (plots, missing) = plots(state);
    let steps = plots.iter().flat_map(|plot| plot.steps()).max();
    let last = state.global_step.max(steps.unwrap_or(0));
    let missing = (!missing.is_empty()).then(|| {
        let text = format!(
            "Not in the file, so not drawn: {}.",
            missing.join(", ").to_ascii_lowercase()
        );
        view! { <p class="quiet">{text}</p> }
    });
    view! {
        <p class="quiet" id="training-summary">{summary(state)}</p>
        <div class="curves">
            {plots.into_iter().map(|plot| view! { <Curve plot last/> }).collect_view()}
        </div>
        <p class="quiet">{missing}</p>
    }
}

/// How long the run was, as far as the file says.
fn summary(state: &TrainerState) -> String {
    let count = |n: u64| grouped(usize::try_from(n).unwrap_or(usize::MAX));
    let planned = match state.max_steps {
        Some(max) if max > state.global_step => format!(" of {}", count(max)),
        _ => String::new(),
    };
    let mut text = format!("{}{planned} optimizer steps", count(state.global_step));
    if let Some(steps) = state.last("num_env_steps").filter(|steps| *steps >= 0.0) {
        text.push_str(&format!(", {} steps of the world", count(steps as u64)));
    }
    text.push_str(". Point at a chart, or focus it and use ← and →, to read its values.");
    text
}

#[cfg(test)]
mod tests {
    use super::summary;
    use crate::training::parse;

    #[test]
    fn a_run_is_summed_up_in_its_own_numbers() {
        let state = parse(
            r#"{"global_step": 1500, "max_steps": 2000, "log_history": [{"step": 1500, "num_env_steps": 1e6}]}"#,
        )
        .expect("a trainer state");
        let text = summary(&state).replace('\u{202f}', " ");
        assert!(
            text.starts_with("1 500 of 2 000 optimizer steps, 1 000 000 steps of the world."),
            "{text}"
        );
    }
}
