//! The visitor's own play: the lines that were tried, and the scores of all policies on the same
//! episode.

use super::own_results::results_dialog;
use super::result_table::{heading, result_table};
use crate::dom::html::{button, div, h2, h3, li, ol, p, section, small, span, td, th, tr};
use crate::dom::{El, IntoView, View};
use crate::number_format::{fixed, signed};
use crate::page::{Comparison, Page};
use crate::reactive::memo;
use crate::state::VISITOR;
use crate::tried_lines::{Line, TreeRow, TriedLines};

/// Returns the card of the visitor's own play, with the dialog of the results. While the card
/// exists, the lines that are tried and the results are kept.
#[must_use]
pub fn own_play(page: Page) -> El {
    let unknown = memo(move || page.info.with(Option::is_none));
    page.follow_own_play();
    let runs = memo(move || page.comparison().is_some_and(|found| found.is_running()));
    let compare = button()
        .id("compare")
        .attr("disabled", move || unknown.get() || runs.get())
        .attr(
            "data-help",
            "Plays this episode with every policy, in this tab.",
        )
        .on_press(move || page.compare())
        .child("Compare with the policies");
    let stop = button()
        .id("compare-stop")
        .hidden(move || !runs.get())
        .on_press(move || page.stop_comparison())
        .child("Stop");
    let results = button()
        .id("results-open")
        .on_press(move || page.own.shows_results.set(true))
        .child("Show your results");
    let row = div()
        .class("control-row")
        .child(compare)
        .child(stop)
        .child(results);
    let lines = move || lines(page, &page.tried_lines());
    let comparison = move || Some(comparison(page, &page.comparison()?));
    section()
        .class("card own-play")
        .label("Your play")
        .child(h2().child("Your play"))
        .child(row)
        .child(move || known_answer_note(page))
        .child(comparison)
        .child(lines)
        .child(results_dialog(page))
}

/// Returns the note about an episode whose hidden state the visitor has seen, once the visitor plays
/// it.
fn known_answer_note(page: Page) -> Option<El> {
    let is_own = page
        .without_cursor
        .with(|state| state.player == VISITOR || state.branch.is_some());
    let words = "You know what is hidden here, so your score does not count in your results. Choose another seed for a fresh episode.";
    let note = p().id("known-note").class("quiet").attr("role", "status");
    (is_own && page.knows_answer()).then(|| note.child(words))
}

/// Returns the tree of the lines that were tried; `None` for less than two.
fn lines(page: Page, tried: &TriedLines) -> Option<View> {
    tried.lines.get(1)?;
    let rows = tried.tree();
    let rows: Vec<El> = rows.iter().map(|row| line_row(page, tried, *row)).collect();
    let about = "What was tried on this episode, each line below the one that it leaves.";
    Some(View::Fragment(vec![
        h3().child("Lines").into_view(),
        p().class("quiet").child(about).into_view(),
        ol().class("lines").child(rows).into_view(),
    ]))
}

fn line_row(page: Page, tried: &TriedLines, row: TreeRow) -> El {
    let line = &tried.lines[row.line];
    let is_current = row.line == tried.current;
    let name = line_name(line, row);
    let count = format!("{} actions", line.steps.len());
    let score = line
        .score
        .map_or_else(|| "not ended".to_owned(), |score| fixed(score, 3));
    let (opened, shared) = (line.clone(), row.shared);
    let open = button()
        .class("line-open")
        .attr("data-line", row.line.to_string())
        .attr("data-current", is_current.then_some("true"))
        .attr("aria-current", is_current.then_some("true"))
        .on_press(move || page.open_line(&opened, shared))
        .child(span().class("what").child(name.clone()))
        .child(small().child(count))
        .child(span().class("num").child(score));
    let remove = button()
        .class("icon-button")
        .label(format!("Remove the line: {name}"))
        .attr("disabled", is_current)
        .on_press(move || page.remove_line(row.line))
        .child("×");
    // Deeper lines are rare, and the name needs the room on a phone.
    let indent = format!("{}rem", row.depth.min(5));
    li().style("padding-left", indent).child(open).child(remove)
}

