//! The standings: how the players compare over many episodes, played here and now.

use leptos::prelude::*;
use sentinel_page_protocol::{Placement, Standings, TournamentSpec, WorldInfo};

use super::parts::percent_of;
use super::select::{Item, select};
use crate::num::{fixed, grouped};
use crate::page::{Page, Tournament};
use crate::reactive::memo;
use crate::standings::{difference, extremes, interval, is_clear};

/// The tournament: what to play, how far it is, and its results.
#[component]
pub fn TournamentView(page: Page) -> impl IntoView {
    let seeds = RwSignal::new("100".to_owned());
    let tasks = RwSignal::new(String::new());
    let seed_items = memo(|_| {
        ["20", "100", "500", "2000"]
            .map(|n| Item::new(n, n, ""))
            .to_vec()
    });
    let task_items = memo(|_| {
        vec![
            Item::new("", "this task", ""),
            Item::new("all", "all tasks", ""),
        ]
    });
    let start = move |_| {
        if let Some(info) = page.info.get_untracked() {
            let seeds = seeds.get_untracked().parse().unwrap_or(100);
            page.start_tournament(spec(page, &info, seeds, !tasks.get_untracked().is_empty()));
        }
    };
    let runs = memo(move |_| {
        page.tournament.with(|t| {
            t.run != 0 && !t.stopped && t.standings.as_ref().is_none_or(|s| s.played < s.total)
        })
    });
    let paused = move || page.tournament.with(|tournament| tournament.paused);
    let pause_word = move || if paused() { "Continue" } else { "Pause" };
    let unknown = move || page.info.with(Option::is_none);
    let several = move || {
        page.info
            .with(|info| info.as_ref().is_some_and(|info| info.tasks.len() > 1))
    };
    let chosen_seeds = memo(move |_| seeds.get());
    let chosen_tasks = memo(move |_| tasks.get());
    view! {
        <section class="card standings" aria-label="Tournament">
            <h2>"Tournament"</h2>
            <p class="quiet">"One episode says little. Here every player plays the same episodes, in this tab."</p>
            <div class="control-row">
                {select("tournament-seeds".to_owned(), "Seeds".to_owned(), String::new(), seed_items, chosen_seeds, move |n| seeds.set(n))}
                <div hidden=move || !several()>
                    {select("tournament-tasks".to_owned(), "Tasks".to_owned(), String::new(), task_items, chosen_tasks, move |word| tasks.set(word))}
                </div>
                <button type="button" id="tournament" disabled=move || unknown() || runs.get() on:click=start>"Play tournament"</button>
                <button type="button" id="tournament-pause" hidden=move || !runs.get()
                    on:click=move |_| page.pause_tournament(!page.tournament.with_untracked(|t| t.paused))>{move || pause_word()}</button>
                <button type="button" id="tournament-stop" hidden=move || !runs.get()
                    on:click=move |_| page.stop_tournament()>"Stop"</button>
            </div>
            <p id="tournament-note" class="quiet" role="status">{move || page.tournament.with(progress)}</p>
            {move || page.tournament.with(|tournament| results(page, tournament))}
        </section>
    }
}

fn spec(page: Page, info: &WorldInfo, seeds: u32, all_tasks: bool) -> TournamentSpec {
    let players = info
        .players
        .iter()
        .filter(|player| !player.slow && player.name != "you");
    page.view.with_untracked(|view| TournamentSpec {
        tasks: if all_tasks {
            info.tasks.iter().map(|task| task.name.clone()).collect()
        } else {
            vec![view.task.clone()]
        },
        players: players.map(|player| player.name.clone()).collect(),
        first_seed: 0,
        seeds,
        streams: view.streams.clone(),
        rules: view.rules.clone(),
    })
}

fn progress(tournament: &Tournament) -> String {
    let Some(standings) = &tournament.standings else {
        return if tournament.run == 0 {
            String::new()
        } else {
            "Starting…".to_owned()
        };
    };
    let (played, total) = (u64::from(standings.played), u64::from(standings.total));
    if played >= total {
        return format!(
            "{} episodes. Mean score with its 95 % interval.",
            grouped(total)
        );
    }
    let word = match (tournament.stopped, tournament.paused) {
        (true, _) => ", stopped",
        (_, true) => ", paused",
        _ => "…",
    };
    format!("{} of {} episodes{word}", grouped(played), grouped(total))
}

fn results(page: Page, tournament: &Tournament) -> Option<AnyView> {
    let standings = tournament.standings.as_ref()?;
    let rows = standings.placements.iter();
    let rows: Vec<AnyView> = rows
        .map(|placement| row(page, tournament, standings, placement))
        .collect();
    let slow = page.info.with_untracked(|info| {
        let slow = info
            .iter()
            .flat_map(|info| &info.players)
            .filter(|player| player.slow);
        slow.map(|player| player.label.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    });
    let slow = (!slow.is_empty())
        .then(|| view! { <p class="quiet">{format!("Left out because an episode takes them seconds: {slow}.")}</p> });
    Some(view! {
        <div class="scroll" tabindex="0" role="group" aria-label="Results">
            <table class="league">
                <thead><tr>
                    <th scope="col">"Player"</th><th scope="col"><span class="sr">"Mean as a bar"</span></th>
                    <th scope="col" class="num">"Mean score"</th><th scope="col" class="num">"To the best"</th>
                    <th scope="col">"Open"</th>
                </tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
        {slow}
    }
    .into_any())
}

fn row(
    page: Page,
    tournament: &Tournament,
    standings: &Standings,
    placement: &Placement,
) -> AnyView {
    let label = placement.label.clone();
    let (mean, half_width) = (placement.mean, placement.half_width);
    let width = percent_of(mean as f32);
    let difference_text = difference(standings, &placement.player);
    let clear = is_clear(standings, &placement.player);
    let links = extremes(placement).map(|(worst, best)| {
        [("Worst", worst), ("Best", best)]
            .map(|(word, at)| episode_link(page, tournament, placement, word, at))
            .into_iter()
            .collect::<Vec<AnyView>>()
    });
    view! {
        <tr>
            <th scope="row">{label}</th>
            <td class="bar-cell"><span class="bar" aria-hidden="true"><i style:width=width></i></span></td>
            <td class="num" data-mean=placement.player.clone() data-half-width=fixed(half_width, 4)>{interval(mean, half_width)}</td>
            <td class="num" class:quiet=!clear>{difference_text}</td>
            <td class="links">{links}</td>
        </tr>
    }
    .into_any()
}

/// A button that opens one of a player's episodes.
fn episode_link(
    page: Page,
    tournament: &Tournament,
    placement: &Placement,
    word: &'static str,
    at: usize,
) -> AnyView {
    let (task, seed) = placement
        .scores
        .episodes
        .get(at)
        .copied()
        .unwrap_or_default();
    let score = placement.scores.values.get(at).copied().unwrap_or_default();
    let task = tournament
        .spec
        .tasks
        .get(usize::from(task))
        .cloned()
        .unwrap_or_default();
    let player = placement.player.clone();
    let text = format!("{word}: seed {seed}, {}", fixed(f64::from(score), 3));
    let open = move |_| {
        let (task, player) = (task.clone(), player.clone());
        page.restart(|view| {
            view.player = player;
            view.seed = seed;
            if !task.is_empty() {
                view.task = task;
            }
        });
        window().scroll_to_with_x_and_y(0.0, 0.0);
    };
    let seed = seed.to_string();
    let player = placement.player.clone();
    view! { <button type="button" class="link" data-player=player data-seed=seed on:click=open>{text}</button> }
        .into_any()
}
