//! The standings: how the policies compare over many seeds, computed here and now.

use std::time::Duration;

use leptos::prelude::*;
use wasm_bindgen::JsCast;

use crate::fetched::Fetched;
use crate::page::Page;
use crate::play::{Bout, League, SEEDS, Standing};
use crate::state::{Source, View};
use crate::text::three;
use crate::world::{Named, World};
use sentinel_policy::insertion_sort::sort;

/// Time for one piece, in milliseconds.
const PIECE_MS: f64 = 12.0;

/// Every policy on the same hundred seeds of the current task.
#[component]
pub fn Standings<W: World>(page: Page<W>) -> impl IntoView {
    let league = RwSignal::new(None::<League<W>>);
    let bout = StoredValue::new_local(None::<Bout<W>>);
    let what = Memo::new(move |_| page.still.with(|v| (v.task, v.streams, v.rules)));
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
        let waits = W::LEARNED.is_some() && matches!(model, Fetched::Unasked | Fetched::Loading);
        if asked.get() && !waits {
            asked.set(false);
            let (task, streams, rules) = what.get_untracked();
            let view = View {
                task,
                streams,
                rules,
                ..View::default()
            };
            bout.set_value(None);
            league.set(Some(League::new(view, model.ready().cloned())));
            play_on(league, bout);
        }
    });
    let heading = move || format!("Standings on {}", W::task_label(what.get().0));
    let empty = Memo::new(move |_| league.with(Option::is_none));
    let absent = move || {
        let trained =
            |league: &League<W>| league.standings.iter().any(|s| s.who == Source::Trained);
        W::LEARNED.is_some() && league.with(|league| !league.as_ref().is_none_or(trained))
    };
    let markup = move || league.with(|league| league.as_ref().map_or_else(String::new, table));
    view! {
        <section class="card standings" aria-label="Standings">
            <h3>{heading}</h3>
            <div hidden=move || !empty.get()>
                <p class="quiet">{format!("One episode says little. Play seeds 0 to {} with every policy, in this tab:", SEEDS - 1)}</p>
                <p><button id="league" on:click=start disabled=move || asked.get()>"Play them all"</button></p>
            </div>
            <div on:click=move |event| show(page, &event) inner_html=markup></div>
            {move || absent().then(|| view! {
                <div class="note bad" id="league-absent">
                    "GRPO is not in these standings, because its weights did not come. "
                    <button on:click=start>"Play all again"</button>
                </div>
            })}
        </section>
    }
}

/// Shows the episode behind a number of the table.
fn show<W: World>(page: Page<W>, event: &leptos::ev::MouseEvent) {
    let target = event
        .target()
        .and_then(|t| t.dyn_into::<web_sys::Element>().ok());
    let Some(link) = target.filter(|t| t.has_attribute("data-seed")) else {
        return;
    };
    let read = |name: &str| link.get_attribute(name).unwrap_or_default();
    if let (Some(source), Ok(seed)) = (Source::parse(&read("data-who")), read("data-seed").parse())
    {
        page.restart(|view| {
            view.seed = seed;
            view.source = source;
        });
    }
}

/// Plays some steps, lets the browser breathe, and goes on; stops when the standings were put away.
fn play_on<W: World>(
    league: RwSignal<Option<League<W>>>,
    bout: StoredValue<Option<Bout<W>>, LocalStorage>,
) {
    let more = bout.try_update_value(|bout| piece(league, bout));
    if more.unwrap_or(false) {
        set_timeout(move || play_on(league, bout), Duration::ZERO);
    }
}

/// Plays for some milliseconds; whether anything is left.
fn piece<W: World>(league: RwSignal<Option<League<W>>>, bout: &mut Option<Bout<W>>) -> bool {
    let end = js_sys::Date::now() + PIECE_MS;
    let mut ended = false;
    let mut left = true;
    let Some(Some(mut ahead)) = league.try_get_untracked() else {
        return false;
    };
    while js_sys::Date::now() < end {
        let Some(mut playing) = bout.take().or_else(|| ahead.next()) else {
            left = false;
            break;
        };
        if playing.advance() {
            *bout = Some(playing);
        } else {
            ahead.record(&playing);
            ended = true;
        }
    }
    // Drawn once a piece, and only when an episode ended.
    if ended {
        league.set(Some(ahead));
    }
    left
}

/// The table; words and numbers of ours only, so nothing needs escaping.
fn table<W: World>(league: &League<W>) -> String {
    let (played, all) = league.progress();
    let note = if played < all {
        format!("{played} of {all} episodes…")
    } else {
        format!("{all} episodes. Mean score with its 95 % interval; pick a seed to see it.")
    };
    let slow = W::Policy::all().iter().filter(|policy| W::slow(**policy));
    let slow: Vec<&str> = slow.map(|policy| W::label(*policy)).collect();
    let slow = match slow.is_empty() {
        true => String::new(),
        false => format!(
            "<p class=\"quiet\">Not here, because an episode takes seconds: {}.</p>",
            slow.join(", ")
        ),
    };
    let mut standings: Vec<&Standing<W>> = league.standings.iter().collect();
    sort(&mut standings, |a, b| a.mean() > b.mean());
    let rows: String = standings.into_iter().map(row).collect();
    format!(
        "<p class=\"quiet\" id=\"league-note\" role=\"status\">{note}</p><table class=\"league\"><tbody>{rows}</tbody></table>{slow}"
    )
}

fn row<W: World>(standing: &Standing<W>) -> String {
    let source = &standing.who;
    let (id, label, description) = (source.id(), source.label(), source.describe());
    let (mean, half) = (standing.mean(), standing.half_interval());
    let cheats = matches!(source, Source::Policy(policy) if W::cheats(*policy));
    let class = if cheats { "cheats" } else { "" };
    let (worst, best) = standing.extremes().unwrap_or((0, 0));
    let seed = |seed: u64, what: &str| {
        format!(
            "<td class=\"wide\"><button class=\"link\" data-who=\"{id}\" data-seed=\"{seed}\">{what}: seed {seed}</button></td>"
        )
    };
    format!(
        "<tr class=\"{class}\"><th scope=\"row\" title=\"{description}\">{label}</th>\
        <td class=\"bar\"><div class=\"meter\"><span style=\"width:{:.1}%\"></span></div></td>\
        <td class=\"num\" data-mean=\"{id}\">{} ± {}</td>{}{}</tr>",
        mean * 100.0,
        three(mean),
        three(half),
        seed(worst, "worst"),
        seed(best, "best")
    )
}
