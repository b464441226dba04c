//! Parts that the screens of recorded results share: charts with their own cursor, legends, and
//! links to episodes.

use std::sync::Arc;

use leptos::prelude::{Callback, window};
use sentinel_page_protocol::{Chart, PlayedEpisode};

use super::chart::{Scrubber, chart_view};
use super::header::is_plain;
use crate::address::query_of;
use crate::chart_geometry::{stops, value_at};
use crate::dom::El;
use crate::dom::html::{a, span};
use crate::dom::svg::{line, svg};
use crate::page::Page;
use crate::reactive::{Signal, memo};
use crate::state::PageState;

/// Returns a chart with its own cursor, which starts at the end.
pub(super) fn curve(chart: &Chart) -> El {
    let all = Arc::new(common_stops(chart));
    let chart = Arc::new(chart.clone());
    let at = Signal::new(all.len().saturating_sub(1));
    let scrubber = Scrubber {
        stops: memo(move || all.clone()),
        at: memo(move || at.get()),
        seek: Callback::new(move |index| at.set(index)),
        fades_future: memo(|| false),
        shows_values: true,
    };
    chart_view(memo(move || chart.clone()), scrubber)
}

/// Returns the positions of the cursor: those at which every line has a value that has begun and
/// not ended, so that lines logged at different intervals can be compared; all if there are none.
fn common_stops(chart: &Chart) -> Vec<f32> {
    let all = stops(chart);
    let common = |at: &&f32| {
        chart.lines.iter().all(|line| {
            let has_begun = line.x.first().is_none_or(|first| first <= at);
            let has_ended = line.x.last().is_some_and(|last| last < at);
            !has_begun || has_ended || value_at(line, **at).is_some()
        })
    };
    let common: Vec<f32> = all.iter().filter(common).copied().collect();
    // The drawing's width is that of the last stop.
    if common.last() == all.last() {
        common
    } else {
        all
    }
}

/// Returns a sample of a line with its color and dash pattern, and the letter at its end.
pub(super) fn line_sample(style: u8, tag: &str) -> El {
    let class = format!("l{} line", style.min(7));
    let drawn = line().class(class).attr("x1", "1").attr("x2", "31");
    let sample = svg()
        .attr("viewBox", "0 0 32 8")
        .attr("width", "32")
        .attr("height", "8")
        .attr("aria-hidden", "true")
        .child(drawn.attr("y1", "4").attr("y2", "4"));
    let tag = span().class("tag").child(tag.to_owned());
    span().class("sample").child(sample).child(tag)
}

/// Returns a link that opens an episode from its start; `versus` is the player to compare with.
pub(super) fn episode_link(
    page: Page,
    world: String,
    episode: PlayedEpisode,
    versus: String,
    text: String,
) -> El {
    let there = move |now: &PageState| {
        let mut state = PageState {
            versus: versus.clone(),
            ..now.clone()
        };
        world.clone_into(&mut state.world);
        state.open_episode(&episode);
        state
    };
    let target = there.clone();
    let href = move || {
        let state = page.without_cursor.with(|now| there(now));
        format!("?{}", query_of(page, &state))
    };
    let open = move |event: web_sys::MouseEvent| {
        if is_plain(&event) {
            event.prevent_default();
            let state = page.state.with_untracked(|now| target(now));
            page.open_state(state);
            window().scroll_to_with_x_and_y(0.0, 0.0);
        }
    };
    a().attr("href", href).on_mouse("click", open).child(text)
}
