//! An episode: what happened, the board of the moment, charts, and all actions.

use std::sync::Arc;

use leptos::prelude::*;
use sentinel_page_protocol::Chart;

use super::actions::Actions;
use super::chart::{ChartView, Scrubber};
use super::composer::ComposerView;
use super::headline::Headline;
use super::panel::PanelView;
use super::reward::Score;
use super::transcript::TranscriptView;
use super::truth::TruthPanels;
use crate::board::PanelSlot;
use crate::lane::Lane;
use crate::page::Page;
use crate::plot::extent;
use crate::reactive::memo;

/// An episode; `main` for the one that the visitor plays.
#[component]
pub fn Pane(page: Page, lane: Lane, main: bool) -> impl IntoView {
    let label = move || {
        let player = lane
            .status
            .with(|status| status.episode.player_label.clone());
        if player.is_empty() {
            "Episode".to_owned()
        } else {
            format!("Episode of {player}")
        }
    };
    let is_empty = memo(move |_| lane.moment.with(Option::is_none));
    let (hidden, embed) = (lane.hidden, page.view.with_untracked(|view| view.embed));
    let word = if main { "main" } else { "versus" };
    let player = move || lane.status.with(|status| status.episode.player.clone());
    // The first panel and the charts are what one looks at; the other panels follow.
    let panels = move |aside: bool, first: bool| {
        let slots = lane.board.panels.get();
        let of_column = slots
            .into_iter()
            .filter(move |slot| slot.head.with(|head| head.aside == aside));
        let (skip, take) = match (aside, first) {
            (true, _) => (0, usize::MAX),
            (false, true) => (0, 1),
            (false, false) => (1, usize::MAX),
        };
        of_column.skip(skip).take(take).collect::<Vec<PanelSlot>>()
    };
    view! {
        <article class="pane" data-pane=word data-player=move || player() aria-label=move || label() aria-busy=move || is_empty.get().to_string()>
            <Headline page lane main/>
            <div class="skeleton" hidden=move || !is_empty.get() aria-hidden="true"><div></div><div></div></div>
            <div class="pane-grid" hidden=move || is_empty.get()>
                <div class="column wide">
                    <div class="focal">
                        <For each=move || panels(false, true) key=|slot| slot.id.clone() let:of>
                            <PanelView page of hidden/>
                        </For>
                        <Charts page lane/>
                    </div>
                    {main.then(|| view! { <ComposerView page/> })}
                    <For each=move || panels(false, false) key=|slot| slot.id.clone() let:of>
                        <PanelView page of hidden/>
                    </For>
                    <TruthPanels page hidden/>
                    <TranscriptView lane/>
                </div>
                <div class="column narrow">
                    <Score lane/>
                    <For each=move || panels(true, false) key=|slot| slot.id.clone() let:of>
                        <PanelView page of hidden/>
                    </For>
                    {(!embed).then(|| view! { <Actions page lane/> })}
                </div>
            </div>
        </article>
    }
}

/// The charts of an episode, with one cursor.
#[component]
fn Charts(page: Page, lane: Lane) -> impl IntoView {
    let charts = memo(move |_| {
        let hidden = lane.hidden.charts.get();
        if hidden.is_empty() {
            lane.charts.get()
        } else {
            hidden
        }
    });
    let is_truth = move || lane.hidden.charts.with(|charts| !charts.is_empty());
    let count = memo(move |_| charts.with(|charts| charts.len()));
    let stops = memo(move |_| {
        let drawn = charts.with(|charts| charts.iter().map(extent).fold(0.0, f64::max));
        let last = page.last().max(drawn as usize);
        Arc::new((0..=last).map(|action| action as f32).collect::<Vec<_>>())
    });
    let scrubber = Scrubber {
        stops,
        at: lane.at,
        seek: Callback::new(move |action| page.seek(action)),
        fades: memo(move |_| !page.future.get()),
        reads: false,
    };
    let chart = move |index: usize| {
        let nth = move |_: Option<&Arc<Chart>>| {
            charts.with(|charts| Arc::new(charts.get(index).cloned().unwrap_or_default()))
        };
        view! { <ChartView chart=memo(nth) scrubber/> }.into_any()
    };
    let all = move || (0..count.get()).map(chart).collect::<Vec<AnyView>>();
    let flip = move |event| page.future.set(event_target_checked(&event));
    view! {
        <div class="card charts" hidden=move || count.get() == 0>
            {move || all()}
            <div class="chart-foot">
                <label class="check">
                    <input type="checkbox" id="future" prop:checked=move || page.future.get() on:change=flip/>
                    "Show the future"
                </label>
                <span class="truth" data-truth hidden=move || !is_truth()>"Truth: the charts show hidden values."</span>
            </div>
        </div>
    }
}
