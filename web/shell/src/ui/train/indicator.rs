//! A link in the header to a training run while another screen is shown.

use crate::address::query_of;
use crate::dom::El;
use crate::dom::html::{a, div};
use crate::page::{Page, Training};
use crate::reactive::memo;
use crate::state::{PageState, Screen};
use crate::ui::header::is_plain;

/// Returns the row with the link. It comes and goes only with the screen and with the run, so that nothing
/// moves while a screen is looked at; and it is no live region, since it changes with every update.
#[must_use]
pub fn indicator(page: Page) -> El {
    let current = page.training.current;
    let world = memo(move || {
        let is_shown = page.screen() == Screen::Training;
        let world = |training: &Training| training.update.spec.world.clone();
        current.with(|training| training.as_ref().filter(|_| !is_shown).map(world))
    });
    let text = memo(move || {
        let in_short = |training: &Training| {
            state_in_short(training, &page.world_title(&training.update.spec.world))
        };
        current.with(|training| training.as_ref().map(in_short))
    });
    let href = move || {
        let world = world.get()?;
        page.without_cursor.track();
        let there = PageState {
            screen: Screen::Training,
            ..match page.state.with_untracked(|state| state.world == world) {
                true => page.state.get_untracked(),
                false => page.state_of_world(&world),
            }
        };
        Some(format!("?{}", query_of(page, &there)))
    };
    let go = move |event: web_sys::MouseEvent| {
        if let Some(world) = world.get_untracked().filter(|_| is_plain(&event)) {
            event.prevent_default();
            page.open_training(&world);
        }
    };
    let link = a().id("train-indicator").attr("href", href);
    let link = link.on_mouse("click", go).child(move || text.get());
    let row = div().class("train-indicator").child(link);
    row.hidden(move || world.with(Option::is_none))
}

/// Returns the world of a run and how far it is.
fn state_in_short(training: &Training, world: &str) -> String {
    let update = &training.update;
    let done = u64::from(update.updates) * 100 / u64::from(update.total.max(1));
    let state = match (training.is_over(), training.is_running) {
        _ if !update.failure.is_empty() => "failed".to_owned(),
        (true, _) => "done".to_owned(),
        (_, true) => format!("{done}\u{a0}%"),
        _ => format!("{done}\u{a0}%, paused"),
    };
    format!("Training “{world}”: {state}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_by_its_world_and_its_state() {
        let mut training = Training::default();
        let state_in_short = |training: &Training| state_in_short(training, "GPU cluster");
        training.is_running = true;
        assert_eq!(
            state_in_short(&training),
            "Training “GPU cluster”: 0\u{a0}%"
        );
        (training.update.updates, training.update.total) = (96, 150);
        assert_eq!(
            state_in_short(&training),
            "Training “GPU cluster”: 64\u{a0}%"
        );
        training.is_running = false;
        assert_eq!(
            state_in_short(&training),
            "Training “GPU cluster”: 64\u{a0}%, paused"
        );
        training.update.updates = 150;
        assert_eq!(state_in_short(&training), "Training “GPU cluster”: done");
        "It ended.".clone_into(&mut training.update.failure);
        assert_eq!(state_in_short(&training), "Training “GPU cluster”: failed");
    }
}
