//! The screens "Training" and "Results": panels and charts that an engine made from recorded files.

use std::sync::Arc;

use leptos::prelude::Callback;
use sentinel_page_protocol::{Chart, Line, Panel, Records, RecordsSection};

use super::chart::{Scrubber, chart_view};
use super::panel::panel;
use super::widgets;
use crate::chart_geometry::{stops, value_at};
use crate::dom::html::{div, h1, h2, p, section};
use crate::dom::{El, IntoView, View};
use crate::page::Page;
use crate::panel_signals::PanelSignals;
use crate::reactive::{Signal, effect, memo};
use crate::state::{PageState, Screen};

/// Returns the screen `screen`; what it shows is requested whenever the address names something
/// else.
#[must_use]
pub fn records(page: Page, screen: Screen) -> View {
    let is_training = screen == Screen::Training;
    // These effects may run once more after the screen is gone, so they read signals of the page only.
    let mut before = None;
    effect(move || {
        let of_state = |state: &PageState| (state.world.clone(), state.runs.clone());
        let now = Some(page.without_cursor.with(of_state));
        if page.screen() == screen
            && before != now
            && let Some((world, runs)) = &now
        {
            page.request_records(screen, world.clone(), runs.clone());
            before = now;
        }
    });
    effect(move || {
        let known = page.info.with(Option::is_some);
        if is_training && known && page.checkpoints.with_untracked(Option::is_none) {
            page.request_checkpoints();
        }
    });
    let found = move || {
        let found = page.records.get()?;
        (found.screen == screen.as_str()).then_some(found)
    };
    let text = move |of: fn(&Records) -> &String| {
        move || found().map_or_else(|| "Loading…".to_owned(), |found| of(&found).clone())
    };
    let status = p().class("detail").attr("role", "status");
    let story = div()
        .class("story")
        .child(h1().child(text(|found| &found.title)))
        .child(status.child(text(|found| &found.detail)));
    let checkpoints = move || {
        let found = page.checkpoints.get().filter(|_| is_training)?;
        Some(panels(page, std::slice::from_ref(&*found)))
    };
    let sections = move || {
        let sections = found()?;
        let drawn = sections.sections.iter().map(|of| drawn(page, of));
        Some(drawn.collect::<Vec<El>>())
    };
    View::Fragment(vec![
        div().class("headline").child(story).into_view(),
        checkpoints.into_view(),
        sections.into_view(),
    ])
}

fn drawn(page: Page, of: &RecordsSection) -> El {
    let chart = |(chart, name): &(Chart, _)| {
        div()
            .class("card")
            .child(curve(chart))
            .child(widgets::note(name))
    };
    section()
        .class("records")
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
