//! The expected final score at the cursor, as a thin bar along the board.

use super::widgets::css_percent;
use crate::dom::El;
use crate::dom::html::{div, i};
use crate::episode_view::EpisodeView;
use crate::number_format::fixed;
use crate::reactive::memo;

const HELP: &str =
    "Expected final score if the trained policy takes over here, from 0 to 1. Red after a mistake.";

/// Returns the bar; it is invisible while no analysis knows the value.
#[must_use]
pub fn value_bar(episode: EpisodeView) -> El {
    let value = memo(move || episode.expected_score());
    let is_mistake = memo(move || episode.with_judged_step(|step| step.is_mistake) == Some(true));
    let filled = i().style("height", move || {
        css_percent(value.get().unwrap_or_default() as f32)
    });
    div()
        .class("value-bar")
        .hidden(move || value.get().is_none())
        .attr("role", "img")
        .attr("data-help", HELP)
        .attr("data-value", move || {
            value
                .get()
                .map_or_else(String::new, |value| fixed(value, 3))
        })
        .attr(
            "data-tone",
            move || if is_mistake.get() { "bad" } else { "" },
        )
        .label(move || {
            value.get().map_or_else(String::new, |value| {
                format!("Expected final score {}", fixed(value, 3))
            })
        })
        .child(filled)
}
