//! The dialog with the record of the visitor's own results.

use std::sync::Arc;

use sentinel_page_protocol::readable_task;

use super::modal::{modal, modal_head};
use super::result_table::{heading, result_table};
use crate::dom::html::{button, div, p, td, th, tr};
use crate::dom::{El, IntoView, View};
use crate::number_format::fixed;
use crate::own_results::{OwnResult, Score};
use crate::page::Page;
use crate::reactive::Signal;

/// Largest number of results that the dialog lists.
const SHOWN: usize = 50;

const ABOUT: &str = "An episode counts if you chose every action and the page had not shown you its hidden state in the same visit. The record stays in this browser.";

/// Returns the record as a modal dialog.
#[must_use]
pub fn results_dialog(page: Page) -> El {
    let open = page.own.shows_results;
    modal("results", open, move || content(page))
}

fn content(page: Page) -> View {
    let title = "Your results".to_owned();
    let head = modal_head("results", title, page.own.shows_results);
    let results = page.own.results;
    let asks = Signal::new(false);
    let list = move || list(page, &results.get());
    View::Fragment(vec![
        head.into_view(),
        p().class("quiet").child(ABOUT).into_view(),
        p().child(move || summary(page, &results.get())).into_view(),
        list.into_view(),
        (move || actions(page, asks)).into_view(),
    ])
}

/// Returns a sentence about the results on the task that is shown.
fn summary(page: Page, results: &[OwnResult]) -> String {
    let (mut count, mut best) = (0, Score::default());
    page.without_cursor.with(|state| {
        for result in results.iter().filter(|result| result.fits(state, true)) {
            count += 1;
            best = best.max(result.score);
        }
    });
    let best = fixed(best.value(), 3);
    match (count, results.len()) {
        (_, 0) => "No results yet: play an episode to its end.".to_owned(),
        (0, _) => "No results on this task yet.".to_owned(),
        (1, _) => format!("1 result on this task: {best}."),
        _ => format!("{count} results on this task, the best one {best}."),
    }
}

/// Returns the latest results, newest first.
fn list(page: Page, results: &Arc<Vec<OwnResult>>) -> Option<View> {
    let row = |result: &OwnResult| {
        let best = result.best.as_ref().map_or_else(
            || "–".to_owned(),
            |(player, score)| player_label(page, player) + " " + &fixed(score.value(), 3),
        );
        let date = th().attr("scope", "row").child(result.date.clone());
        tr().child(date)
            .child(td().child(episode_name(page, result)))
            .child(td().class("num").child(result.seed.to_string()))
            .child(td().class("num").child(fixed(result.score.value(), 3)))
            .child(td().child(best))
    };
    let rows: Vec<El> = results.iter().rev().take(SHOWN).map(row).collect();
    let headings = vec![
        heading("Date", false),
        heading("Task", false),
        heading("Seed", true),
        heading("Score", true),
        heading("Best policy", false),
    ];
    let more = (results.len() > SHOWN).then(|| {
        let text = format!("The {SHOWN} latest of {}; the file has all.", results.len());
        p().class("quiet").child(text)
    });
    (!results.is_empty()).then(|| {
        let table = result_table("Results", headings, rows);
        View::Fragment(vec![table.into_view(), more.into_view()])
    })
}

/// Returns world and task of a result. Tasks of other worlds have only their names in the address.
fn episode_name(page: Page, result: &OwnResult) -> String {
    let task = page.info.with(|info| {
        let info = info.as_ref().filter(|info| info.name == result.world)?;
        let task = info.tasks.iter().find(|task| task.name == result.task)?;
        Some(task.label.clone())
    });
    let task = task.unwrap_or_else(|| readable_task(&result.task));
    format!("{}, {task}", page.world_title(&result.world))
}

fn player_label(page: Page, player: &str) -> String {
    let label = page.info.with(|info| {
        let mut players = info.iter().flat_map(|info| &info.players);
        let found = players.find(|found| found.name == player);
        found.map(|found| found.label.clone())
    });
    label.unwrap_or_else(|| player.to_owned())
}

/// Returns the buttons below the list; `asks` is `true` while the visitor is asked whether to erase.
fn actions(page: Page, asks: Signal<bool>) -> Option<El> {
    let count = page.own.results.with(|results| results.len());
    let press = |id: &'static str, press: fn(Page), ask: bool, word: &'static str| {
        button()
            .id(id)
            .on_press(move || {
                press(page);
                asks.set(ask);
            })
            .child(word)
    };
    let row = div().class("control-row");
    let row = if asks.get() {
        let question =
            format!("Erase all {count} results from this browser? This cannot be undone.");
        row.child(p().attr("role", "alert").child(question))
            .child(press("results-keep", |_| (), false, "Keep them"))
            .child(press(
                "results-erase-all",
                |page| page.erase_results(),
                false,
                "Erase all",
            ))
    } else {
        row.child(press(
            "results-export",
            |page| page.export_results(),
            false,
            "Export as CSV",
        ))
        .child(press("results-erase", |_| (), true, "Erase…"))
    };
    (count > 0).then_some(row)
}
