//! The report as one HTML file: text, tables and inline SVG, no script, and nothing to load.

mod integrity;
mod page_builder;
mod runs;
mod sources;
mod sweep;

use page_builder::{Cell, Column, Drawings, Page};

use super::integrity::OverfitReport;
use super::results::{Results, Section};

/// The style sheet, which is part of the file.
const STYLE: &str = include_str!("style.css");

/// Returns the HTML of a report. `svgs` are the drawings of its charts, in their order.
pub(super) fn page(results: &Results, overfit: Option<&OverfitReport>, svgs: &[String]) -> String {
    let drawings = Drawings {
        charts: &results.charts,
        svgs,
    };
    let mut page = Page::default();
    sources::summary(&mut page, results, overfit);
    for (index, found) in results.sweeps.iter().enumerate() {
        sweep::section(&mut page, found, drawings, index == 0);
    }
    integrity::section(&mut page, overfit, drawings);
    runs::runs(&mut page, &results.runs, drawings);
    runs::evaluations(&mut page, &results.evaluations, drawings);
    let mut of_folders = drawings.of(Section::Charts, None).peekable();
    if of_folders.peek().is_some() {
        page.section("charts", "Charts");
        for (entry, svg) in of_folders {
            page.figure(entry, svg);
        }
    }
    missing(&mut page, results);
    sources::provenance(&mut page, results);
    sources::raw_data(&mut page, results);
    page.finish(&results.title, &sources::lead(results), STYLE)
}

/// Lists the charts that could not be drawn.
fn missing(page: &mut Page, results: &Results) {
    if results.missing.is_empty() {
        return;
    }
    page.section("missing", "Missing inputs");
    page.paragraph(
        "Charts leave out what has no input, and nothing was put in its place. The commands make the inputs.",
    );
    let rows = results.missing.iter().map(|missing| {
        vec![
            Cell::code(&missing.chart),
            Cell::text(&missing.reason),
            Cell::code(&missing.command),
        ]
    });
    page.table(
        "Charts without an input",
        &[
            Column::text("Chart"),
            Column::wide("Missing"),
            Column::wide("Command"),
        ],
        rows.collect(),
    );
}
