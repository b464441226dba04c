//! The board of one validation episode, which the newest policy plays again and again.

use std::time::Duration;

use leptos::prelude::{on_cleanup, set_interval_with_handle, untrack};
use sentinel_page_protocol::readable_task;

use super::RunHere;
use crate::browser;
use crate::dom::html::{b, button, div, h2, p, span};
use crate::dom::{El, IntoView};
use crate::number_format::fixed;
use crate::page::Page;
use crate::reactive::{effect, memo};
use crate::ui::widgets::action_slider;

/// Time between two actions.
const PERIOD: Duration = Duration::from_millis(300);

/// Returns the board of the run of this world, once a policy has begun to play.
#[must_use]
pub(super) fn board(page: Page, current: RunHere) -> El {
    let live = page.training.live;
    let view = live.view;
    if browser::prefers_stillness() {
        live.is_playing.set(false);
    }
    effect(move || {
        let frame = view.frame.get();
        let panels = frame.as_ref().map_or(&[][..], |frame| &frame.panels);
        view.panels.update(panels);
    });
    let tick = move || {
        if current.with_untracked(Option::is_some) {
            page.advance_live_episode();
        }
    };
    if let Ok(clock) = set_interval_with_handle(tick, PERIOD) {
        on_cleanup(move || clock.clear());
    }
    let is_empty = memo(move || current.with(Option::is_none) || view.frame.with(Option::is_none));
    let caption = move || {
        let updates = live.updates.get()?;
        let of = view.status.with(|status| {
            let episode = &status.episode;
            (!episode.task.is_empty()).then(|| (readable_task(&episode.task), episode.seed))
        });
        let (task, seed) = of?;
        Some(format!("After {updates} updates: {task}, seed {seed}"))
    };
    let line = move || view.frame.with(|f| f.as_ref().map(|f| f.headline.clone()));
    let score = move || view.frame.with(|f| f.as_ref().map(|f| fixed(f.score, 2)));
    let drawn = move || {
        let ui = page.episode_ui.get()?;
        Some(untrack(|| (ui.board)(page, view).into_view()))
    };
    div()
        .class("card")
        .id("train-board")
        .hidden(move || is_empty.get())
        .attr("data-updates", move || {
            live.updates.get().map(|n| n.to_string())
        })
        .child(h2().child("The newest policy plays"))
        .child(p().class("quiet").child(caption))
        .child(p().class("train-line").child(line))
        .child(controls(page))
        .child(drawn)
        .child(
            p().class("quiet")
                .child("Score so far: ")
                .child(b().class("num").child(score))
                .child(". One episode says little; the mean is above."),
        )
}

/// Returns the row that pauses the episode and moves its cursor.
fn controls(page: Page) -> El {
    let live = page.training.live;
    let flip = move || live.is_playing.set(!live.is_playing.get_untracked());
    let seek = move |action| {
        live.is_playing.set(false);
        live.cursor.set(action);
    };
    let word = move || {
        if live.is_playing.get() {
            "Pause the board"
        } else {
            "Play the board"
        }
    };
    let count = move || format!("{} / {}", live.view.at.get(), live.view.action_count());
    let scrubber = move || {
        let place = (live.view.at.get(), live.view.action_count());
        action_slider("train-board-step", "Action of the board", place, seek)
    };
    div()
        .class("board-controls")
        .child(button().id("train-board-play").on_press(flip).child(word))
        .child(span().class("seek").child(scrubber))
        .child(span().class("num").child(count))
}
