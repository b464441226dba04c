//! How the trained policy came to be: the curves of its training run.

use std::sync::Arc;

use leptos::prelude::*;
use sentinel_page_protocol::{Chart, Curves};

use super::chart::{ChartView, Scrubber};
use crate::page::Page;
use crate::plot::stops;
use crate::reactive::memo;

/// The curves, which are asked for when they are first shown.
#[component]
pub fn Training(page: Page) -> impl IntoView {
    if page.curves.with_untracked(Option::is_none) {
        page.ask_for_curves();
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
    view! {
        <div class="headline">
            <div class="story">
                <h1>"How the policy was trained"</h1>
                <p class="detail" id="training-summary" role="status">{move || summary()}</p>
                <p class="facts" hidden=move || file().is_empty()>
                    <span>"Drawn from "<a href=move || file()>{move || file()}</a>". Point at a chart, or focus it and use the arrow keys, to read values."</span>
                </p>
            </div>
        </div>
        <div class="curves">{move || charts()}</div>
    }
}

fn drawn(curves: &Curves) -> Vec<AnyView> {
    let one = |chart: &Chart| {
        let chart = Arc::new(chart.clone());
        view! { <div class="card"><Curve chart/></div> }.into_any()
    };
    curves.charts.iter().map(one).collect()
}

/// A chart with a cursor of its own.
#[component]
fn Curve(chart: Arc<Chart>) -> impl IntoView {
    let all = Arc::new(stops(&chart));
    let at = RwSignal::new(all.len().saturating_sub(1));
    let scrubber = Scrubber {
        stops: memo(move |_| all.clone()),
        at: memo(move |_| at.get()),
        seek: Callback::new(move |index| at.set(index)),
        fades: memo(|_| false),
        reads: true,
    };
    view! { <ChartView chart=memo(move |_| chart.clone()) scrubber/> }
}