/// Returns the name of a line: the action with which it leaves the line above it.
fn line_name(line: &Line, row: TreeRow) -> String {
    let first = line.steps.get(row.shared).map_or("", |step| &step.label);
    match (&line.branch, row.depth) {
        (None, 0) => "The player’s own line".to_owned(),
        _ => format!("From action {}: {first}", row.shared + 1),
    }
}

/// A row of the comparison.
struct Ranked {
    player: String,
    label: String,
    score: f64,
    is_own: bool,
}

/// Returns the ranked scores on the episode that is shown, with the visitor's own.
fn comparison(page: Page, found: &Comparison) -> View {
    let own = own_score(page);
    let mut ranked = Vec::new();
    let mut total = 0;
    if let Some(standings) = &found.standings {
        total = standings.total;
        for placement in &standings.placements {
            if placement.scored > 0 {
                ranked.push(Ranked {
                    player: placement.player.clone(),
                    label: placement.label.clone(),
                    score: placement.mean,
                    is_own: false,
                });
            }
        }
    }
    let note = match (found.is_complete(), found.stopped) {
        (true, _) if !found.has_slow => {
            "Final scores on this episode, without policies that play slowly.".to_owned()
        }
        (true, _) => {
            "Final scores on this episode. One episode says little about a policy.".to_owned()
        }
        (_, true) => format!("Stopped after {} of {total} policies.", ranked.len()),
        _ if total == 0 => "Starting…".to_owned(),
        _ => format!("{} of {total} policies have played…", ranked.len()),
    };
    if let Some((label, score)) = own {
        let place = ranked.iter().position(|other| other.score < score);
        let place = place.unwrap_or(ranked.len());
        let own = Ranked {
            player: VISITOR.to_owned(),
            label,
            score,
            is_own: true,
        };
        ranked.insert(place, own);
    }
    let rows = ranked.iter().enumerate();
    let rows: Vec<El> = rows
        .map(|(index, row)| compared_row(page, index + 1, row, own_value(&ranked)))
        .collect();
    let headings = vec![
        heading("Place", true),
        heading("Player", false),
        heading("Score", true),
        heading("To yours", true),
    ];
    let table = result_table("Scores on this episode", headings, rows);
    let status = p().id("compare-note").class("quiet").attr("role", "status");
    View::Fragment(vec![
        h3().child("Same episode, all policies").into_view(),
        status.child(note).into_view(),
        table.into_view(),
    ])
}

/// Returns the visitor's name and score in the comparison; `None` without an own action.
fn own_score(page: Page) -> Option<(String, f64)> {
    let steps = page.main.steps.get();
    let first = steps.iter().position(|step| step.own)?;
    let mut label = "You".to_owned();
    if first > 0 || !steps.iter().all(|step| step.own) {
        label += &format!(", from action {}", first + 1);
    }
    if !page.main.status.with(|status| status.done) {
        label += ", so far";
    }
    Some((label, page.main.last_score()?))
}

fn own_value(ranked: &[Ranked]) -> Option<f64> {
    ranked.iter().find(|row| row.is_own).map(|row| row.score)
}

fn compared_row(page: Page, place: usize, row: &Ranked, own: Option<f64>) -> El {
    let privileged = !row.is_own && page.is_privileged(&row.player);
    let badge = privileged.then(|| span().class("badge-text").child(" privileged"));
    let difference = match own {
        Some(own) if !row.is_own => signed(row.score - own, 3),
        _ => String::new(),
    };
    let name = th().attr("scope", "row").child(row.label.clone());
    tr().toggle_class("active", row.is_own)
        .attr("data-compared", row.player.clone())
        .child(td().class("num").child(place.to_string()))
        .child(name.child(badge))
        .child(td().class("num").child(fixed(row.score, 3)))
        .child(td().class("num").child(difference))
}
