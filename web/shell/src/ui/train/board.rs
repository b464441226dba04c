//! The board of one validation episode, which the newest policy plays again and again.

use std::time::Duration;

use leptos::prelude::{event_target_value, on_cleanup, set_interval_with_handle, untrack};
use sentinel_page_protocol::readable_task;

use crate::browser;
use crate::dom::html::{b, button, div, h2, input, p, span};
use crate::dom::{El, IntoView};
use crate::number_format::fixed;
use crate::page::Page;
use crate::reactive::{effect, memo};

/// Time between two actions.
const PERIOD: Duration = Duration::from_millis(300);

/// Returns the board, once a policy has begun to play.
#[must_use]
pub fn board(page: Page) -> El {
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
    if let Ok(clock) = set_interval_with_handle(move || page.advance_live_episode(), PERIOD) {
        on_cleanup(move || clock.clear());
    }
    let is_empty = memo(move || view.frame.with(Option::is_none));
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
    let scrub = move |event| {
        if let Ok(action) = event_target_value(&event).parse() {
            live.is_playing.set(false);
            live.cursor.set(action);
        }
    };
    let word = move || {
        if live.is_playing.get() {
            "Pause the board"
        } else {
            "Play the board"
        }
    };
    let count = move || format!("{} / {}", live.view.at.get(), live.view.action_count());
    // Drawn as a whole, so that the end is set before the value, which the browser clamps to it.
    let scrubber = move || {
        input()
            .attr("type", "range")
            .attr("min", "0")
            .id("train-board-step")
            .label("Action of the board")
            .attr("max", live.view.action_count().to_string())
            .prop("value", live.view.at.get().to_string())
            .on("input", scrub)
    };
    div()
        .class("board-controls")
        .child(button().id("train-board-play").on_press(flip).child(word))
        .child(span().class("seek").child(scrubber))
        .child(span().class("num").child(count))
}
