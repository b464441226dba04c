//! The tournament: chosen players on the same episodes, played in this tab.

mod form;
mod player_details;
mod results;

use sentinel_page_protocol::{EpisodeScore, TournamentSpec};

use super::widgets::bar;
use crate::dom::El;
use crate::dom::html::{button, h2, p, section};
use crate::dom::svg::{line, path, rect, svg};
use crate::number_format::{css, fixed, grouped};
use crate::page::{Page, Tournament};
use crate::reactive::{Signal, memo};
use crate::standings::{format_interval, format_rest, histogram_path};

/// Width and height of a histogram's box.
const BOX: [f64; 2] = [210.0, 30.0];

/// Returns the tournament: its settings, its progress and its results.
#[must_use]
pub fn tournament(page: Page) -> El {
    let runs = memo(move || {
        page.tournament.with(|t| {
            t.run != 0 && !t.stopped && t.standings.as_ref().is_none_or(|s| s.played < s.total)
        })
    });
    let paused = move || page.tournament.with(|tournament| tournament.paused);
    let pause_word = move || if paused() { "Continue" } else { "Pause" };
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
    let note = p()
        .id("tournament-note")
        .class("quiet")
        .attr("role", "status");
    let introduction =
        "One episode says little. Here every player plays the same episodes, in this tab.";
    let share = move || {
        runs.get().then(|| {
            page.tournament.with(|tournament| {
                let standings = tournament.standings.as_ref();
                bar(standings.map_or(0.0, |s| s.played as f32 / s.total.max(1) as f32))
            })
        })
    };
    let open = Signal::new(String::new());
    section()
        .class("card standings")
        .label("Tournament")
        .child(h2().child("Tournament"))
        .child(p().class("quiet").child(introduction))
        .child(form::form(page, runs, vec![pause, stop]))
        .child(share)
        .child(note.child(move || page.tournament.with(progress)))
        .child(results::reference_menu(page))
        .child(move || {
            page.tournament
                .with(|tournament| results::results(page, tournament, open))
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
    let (played, total) = (standings.played, standings.total);
    let [scored, left_out] = [total - standings.left_out.min(total), standings.left_out];
    if played >= total {
        let mut text = format!(
            "{} episodes. Mean score with its 95 % interval.",
            grouped(scored.into())
        );
        if left_out > 0 {
            let left_out = grouped(left_out.into());
            text += &format!(" {left_out} more are left out: the replays do not hold them.");
        }
        return text;
    }
    let elapsed = tournament.updated_ms - tournament.started_ms;
    let rest = format_rest(elapsed, played, total);
    let word = match (tournament.stopped, tournament.paused) {
        (true, _) => ", stopped".to_owned(),
        (_, true) => ", paused".to_owned(),
        _ if rest.is_empty() => "…".to_owned(),
        _ => "… ".to_owned() + &rest,
    };
    let (played, total) = (grouped(played.into()), grouped(total.into()));
    format!("{played} of {total} episodes{word}")
}

/// Returns a histogram with a mark at its mean, over the interval of the mean; and a line at 0 if
/// the range contains it.
fn histogram(counts: &[u32], [low, high]: [f64; 2], mean: f64, half_width: f64) -> El {
    let [width, height] = BOX;
    let x = |value: f64| ((value - low) / (high - low)).clamp(0.0, 1.0) * width;
    let upright = |class: &'static str, value: f64| {
        line()
            .class(class)
            .attr("x1", css(x(value)))
            .attr("x2", css(x(value)))
            .attr("y1", "0")
            .attr("y2", css(height + 4.0))
    };
    let zero = (low < 0.0 && high > 0.0).then(|| upright("zero", 0.0));
    let interval = half_width.is_finite().then(|| {
        let (from, to) = (x(mean - half_width), x(mean + half_width));
        rect()
            .class("interval")
            .attr("x", css(from))
            .attr("width", css((to - from).max(1.0)))
            .attr("height", css(height + 4.0))
    });
    let is_empty = counts.iter().all(|count| *count == 0);
    let words = format!(
        "Histogram from {} to {}, mean {}",
        fixed(low, 2),
        fixed(high, 2),
        format_interval(mean, half_width)
    );
    svg()
        .class("histogram")
        .attr("viewBox", "0 0 210 34")
        .attr("preserveAspectRatio", "none")
        .attr("role", "img")
        .label(if is_empty {
            "No episodes".to_owned()
        } else {
            words
        })
        .child(interval)
        .child(path().attr("d", histogram_path(counts, width, height)))
        .child(zero)
        .child((!is_empty).then(|| upright("mean", mean)))
}

/// Returns a button that opens an episode of a tournament: of one player, or of two side by side.
fn episode_link(
    page: Page,
    spec: &TournamentSpec,
    [player, versus]: [&str; 2],
    episode: &EpisodeScore,
    text: String,
) -> El {
    let task = spec.tasks.get(usize::from(episode.task)).cloned();
    let (task, seed) = (task.unwrap_or_default(), episode.seed);
    let (streams, rules) = (spec.streams.clone(), spec.rules.clone());
    let [played, compared] = [player, versus].map(str::to_owned);
    let open = move || {
        page.restart(|state| {
            state.player.clone_from(&played);
            state.versus.clone_from(&compared);
            state.seed = seed;
            state.streams.clone_from(&streams);
            state.rules.clone_from(&rules);
            if !task.is_empty() {
                state.task.clone_from(&task);
            }
        });
        leptos::prelude::window().scroll_to_with_x_and_y(0.0, 0.0);
    };
    button()
        .class("link")
        .attr("data-player", player.to_owned())
        .attr("data-seed", seed.to_string())
        .on_press(open)
        .child(text)
}
