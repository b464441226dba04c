//! The results of learning: its rates in a table, and its attempts at one episode, a row of cells each.

use sentinel_page_protocol::{Attempt, AttemptStep, Rate, readable_task};

use super::result_table::{heading, unseen_heading};
use super::widgets::text_with_help;
use crate::attempts::{AttemptLog, of_100};
use crate::dom::El;
use crate::dom::html::{b, div, h2, i, li, ol, p, span, table, tbody, td, th, thead, tr, ul};
use crate::number_format::fixed;
use crate::page::Training;
use crate::reactive::{Memo, memo};

/// Number of cells of a row from which on they have no labels.
const DENSE_FROM: usize = 40;

/// Returns what the policy of a run has learned, once there is an evaluation.
#[must_use]
pub fn learned(current: Memo<Option<Training>>) -> El {
    // It is drawn after evaluations only, not after every update.
    let evaluated = memo(move || current.with(|t| Some(t.as_ref()?.curve.newest()?.updates)));
    let content = move || {
        evaluated.get()?;
        current.with_untracked(|training| Some(drawn(&training.as_ref()?.attempts)))
    };
    div()
        .class("card")
        .id("train-learned")
        .hidden(move || evaluated.get().is_none())
        .child(content)
}

fn drawn(log: &AttemptLog) -> Vec<El> {
    let rows: Vec<El> = log.rates().map(rate_row).collect();
    let head = tr()
        .child(unseen_heading("Rate"))
        .child(heading("At first", true))
        .child(heading("Now", true))
        .child(unseen_heading("Of"));
    let rates = table()
        .class("rows rates")
        .child(thead().child(head))
        .child(tbody().child(rows));
    let mut parts = vec![h2().child("What it has learned"), rates];
    if let Some((_, newest)) = log.rows().last() {
        parts.extend(strips(log, newest));
    }
    parts
}

fn rate_row((first, newest): (&Rate, &Rate)) -> El {
    tr().child(
        th().attr("scope", "row")
            .child(text_with_help(&newest.name, &newest.help)),
    )
    .child(td().class("num").child(of_100(first)))
    .child(td().class("num").child(b().child(of_100(newest))))
    .child(
        td().class("quiet")
            .child("of 100 ")
            .child(newest.unit.clone()),
    )
}

/// Returns a caption, the rows of all attempts, and the legend.
fn strips(log: &AttemptLog, newest: &Attempt) -> [El; 3] {
    let longest = log.rows().iter().map(|(_, attempt)| attempt.steps.len());
    let longest = longest.max().unwrap_or(1).max(1);
    let row = |index| li().child(attempt_row(log, index, longest > DENSE_FROM));
    let rows: Vec<El> = (0..log.rows().len()).map(row).collect();
    let caption = format!(
        "One episode, {}, seed {}, as the policy played it after some seconds of training. A cell is a \
         step; at the right is the score of this episode.",
        readable_task(&newest.task),
        newest.seed
    );
    let kind = |(index, name): (usize, &String)| {
        let sample = i().attr("data-kind", index.to_string());
        li().child(span().class("shares").child(sample))
            .child(name.clone())
    };
    let kinds: Vec<El> = newest.kinds.iter().enumerate().map(kind).collect();
    let harm = li()
        .child(span().class("harm-mark"))
        .child(newest.harm.clone());
    [
        p().class("quiet").child(caption),
        ol().class("attempts")
            .style("--steps", longest.to_string())
            .child(rows),
        ul().class("legend").child(kinds).child(harm),
    ]
}

fn attempt_row(log: &AttemptLog, index: usize, is_dense: bool) -> El {
    let attempt = &log.rows()[index].1;
    let cells = attempt.steps.iter().enumerate();
    let cells: Vec<El> = cells
        .map(|(at, step)| cell(at, step, &attempt.harm))
        .collect();
    div()
        .class("attempt")
        .attr("role", "img")
        .label(log.sentence(index))
        .child(span().class("quiet").child(log.name(index)))
        .child(
            span()
                .class("shares cells")
                .toggle_class("dense", is_dense)
                .child(cells),
        )
        .child(span().class("num").child(fixed(attempt.score, 2)))
}

fn cell(at: usize, step: &AttemptStep, harm: &str) -> El {
    let (colon, harm) = match step.is_harmful {
        true => (": ", harm),
        false => ("", ""),
    };
    let help = format!(
        "{}. {}{colon}{harm}. Reward {}.",
        at + 1,
        step.text,
        fixed(step.reward, 3)
    );
    i().attr("data-kind", step.kind.to_string())
        .attr("data-help", help)
        .child(step.is_harmful.then(|| span().class("harm-mark")))
        .child(b().child(step.label.clone()))
}
