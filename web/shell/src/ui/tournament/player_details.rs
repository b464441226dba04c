//! The details of one player in a tournament: distributions, and episodes to open.

use sentinel_page_protocol::{Difference, EpisodeScore, Placement, Standings};

use super::{episode_link, histogram};
use crate::dom::El;
use crate::dom::html::{div, h3, li, p, section, span, ul};
use crate::number_format::{fixed, signed};
use crate::page::{Page, Tournament};
use crate::standings::{describe_pairs, difference_of, label_of};

/// Returns the details of a player.
pub(super) fn player_details(
    page: Page,
    tournament: &Tournament,
    standings: &Standings,
    placement: &Placement,
) -> El {
    let difference = difference_of(standings, &placement.player);
    section()
        .class("standings-detail")
        .attr("data-detail", placement.player.clone())
        .label("Details of ".to_owned() + &placement.label)
        .child(scores(page, tournament, standings, placement))
        .child(difference.map(|found| pairs(page, tournament, standings, found)))
}

fn scores(page: Page, tournament: &Tournament, standings: &Standings, placement: &Placement) -> El {
    let (mean, half_width) = (placement.mean, placement.half_width);
    let range = standings.score_range;
    let list = |title: &'static str, episodes: &[EpisodeScore]| {
        let players = [placement.player.as_str(), ""];
        let score = |score: f32| fixed(score.into(), 3);
        episodes_list(page, tournament, players, title, episodes, score)
    };
    div()
        .class("detail-part")
        .child(h3().child("Scores of ".to_owned() + &placement.label))
        .child(histogram(&placement.histogram, range, mean, half_width))
        .child(ends(range, "score"))
        .child(list("Lowest scores", &placement.worst))
        .child(list("Highest scores", &placement.best))
}

fn pairs(
    page: Page,
    tournament: &Tournament,
    standings: &Standings,
    difference: &Difference,
) -> El {
    let range = standings.difference_range;
    let (mean, half_width) = (difference.mean, difference.half_width);
    let list = |title: &'static str, episodes: &[EpisodeScore]| {
        let players = [difference.player.as_str(), standings.reference.as_str()];
        let score = |score: f32| signed(score.into(), 3);
        episodes_list(page, tournament, players, title, episodes, score)
    };
    let reference = label_of(standings, &standings.reference);
    div()
        .class("detail-part")
        .attr("data-pairs", difference.player.clone())
        .child(h3().child("Difference to ".to_owned() + &reference))
        .child(histogram(&difference.histogram, range, mean, half_width))
        .child(ends(range, "difference"))
        .child(p().class("quiet").child(describe_pairs(difference)))
        .child(list(
            "Farthest behind, both side by side",
            &difference.behind,
        ))
        .child(list("Farthest ahead, both side by side", &difference.ahead))
}

/// Returns the ends of a histogram's axis, below it.
fn ends([low, high]: [f64; 2], name: &'static str) -> El {
    let end = |value: f64| span().child(fixed(value, 1));
    p().class("histogram-ends")
        .child(end(low))
        .child(span().child(name))
        .child(end(high))
}

/// Returns a list of episodes to open; `None` if there are none.
fn episodes_list(
    page: Page,
    tournament: &Tournament,
    players: [&str; 2],
    title: &'static str,
    episodes: &[EpisodeScore],
    score: fn(f32) -> String,
) -> Option<El> {
    let spec = &tournament.spec;
    let link = |episode: &EpisodeScore| {
        let mut text = format!("seed {}: {}", episode.seed, score(episode.score));
        if spec.tasks.len() > 1 {
            text = task_label(page, &spec.tasks, episode) + ", " + &text;
        }
        li().child(episode_link(page, spec, players, episode, text))
    };
    let links: Vec<El> = episodes.iter().map(link).collect();
    let list = || {
        let title = span().class("label").child(title);
        div()
            .child(title)
            .child(ul().class("episodes").child(links))
    };
    (!episodes.is_empty()).then(list)
}

fn task_label(page: Page, tasks: &[String], episode: &EpisodeScore) -> String {
    let task = tasks.get(usize::from(episode.task));
    page.info.with_untracked(|info| {
        let all = info.iter().flat_map(|info| &info.tasks);
        let found = all.into_iter().find(|found| Some(&found.name) == task);
        found.map_or_else(String::new, |task| task.label.clone())
    })
}
