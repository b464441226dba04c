//! The screens "Training" and "Results": panels and charts that an engine made from recorded files.

use std::sync::Arc;

use leptos::prelude::Callback;
use sentinel_page_protocol::{Chart, Line, Panel, RecordsSection};

use super::chart::{Scrubber, chart_view};
use super::panel::panel;
use super::train::train;
use super::widgets;
use crate::browser;
use crate::chart_geometry::{stops, value_at};
use crate::dom::html::{button, div, h1, h2, li, nav, ol, p, section};
use crate::dom::{El, IntoView, View};
use crate::page::Page;
use crate::panel_signals::PanelSignals;
use crate::reactive::{Memo, Signal, effect, memo};
use crate::state::Screen;

/// Returns the screen `screen`; what it shows is requested whenever the address names something
/// else.
#[must_use]
pub fn records(page: Page, screen: Screen) -> View {
    let chosen = memo(move || {
        page.without_cursor
            .with(|state| (state.world.clone(), state.runs.clone()))
    });
    effect(move || {
        let (world, runs) = chosen.get();
        page.request_records(screen, world, runs);
    });
    let trains = (screen == Screen::Training).then(|| train(page));
    let content = move || {
        let found = page.records.get();
        let found = found.filter(|found| found.screen == screen.as_str());
        let (title, detail) = match &found {
            Some(found) => (found.title.clone(), found.detail.clone()),
            None => (String::new(), "Loading…".to_owned()),
        };
        let story = div()
            .class("story")
            .child(match screen {
                // The part that trains has the heading of the screen.
                Screen::Training => h2().child(title),
                _ => h1().child(title),
            })
            .child(p().class("detail").attr("role", "status").child(detail));
        let all = found.as_ref().map_or(&[][..], |found| &found.sections);
        let sections = all.iter().enumerate();
        let sections: Vec<El> = sections.map(|(index, of)| drawn(page, index, of)).collect();
        View::Fragment(vec![
            div().class("headline").child(story).into_view(),
            contents(all).into_view(),
            (screen == Screen::Training && found.is_some())
                .then(|| checkpoints(page))
                .into_view(),
            sections.into_view(),
        ])
    };
    View::Fragment(vec![trains.into_view(), content.into_view()])
}

/// Returns the checkpoints of the trained policy. The place that they need is kept while they have no
/// scores, so that nothing below moves.
fn checkpoints(page: Page) -> El {
    let content = move || match page.checkpoints.get() {
        Some(found) => panels(page, std::slice::from_ref(&*found)),
        None => {
            // The notice says why, if they cannot play.
            let text = match page.notices.with(Vec::is_empty) {
                true => "Each checkpoint plays the same episode…",
                false => "The checkpoints have no scores yet.",
            };
            vec![div().class("card").child(p().class("quiet").child(text))]
        }
    };
    div().class("checkpoints").child(content)
}

/// Returns links to the sections; `None` for less than three.
fn contents(sections: &[RecordsSection]) -> Option<El> {
    let link = |(index, of): (usize, &RecordsSection)| {
        let target = section_id(index);
        let open = move || browser::show(&target);
        let link = button().class("link").on_press(open);
        li().child(link.child(of.title.clone()))
    };
    let links: Vec<El> = sections.iter().enumerate().map(link).collect();
    (links.len() > 2).then(|| {
        let list = ol().class("contents").child(links);
        nav().label("Contents").child(list)
    })
}

fn section_id(index: usize) -> String {
    format!("section-{index}")
}

fn drawn(page: Page, index: usize, of: &RecordsSection) -> El {
    let chart = |(chart, name): &(Chart, _)| {
        div()
            .class("card")
            .child(curve(chart))
            .child(widgets::note(name))
    };
    section()
        .class("records")
        .id(section_id(index))
        .attr("tabindex", "-1")
        .label(of.title.clone())
        .child(h2().child(of.title.clone()))
        .child(p().class("quiet").child(of.detail.clone()))
        .child(panels(page, &of.panels))
        .child(
            div()
                .class("curves")
                .child(of.charts.iter().map(chart).collect::<Vec<El>>()),
        )
}

/// Returns panels that do not change.
fn panels(page: Page, all: &[Panel]) -> Vec<El> {
    let signals = PanelSignals::default();
    signals.update(all);
    let slots = signals.list.get_untracked();
    let truth = page.main.truth;
    slots.iter().map(|slot| panel(page, slot, truth)).collect()
}

/// Returns a chart with its own cursor, which starts at the last position where every line has a
/// value.
fn curve(chart: &Chart) -> El {
    let all = Arc::new(common_stops(chart));
    let chart = Arc::new(chart.clone());
    let end = |line: &Line| line.x.last().copied().unwrap_or(f32::MAX);
    let end = chart.lines.iter().map(end).fold(f32::MAX, f32::min);
    let at = Signal::new(all.iter().rposition(|at| *at <= end).unwrap_or(0));
    let scrubber = Scrubber {
        stops: memo(move || all.clone()),
        at: memo(move || at.get()),
        seek: Callback::new(move |index| at.set(index)),
        fades_future: memo(|| false),
        shows_values: true,
    };
    chart_view(memo(move || chart.clone()), scrubber)
}

/// Returns a chart that grows; its cursor follows the end.
pub(super) fn live_curve(chart: Memo<Arc<Chart>>) -> El {
    let all = memo(move || Arc::new(chart.with(|chart| stops(chart))));
    let moved = Signal::new(None);
    let end = memo(move || all.with(|all| all.len().saturating_sub(1)));
    let scrubber = Scrubber {
        stops: all,
        at: memo(move || moved.get().unwrap_or(usize::MAX).min(end.get())),
        seek: Callback::new(move |index| moved.set((index < end.get_untracked()).then_some(index))),
        fades_future: memo(|| false),
        shows_values: true,
    };
    chart_view(chart, scrubber)
}

/// Returns the positions of the cursor: those at which every line that has begun and not ended has
/// a value, so that lines logged at different intervals can be compared; all if there are none at
/// the end.
fn common_stops(chart: &Chart) -> Vec<f32> {
    let all = stops(chart);
    let is_common = |at: &&f32| {
        chart.lines.iter().all(|line| {
            let has_begun = line.x.first().is_none_or(|first| first <= at);
            let has_ended = line.x.last().is_some_and(|last| last < at);
            !has_begun || has_ended || value_at(line, **at).is_some()
        })
    };
    let common: Vec<f32> = all.iter().filter(is_common).copied().collect();
    // The last stop is the right edge of the drawing.
    if common.last() == all.last() {
        common
    } else {
        all
    }
}
