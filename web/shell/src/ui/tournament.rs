//! The tournament: all players on the same episodes, played in this tab.

use leptos::prelude::window;
use sentinel_page_protocol::{EpisodeScore, Placement, Standings, TournamentSpec, WorldInfo};

use super::select::{Item, select};
use super::widgets::bar;
use crate::dom::html::{button, div, h2, p, section, span, table, tbody, td, th, thead, tr};
use crate::dom::{El, IntoView, View};
use crate::number_format::{fixed, grouped};
use crate::page::{Page, Tournament};
use crate::reactive::{Signal, memo};
use crate::standings::{format_difference, format_interval, is_significant};

/// Returns the tournament: its settings, its progress and its results.
#[must_use]
pub fn tournament(page: Page) -> El {
    let seeds = Signal::new("100".to_owned());
    let tasks = Signal::new(String::new());
    let seed_items = memo(|| {
        ["20", "100", "500", "2000"]
            .map(|n| Item::new(n, n, ""))
            .to_vec()
    });
    let task_items = memo(|| {
        vec![
            Item::new("", "this task", ""),
            Item::new("all", "all tasks", ""),
        ]
    });
    let start = move || {
        if let Some(info) = page.info.get_untracked() {
            let seeds = seeds.get_untracked().parse().unwrap_or(100);
            page.start_tournament(spec(page, &info, seeds, !tasks.get_untracked().is_empty()));
        }
    };
    let runs = memo(move || {
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
    let chosen_seeds = memo(move || seeds.get());
    let chosen_tasks = memo(move || tasks.get());
    let seed_menu = select(
        "tournament-seeds",
        "Seeds",
        "",
        seed_items,
        chosen_seeds,
        move |n| seeds.set(n),
    );
    let task_menu = select(
        "tournament-tasks",
        "Tasks",
        "",
        task_items,
        chosen_tasks,
        move |word| tasks.set(word),
    );
    let play = button()
        .id("tournament")
        .attr("disabled", move || unknown() || runs.get())
        .on_press(start)
        .child("Play tournament");
    let flip = move || page.pause_tournament(!page.tournament.with_untracked(|t| t.paused));
    let pause = button()
        .id("tournament-pause")
        .hidden(move || !runs.get())
        .on_press(flip)
        .child(pause_word);
    let stop = button()
        .id("tournament-stop")
        .hidden(move || !runs.get())
        .on_press(move || page.stop_tournament())
        .child("Stop");
    let row = div()
        .class("control-row")
        .child(seed_menu)
        .child(div().hidden(move || !several()).child(task_menu))
        .child(play)
        .child(pause)
        .child(stop);
    let note = p()
        .id("tournament-note")
        .class("quiet")
        .attr("role", "status");
    let introduction =
        "One episode says little. Here every player plays the same episodes, in this tab.";
    section()
        .class("card standings")
        .label("Tournament")
        .child(h2().child("Tournament"))
        .child(p().class("quiet").child(introduction))
        .child(row)
        .child(note.child(move || page.tournament.with(progress)))
        .child(move || page.tournament.with(|tournament| results(page, tournament)))
}

fn spec(page: Page, info: &WorldInfo, seeds: u32, all_tasks: bool) -> TournamentSpec {
    let players = info
        .players
        .iter()
        .filter(|player| !player.slow && player.name != "you");
    page.state.with_untracked(|state| TournamentSpec {
        tasks: if all_tasks {
            info.tasks.iter().map(|task| task.name.clone()).collect()
        } else {
            vec![state.task.clone()]
        },
        players: players.map(|player| player.name.clone()).collect(),
        first_seed: 0,
        seeds,
        streams: state.streams.clone(),
        rules: state.rules.clone(),
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

fn results(page: Page, tournament: &Tournament) -> Option<View> {
    let standings = tournament.standings.as_ref()?;
    let rows = standings.placements.iter();
    let rows: Vec<El> = rows
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
    let left_out = format!("Left out because they need seconds for each episode: {slow}.");
    let left_out = (!slow.is_empty()).then(|| p().class("quiet").child(left_out));
    let heading = || th().attr("scope", "col");
    let bars = span().class("sr").child("Mean as a bar");
    let headings = tr()
        .child(heading().child("Player"))
        .child(heading().child(bars))
        .child(heading().class("num").child("Mean score"))
        .child(heading().class("num").child("Difference to best"))
        .child(heading().child("Open"));
    let table = table()
        .class("league")
        .child(thead().child(headings))
        .child(tbody().child(rows));
    let scroll = div()
        .class("scroll")
        .attr("tabindex", "0")
        .attr("role", "group")
        .label("Results")
        .child(table);
    Some(View::Fragment(vec![
        scroll.into_view(),
        left_out.into_view(),
    ]))
}

fn row(page: Page, tournament: &Tournament, standings: &Standings, placement: &Placement) -> El {
    let (mean, half_width) = (placement.mean, placement.half_width);
    let link = |word, episode: &Option<EpisodeScore>| {
        let episode = episode.as_ref()?;
        Some(episode_link(page, tournament, placement, word, episode))
    };
    let links = vec![
        link("Worst", &placement.worst),
        link("Best", &placement.best),
    ];
    let score = td()
        .class("num")
        .attr("data-mean", placement.player.clone())
        .attr("data-half-width", fixed(half_width, 4))
        .child(format_interval(mean, half_width));
    let difference = td()
        .class("num")
        .toggle_class("quiet", !is_significant(standings, &placement.player))
        .child(format_difference(standings, &placement.player));
    let name = th().attr("scope", "row").child(placement.label.clone());
    tr().child(name)
        .child(td().class("bar-cell").child(bar(mean as f32)))
        .child(score)
        .child(difference)
        .child(td().class("links").child(links))
}

/// Returns a button that opens one of a player's episodes.
fn episode_link(
    page: Page,
    tournament: &Tournament,
    placement: &Placement,
    word: &'static str,
    episode: &EpisodeScore,
) -> El {
    let (seed, tasks) = (episode.seed, &tournament.spec.tasks);
    let task = tasks.get(usize::from(episode.task)).cloned();
    let task = task.unwrap_or_default();
    let player = placement.player.clone();
    let score = fixed(f64::from(episode.score), 3);
    let text = format!("{word}: seed {seed}, {score}");
    let open = move || {
        let (task, player) = (task.clone(), player.clone());
        page.restart(|state| {
            state.player = player;
            state.seed = seed;
            if !task.is_empty() {
                state.task = task;
            }
        });
        window().scroll_to_with_x_and_y(0.0, 0.0);
    };
    button()
        .class("link")
        .attr("data-player", placement.player.clone())
        .attr("data-seed", seed.to_string())
        .on_press(open)
        .child(text)
}
