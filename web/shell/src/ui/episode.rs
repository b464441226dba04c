//! One episode: headline, panels, charts, and the list of actions.

use std::sync::Arc;

use leptos::prelude::{event_target_checked, untrack};
use sentinel_page_protocol::WorldInfo;

use super::action_history::action_history;
use super::chart::{Scrubber, chart_view};
use super::composer::composer;
use super::headline::headline;
use super::panel::panel;
use super::reward::reward_card;
use super::truth::truth_panels;
use super::value_bar::value_bar;
use super::widgets::checkbox;
use crate::chart_geometry::extent;
use crate::deferred::deferred_view;
use crate::dom::html::{article, div, label, span};
use crate::dom::{El, IntoView, View, each};
use crate::episode_view::EpisodeView;
use crate::page::Page;
use crate::panel_signals::PanelSignal;
use crate::reactive::{Memo, memo};
use crate::state::{PageState, VISITOR};

/// Returns an episode; `main` is `true` for the one in which the visitor can act.
#[must_use]
pub fn episode(page: Page, episode: EpisodeView, main: bool) -> El {
    let name = move || {
        let player = episode
            .status
            .with(|status| status.episode.player_label.clone());
        if player.is_empty() {
            "Episode".to_owned()
        } else {
            format!("Episode of {player}")
        }
    };
    let is_empty = memo(move || episode.frame.with(Option::is_none));
    let (truth, embed) = (
        episode.truth,
        page.state.with_untracked(|state| state.embed),
    );
    let (word, other) = if main {
        ("main", page.versus)
    } else {
        ("versus", page.main)
    };
    let player = move || episode.status.with(|status| status.episode.player.clone());
    // The first panel and the charts come first; the other panels follow.
    let panels = move |aside, skip, take| panels(page, episode, aside, skip, take);
    let board = div().class("focal").child(panels(false, 0, 1));
    let board = board.child(value_bar(episode));
    // Who acts needs the cards of an action near the board more than the charts.
    let by_hand = memo(move || {
        let has_verbs =
            |info: &Option<Arc<WorldInfo>>| info.as_ref().is_some_and(|i| !i.verbs.is_empty());
        let is_own = |state: &PageState| state.player == VISITOR || state.branch.is_some();
        main && page.info.with(has_verbs) && page.without_cursor.with(is_own)
    });
    let draw_charts = move || charts(page, episode).into_view();
    let draw_composer = move || composer(page);
    let draw_own_play = move || deferred_view(page, move |ui| (ui.own_play)(page));
    let draw_analysis = move || deferred_view(page, move |ui| (ui.analysis)(page, episode, main));
    let wide = div()
        .class("column wide")
        .toggle_class("by-hand", move || by_hand.get())
        .child(board)
        .child((main && !embed).then(|| deferred_view(page, move |ui| (ui.yardstick)(page))))
        .child(placed(by_hand, false, draw_charts))
        .child(main.then(|| placed(by_hand, false, draw_composer)))
        .child((main && !embed).then(|| placed(by_hand, false, draw_own_play)))
        // It grows by itself at the end, so little stands below it.
        .child((!embed).then(|| placed(by_hand, false, draw_analysis)))
        .child(panels(false, 1, usize::MAX))
        .child(placed(by_hand, true, draw_charts))
        .child((main && !embed).then(|| placed(by_hand, true, draw_own_play)))
        .child((!embed).then(|| placed(by_hand, true, draw_analysis)))
        .child(truth_panels(page, truth))
        .child(deferred_view(page, move |deferred| {
            (deferred.transcript)(episode)
        }));
    let narrow = div()
        .class("column narrow")
        .child(placed(by_hand, true, draw_composer))
        .child((!embed).then(|| action_history(page, episode, other)))
        .child(panels(true, 0, usize::MAX))
        .child(reward_card(episode));
    let skeleton = div()
        .class("skeleton")
        .hidden(move || !is_empty.get())
        .attr("aria-hidden", "true")
        .child(div())
        .child(div());
    let grid = div().class("pane-grid").hidden(move || is_empty.get());
    article()
        .class("pane")
        .attr("data-pane", word)
        .attr("data-player", player)
        .label(name)
        .attr("aria-busy", move || is_empty.get().to_string())
        .child(headline(page, episode, main))
        .child(skeleton)
        .child(grid.child(wide).child(narrow))
}

/// Returns the panels of a column from number `skip` on, at most `take`.
fn panels(page: Page, episode: EpisodeView, aside: bool, skip: usize, take: usize) -> View {
    let slots = move || {
        let slots = episode.panels.list.get().into_iter();
        let of_column = slots.filter(|slot| slot.head.with(|head| head.aside == aside));
        of_column
            .skip(skip)
            .take(take)
            .collect::<Vec<PanelSignal>>()
    };
    let draw = move |slot| panel(page, &slot, episode.truth);
    each(slots, |slot| slot.id.clone(), draw)
}

/// Returns the first panel of an episode, in which nothing can be pressed.
#[must_use]
pub fn board(page: Page, episode: EpisodeView) -> El {
    let board = div().class("focal").attr("inert", true);
    board.child(panels(page, episode, false, 0, 1))
}

/// Returns a part of the episode that has one place while the visitor composes actions by hand and another
/// one otherwise: its view if `by_hand` is `here`, nothing if not.
fn placed(by_hand: Memo<bool>, here: bool, draw: impl Fn() -> View + Copy + 'static) -> View {
    let view = move || (by_hand.get() == here).then(|| untrack(draw));
    view.into_view()
}

/// Returns the charts of an episode, which share one cursor.
fn charts(page: Page, episode: EpisodeView) -> El {
    let charts = memo(move || {
        let hidden = episode.truth.charts.get();
        if hidden.is_empty() {
            episode.charts.get()
        } else {
            hidden
        }
    });
    let is_truth = move || episode.truth.charts.with(|charts| !charts.is_empty());
    let count = memo(move || charts.with(|charts| charts.len()));
    let last = memo(move || {
        let drawn = charts.with(|charts| charts.iter().map(extent).fold(0.0, f64::max));
        page.action_count().max(drawn as usize)
    });
    let scrubber = Scrubber::over_episode(page, episode.at, last, false);
    let chart = move |index: usize| {
        let nth =
            move || charts.with(|charts| Arc::new(charts.get(index).cloned().unwrap_or_default()));
        chart_view(memo(nth), scrubber)
    };
    let all = move || (0..count.get()).map(chart).collect::<Vec<El>>();
    let flip = move |event| page.future.set(event_target_checked(&event));
    let future = checkbox(move || page.future.get(), flip).id("future");
    let truth = span()
        .class("truth")
        .attr("data-truth", true)
        .hidden(move || !is_truth())
        .child("Truth: the charts show hidden values.");
    let foot = div()
        .class("chart-foot")
        .child(
            label()
                .class("check")
                .child(future)
                .child("Show the future"),
        )
        .child(truth);
    div()
        .class("card charts")
        .hidden(move || count.get() == 0)
        .child(all)
        .child(foot)
}
