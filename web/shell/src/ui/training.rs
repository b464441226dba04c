//! The training screen: curves of the run in which the policy was trained.

use std::sync::Arc;

use leptos::prelude::Callback;
use sentinel_page_protocol::{Chart, Curves};

use super::chart::{Scrubber, chart_view};
use crate::chart_geometry::stops;
use crate::dom::html::{a, div, h1, p, span};
use crate::dom::{El, IntoView, View};
use crate::page::Page;
use crate::reactive::{Signal, memo};

/// Returns the training screen; the curves are requested when it is first shown.
#[must_use]
pub fn training(page: Page) -> View {
    if page.curves.with_untracked(Option::is_none) {
        page.request_curves();
    }
    let summary = move || {
        page.curves.with(|curves| match curves {
            Some(curves) => curves.summary.clone(),
            None => "Loading the curves…".to_owned(),
        })
    };
    let charts = move || page.curves.get().map(|curves| drawn(&curves));
    let file = move || {
        page.info.with(|info| {
            info.as_ref()
                .map_or_else(String::new, |info| info.curves.clone())
        })
    };
    let hint = ". Point at a chart, or focus it and use the arrow keys, to read values.";
    let source = span()
        .child("Drawn from ")
        .child(a().attr("href", file).child(file))
        .child(hint);
    let summary = p()
        .class("detail")
        .id("training-summary")
        .attr("role", "status")
        .child(summary);
    // A file of the visitor has no address.
    let dropped = move || {
        page.curves.with(|curves| {
            curves
                .as_ref()
                .is_some_and(|curves| !curves.dropped.is_empty())
        })
    };
    let facts = p()
        .class("facts")
        .hidden(move || file().is_empty() || dropped());
    let summary = div()
        .class("story")
        .child(h1().child("How the policy was trained"))
        .child(summary)
        .child(facts.child(source));
    View::Fragment(vec![
        div().class("headline").child(summary).into_view(),
        div().class("curves").child(charts).into_view(),
    ])
}

fn drawn(curves: &Curves) -> Vec<El> {
    let one = |chart: &Chart| div().class("card").child(curve(Arc::new(chart.clone())));
    curves.charts.iter().map(one).collect()
}

/// Returns a chart with its own cursor.
fn curve(chart: Arc<Chart>) -> El {
    let all = Arc::new(stops(&chart));
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
