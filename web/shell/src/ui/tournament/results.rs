//! The table of a tournament's results.

use sentinel_page_protocol::{EpisodeScore, Placement, Standings};

use super::player_details::player_details;
use super::{episode_link, histogram};
use crate::dom::El;
use crate::dom::html::{button, div, small, td, th, tr};
use crate::number_format::fixed;
use crate::page::{Page, Tournament};
use crate::reactive::{Signal, memo};
use crate::standings::{difference_of, format_difference, format_interval, label_of};
use crate::ui::result_table::{heading, result_table};
use crate::ui::select::{Item, select};
use crate::ui::widgets::{state_label, text_with_help};

const PAIRED: &str = "The mean of its scores less those of the other player, over the episodes that both played, with a 95 % interval. It is better or worse if the interval does not contain 0.";

/// Returns the menu of the player with which the others are compared; hidden without results.
pub(super) fn reference_menu(page: Page) -> El {
    // In the order of the form, since that of the results changes while it is played.
    let items = memo(move || {
        page.tournament.with(|tournament| {
            let mut items = vec![Item::new("", "the best", "")];
            if let Some(standings) = &tournament.standings {
                let players = tournament.spec.players.iter();
                let has_score = |player: &&String| {
                    let mut all = standings.placements.iter();
                    all.any(|p| p.player == **player && p.scored > 0)
                };
                let item = |player: &String| Item::new(player, &label_of(standings, player), "");
                items.extend(players.filter(has_score).map(item));
            }
            items
        })
    });
    let chosen = memo(move || page.tournament.with(|t| t.spec.reference.clone()));
    let change = move |player| page.compare_players(player);
    let menu = select(
        "tournament-reference",
        "Compare with",
        "",
        items,
        chosen,
        change,
    );
    div()
        .class("control-row")
        .hidden(move || items.with(|items| items.len() < 3))
        .child(menu)
}

/// Returns the table; `open` is the player whose details are shown below its row.
pub(super) fn results(page: Page, tournament: &Tournament, open: Signal<String>) -> Option<El> {
    let standings = tournament.standings.as_ref()?;
    let shown = open.get();
    let mut rows = Vec::new();
    for placement in &standings.placements {
        rows.push(row(page, tournament, standings, placement, open));
        if placement.player == shown {
            let detail = td().attr("colspan", "5");
            let detail = detail.child(player_details(page, tournament, standings, placement));
            rows.push(tr().child(detail));
        }
    }
    let [low, high] = standings.score_range.map(|end| fixed(end, 1));
    let reference = label_of(standings, &standings.reference);
    let paired = "Difference to ".to_owned() + &reference;
    let headings = vec![
        heading("Player", false),
        heading(format!("Scores, {low} to {high}"), false),
        heading("Mean score", true),
        heading(text_with_help(&paired, PAIRED), true),
        heading("Open", false),
    ];
    Some(result_table("Results", headings, rows))
}

fn row(
    page: Page,
    tournament: &Tournament,
    standings: &Standings,
    placement: &Placement,
    open: Signal<String>,
) -> El {
    let (mean, half_width) = (placement.mean, placement.half_width);
    let link = |word: &str, episodes: &[EpisodeScore]| {
        let episode = episodes.first()?;
        let score = fixed(episode.score.into(), 3);
        let text = word.to_owned() + " " + &score;
        let players = [placement.player.as_str(), ""];
        let link = episode_link(page, &tournament.spec, players, episode, text);
        Some(link.attr("title", format!("Seed {}", episode.seed)))
    };
    let flip = {
        let player = placement.player.clone();
        move || {
            open.update(|open| {
                if *open == player {
                    open.clear();
                } else {
                    open.clone_from(&player);
                }
            });
        }
    };
    let is_open = open.with(|open| *open == placement.player);
    let more = (placement.scored > 0).then(|| {
        button()
            .class("link")
            .attr("data-details", placement.player.clone())
            .attr("aria-expanded", if is_open { "true" } else { "false" })
            .on_press(flip)
            .child("Details")
            .label("Details of ".to_owned() + &placement.label)
    });
    let links = vec![
        more,
        link("Worst", &placement.worst),
        link("Best", &placement.best),
    ];
    let reference = label_of(standings, &standings.reference);
    let score = td()
        .class("num")
        .attr("data-label", "Mean score")
        .attr("data-mean", placement.player.clone())
        .attr("data-half-width", fixed(half_width, 4))
        .child(match placement.scored {
            0 => "–".to_owned(),
            _ => format_interval(mean, half_width),
        });
    let difference = difference_of(standings, &placement.player);
    let verdict = difference.and_then(|found| state_label(&found.verdict, found.tone));
    let pairs = difference.map_or(0, |found| found.pairs.iter().sum::<u32>());
    let amount = (pairs > 0).then(|| format_difference(standings, &placement.player));
    let is_reference = placement.player == standings.reference;
    let pairs_cell = td()
        .class("num")
        .attr(
            "data-label",
            (pairs > 0).then(|| "To ".to_owned() + &reference),
        )
        .child(is_reference.then(|| small().child("reference")));
    let note = small().child(placement.note.clone());
    let name = th()
        .attr("scope", "row")
        .child(placement.label.clone())
        .child((!placement.note.is_empty()).then(|| div().child(note)));
    let drawn = histogram(
        &placement.histogram,
        standings.score_range,
        mean,
        half_width,
    );
    tr().child(name)
        .child(td().class("bar-cell").child(drawn))
        .child(score)
        .child(pairs_cell.child(amount).child(" ").child(verdict))
        .child(td().child(div().class("link-row").child(links)))
}
