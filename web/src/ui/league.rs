//! The standings: how the policies compare over many seeds, computed here and now.

use std::time::Duration;

use leptos::prelude::*;

use super::three;
use crate::fetched::Fetched;
use crate::page::Page;
use crate::play::{Contestant, League, SEEDS, Standing};

/// Every policy on the same hundred seeds of the current task.
#[component]
pub fn Standings() -> impl IntoView {
    let page = expect_context::<Page>();
    let league = RwSignal::new(None::<League>);
    let what = Memo::new(move |_| page.view.with(|view| (view.task, view.streams)));
    // Standings of another task would be read as this one's.
    Effect::new(move |before: Option<_>| {
        let now = what.get();
        if before.is_some_and(|before| before != now) {
            league.set(None);
        }
        now
    });
    // The trained policy takes part: the start waits until its weights came, or did not.
    let asked = RwSignal::new(false);
    let start = move |_| {
        page.fetch_model();
        asked.set(true);
    };
    Effect::new(move |_| {
        let model = page.model.get();
        if asked.get() && !matches!(model, Fetched::Unasked | Fetched::Loading) {
            asked.set(false);
            let (task, streams) = what.get_untracked();
            league.set(Some(League::new(task, streams, model.ready().cloned())));
            play_on(league);
        }
    });
    let heading = move || format!("Standings on task {}", what.get().0 as u8 + 1);
    let body = move || {
        match league.get() {
        None => view! {
            <p class="quiet">{format!("One episode says little. Play seeds 0 to {} with every policy, in this tab:", SEEDS - 1)}</p>
            <p><button id="league" on:click=start disabled=move || asked.get()>"Play them all"</button></p>
        }
        .into_any(),
        Some(league) => {
            let absent = !league.standings.iter().any(|s| matches!(s.who, Contestant::Trained(_)));
            let absent = absent.then(|| view! {
                <div class="note bad" id="league-absent">
                    "GRPO is not in these standings, because its weights did not come. "
                    <button on:click=start>"Play all again"</button>
                </div>
            });
            view! { {table(page, &league)}{absent} }.into_any()
        }
    }
    };
    view! {
        <section class="card standings" aria-label="Standings">
            <h3>{heading}</h3>
            {body}
        </section>
    }
}

/// Plays a seed, lets the browser breathe, and goes on; stops when the standings were put away.
fn play_on(league: RwSignal<Option<League>>) {
    let more = league
        .try_update(|league| league.as_mut().is_some_and(League::advance))
        .unwrap_or(false);
    if more {
        set_timeout(move || play_on(league), Duration::ZERO);
    }
}

fn table(page: Page, league: &League) -> impl IntoView + use<> {
    let (played, all) = league.progress();
    let note = if played < all {
        format!("{played} of {all} episodes…")
    } else {
        format!("{all} episodes. Mean score with its 95 % interval; pick a seed to see it.")
    };
    let mut standings = league.standings.clone();
    standings.sort_by(|a, b| b.mean().total_cmp(&a.mean()));
    let rows: Vec<_> = standings
        .iter()
        .map(|standing| row(page, standing))
        .collect();
    view! {
        <p class="quiet" id="league-note" role="status">{note}</p>
        <table class="league"><tbody>{rows}</tbody></table>
    }
}

fn row(page: Page, standing: &Standing) -> impl IntoView + use<> {
    let source = standing.who.source();
    let (id, label, description) = (source.id(), source.label(), source.describe());
    let (mean, half) = (standing.mean(), standing.half_interval());
    let width = format!("width:{:.1}%", mean * 100.0);
    let class = if standing.who.cheats() { "cheats" } else { "" };
    let (worst, best) = standing.extremes().unwrap_or((0, 0));
    let seed = move |seed: u64, what: &'static str| {
        let source = source.clone();
        let show = move |_| {
            page.restart(|view| {
                view.seed = seed;
                view.source = source.clone();
            });
        };
        view! { <button class="link" on:click=show>{format!("{what}: seed {seed}")}</button> }
    };
    view! {
        <tr class=class>
            <th scope="row" title=description>{label}</th>
            <td class="bar"><div class="meter"><span style=width></span></div></td>
            <td class="num" data-mean=id>{format!("{} ± {}", three(mean), three(half))}</td>
            <td class="wide">{seed(worst, "worst")}</td>
            <td class="wide">{seed(best, "best")}</td>
        </tr>
    }
}
