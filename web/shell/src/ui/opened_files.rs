//! Contents of the visitor's files: a sentence about each, and the table of an evaluation.

use leptos::prelude::window;
use sentinel_page_protocol::{Evaluation, EvaluationRow, PlayedEpisode};

use super::result_table::{heading, result_table};
use crate::dom::html::{button, details, div, h2, li, p, section, summary, td, th, tr, ul};
use crate::dom::{El, IntoView, View};
use crate::page::Page;
use crate::standings::format_interval;

/// Returns the sentences about the files that were dropped last, and the evaluation among them.
#[must_use]
pub fn opened_files(page: Page) -> View {
    let read = page.files.read;
    let list = move || {
        let all = read.get().into_iter();
        all.map(|sentence| li().child(sentence))
            .collect::<Vec<El>>()
    };
    let close = button().on_press(move || read.set(Vec::new()));
    let shown = div()
        .class("card files-read")
        .hidden(move || read.with(Vec::is_empty))
        .child(ul().child(list))
        .child(close.child("Close"));
    let read = div().id("files-read").attr("role", "status").child(shown);
    let evaluation = move || {
        let evaluation = page.files.evaluation.get()?;
        Some(table_of(page, &evaluation))
    };
    View::Fragment(vec![read.into_view(), evaluation.into_view()])
}

fn table_of(page: Page, evaluation: &Evaluation) -> El {
    let headings = vec![
        heading("Task", false),
        heading("Policy", false),
        heading("Episodes", true),
        heading("Mean score", true),
        heading("Open", false),
    ];
    let rows = evaluation.rows.iter().map(|of| row(page, of));
    let rows: Vec<El> = rows.collect();
    let scroll = result_table("Results of the evaluation", headings, rows);
    let scroll = scroll.toggle_class("evaluation-rows", true);
    let title = h2().child("Evaluation: ").child(evaluation.name.clone());
    let close = button().on_press(move || page.files.evaluation.set(None));
    let fold = details()
        .attr("open", true)
        .child(summary().child(title))
        .child(p().class("quiet").child(evaluation.summary.clone()))
        .child(scroll)
        .child(close.child("Close"));
    section()
        .id("evaluation")
        .class("card")
        .label("Evaluation")
        .child(fold)
}

fn row(page: Page, of: &EvaluationRow) -> El {
    let links = of.links.iter();
    let links: Vec<El> = links.map(|(text, to)| link(page, text, to)).collect();
    let count = match of.episodes {
        0 => "–".to_owned(),
        count => count.to_string(),
    };
    let task = th().attr("scope", "row").child(of.task.clone());
    tr().child(task)
        .child(td().child(of.policy.clone()))
        .child(td().class("num").child(count))
        .child(
            td().class("num")
                .child(format_interval(of.mean, of.half_width)),
        )
        .child(td().class("links").child(links))
}

/// Returns a button that opens an episode of the evaluation.
fn link(page: Page, text: &str, to: &PlayedEpisode) -> El {
    let (to, text) = (to.clone(), text.to_owned());
    let open = move || {
        page.restart(|state| state.open_episode(&to));
        window().scroll_to_with_x_and_y(0.0, 0.0);
    };
    button().class("link").on_press(open).child(text)
}
