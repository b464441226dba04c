//! The results screen: tables and charts of the reports that ship with the page.

use sentinel_page_protocol::{
    Column, EpisodeLink, ResultsCell, ResultsChart, ResultsPart, ResultsRow, ResultsSection,
    ResultsTable,
};

use super::records::{curve, episode_link, line_sample};
use super::widgets::{bar, text_with_help};
use crate::dom::html::{
    a, details, div, h1, h2, h3, li, p, pre, section, small, span, summary, table, tbody, td, th,
    thead, tr, ul,
};
use crate::dom::{El, IntoView, View};
use crate::number_format::fixed;
use crate::page::Page;

/// Returns the results screen; the reports are requested when it is first shown.
#[must_use]
pub fn results(page: Page) -> View {
    page.request_results();
    let text = move || match page.results.with(Option::is_some) {
        true => {
            "Every number is that of a file that our own commands wrote. Links open the episodes behind a number, which are played anew in this tab."
        }
        false => "Loading the results…",
    };
    let story = div()
        .class("story")
        .child(h1().child("Results"))
        .child(p().class("detail").attr("role", "status").child(text));
    let sections = move || {
        page.results.get().map(|view| {
            let sections = view.sections.iter();
            let sections = sections.map(|of| results_section(page, of));
            sections.collect::<Vec<El>>()
        })
    };
    View::Fragment(vec![
        div().class("headline").child(story).into_view(),
        sections.into_view(),
    ])
}

fn results_section(page: Page, of: &ResultsSection) -> El {
    let part = |part: &ResultsPart| match part {
        ResultsPart::Table(table) => results_table(page, table),
        ResultsPart::Chart(chart) => results_chart(chart),
    };
    let parts: Vec<El> = of.parts.iter().map(part).collect();
    let command = command(&of.command);
    let source = p()
        .class("quiet")
        .child("From ")
        .child(a().attr("href", of.source.clone()).child(of.source.clone()))
        .child(". ");
    section()
        .class("results")
        .attr("data-results", of.id.clone())
        .label(of.title.clone())
        .child(h2().child(of.title.clone()))
        .child(p().class("quiet").child(of.detail.clone()))
        .child(div().class("parts").child(parts))
        .child(div().child(source).child(command))
}

/// Returns a command that opens on demand; `None` if it is empty.
fn command(text: &str) -> Option<El> {
    let word = || summary().class("quiet").child("Command");
    (!text.is_empty()).then(|| {
        details()
            .class("command")
            .child(word())
            .child(pre().child(text.to_owned()))
    })
}

fn results_chart(of: &ResultsChart) -> El {
    let item = |(line, name): (&sentinel_page_protocol::Line, &String)| {
        li().child(line_sample(line.style, &line.name))
            .child(span().child(name.clone()))
    };
    let names = of.chart.lines.iter().zip(&of.legend);
    let names: Vec<El> = names.map(item).collect();
    let legend = (!names.is_empty()).then(|| ul().class("run-legend").child(names));
    div().class("card").child(curve(&of.chart)).child(legend)
}

fn results_table(page: Page, of: &ResultsTable) -> El {
    let links = of.rows.iter().any(|row| !row.episodes.is_empty());
    let commands = of.rows.iter().any(|row| !row.command.is_empty());
    let heading = |column: &Column| {
        th().attr("scope", "col")
            .toggle_class("num", column.numeric)
            .child(text_with_help(&column.title, &column.help))
    };
    let headings: Vec<El> = of.columns.iter().map(heading).collect();
    let extra = |name: &'static str| th().attr("scope", "col").child(name);
    let headings = tr()
        .child(headings)
        .child(links.then(|| extra("Episodes")))
        .child(commands.then(|| extra("Made by")));
    let rows = of.rows.iter().map(|row| {
        let found = td().class("links").child(episodes(page, row));
        let found = links.then_some(found);
        let made = commands.then(|| td().child(command(&row.command)));
        table_row(of, row).child(found).child(made)
    });
    let rows: Vec<El> = rows.collect();
    let table = table()
        .class("league")
        .child(thead().child(headings))
        .child(tbody().child(rows));
    let table = div()
        .class("scroll")
        .attr("tabindex", "0")
        .attr("role", "group")
        .label(of.title.clone())
        .child(table);
    let card = div().class("card").attr("data-table", of.id.clone());
    let card = card.toggle_class("wide", links || commands || of.columns.len() > 4);
    let help = small().child(of.help.clone());
    if of.folded {
        let head = summary().child(h3().child(of.title.clone()));
        return card.child(details().child(head).child(help).child(table));
    }
    let head = h3().child(of.title.clone()).child(" ").child(help);
    card.child(head).child(table)
}

fn table_row(of: &ResultsTable, row: &ResultsRow) -> El {
    let cell = |(index, cell): (usize, &ResultsCell)| {
        let column = of.columns.get(index + 1);
        td().toggle_class("num", column.is_some_and(|column| column.numeric))
            .child(cell.text.clone())
            .child(cell.bar.map(bar))
    };
    let cells: Vec<El> = row.cells.iter().enumerate().map(cell).collect();
    let name = th().attr("scope", "row").child(row.name.clone());
    tr().attr("data-row", row.name.clone())
        .child(name)
        .child(cells)
}

fn episodes(page: Page, row: &ResultsRow) -> Vec<El> {
    let link = |found: &EpisodeLink| {
        let (seed, score) = (found.episode.seed, fixed(found.score, 4));
        let text = format!("{}: seed {seed}, {score}", found.label);
        let (world, episode) = (found.world.clone(), found.episode.clone());
        episode_link(page, world, episode, String::new(), text)
            .attr("data-seed", seed.to_string())
            .attr("data-score", score)
    };
    row.episodes.iter().map(link).collect()
}
