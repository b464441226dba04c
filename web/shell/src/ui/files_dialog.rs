//! The dialog of files: what can be opened, and what can be exported.

use leptos::prelude::GetValue;
use sentinel_page_protocol::{Chart, Export};
use wasm_bindgen::JsCast;

use super::copy_button::copy_button;
use super::modal::{modal, modal_head};
use crate::address::query_of;
use crate::deferred::deferred_view;
use crate::dom::html::{button, div, h3, input, label, li, p, pre, span, ul};
use crate::dom::{El, IntoView, View};
use crate::engine_pool::Role;
use crate::page::Page;
use crate::{browser, embed_code};

/// Returns the dialog of files.
#[must_use]
pub fn files_dialog(page: Page) -> El {
    modal("files", page.files.dialog, move || {
        deferred_view(page, move |deferred| (deferred.files)(page))
    })
}

/// Returns the content of the dialog.
#[must_use]
pub fn content(page: Page) -> View {
    let head = modal_head("files", "Files".to_owned(), page.files.dialog);
    let making = p()
        .id("making")
        .class("quiet")
        .attr("role", "status")
        .child(move || page.files.making.get());
    View::Fragment(vec![
        head.into_view(),
        h3().child("Open").into_view(),
        open(page).into_view(),
        h3().child("Export").into_view(),
        making.into_view(),
        ul().class("takes")
            .child(episode_row(page))
            .child(move || chart_rows(page))
            .child(move || standings_row(page))
            .child(link_rows(page))
            .into_view(),
    ])
}

/// Returns the description of files that can be opened, with the button that chooses some.
fn open(page: Page) -> El {
    let change = move |event: web_sys::Event| {
        let input = event
            .target()
            .and_then(|target| target.dyn_into::<web_sys::HtmlInputElement>().ok());
        if let Some(input) = input {
            page.files.dialog.set(false);
            page.open_files(browser::files_of_list(input.files()));
            input.set_value("");
        }
    };
    let files = input()
        .id("files-open")
        .attr("type", "file")
        .attr("multiple", true)
        .on("change", change);
    let text = "Drop files anywhere on the page, or choose some: replays, model.safetensors of a trained policy, trainer_state.json, and results of “sentinel eval --out”, in any mixture. They do not leave this browser.";
    div()
        .class("opens")
        .child(p().class("quiet").child(text))
        .child(label().class("file").child("Open files…").child(files))
}

/// Returns one thing to export: its name, and its buttons.
fn row(name: String, buttons: Vec<El>) -> El {
    let name = span().child(name);
    li().child(name)
        .child(div().class("segmented").child(buttons))
}

/// Returns a button that exports something. `name` is its accessible name, `word` its text.
fn take(key: &'static str, name: String, word: &'static str, press: impl Fn() + 'static) -> El {
    button()
        .attr("data-take", key)
        .label(name)
        .on_press(press)
        .child(word)
}

fn episode_row(page: Page) -> El {
    let run = move || page.main.run.get_value();
    let replay = take(
        "jsonl",
        "Save JSONL: episode as a replay".to_owned(),
        "Save JSONL",
        move || page.export(Role::Play, run(), Export::Episode),
    );
    row("Episode as a replay".to_owned(), vec![replay])
}

/// Returns a row for each chart of the screen.
fn chart_rows(page: Page) -> Vec<El> {
    let mut rows = Vec::new();
    let mut add = |run: u32, truth: bool, chart: &Chart| {
        if !chart.lines.is_empty() || !chart.strips.is_empty() {
            rows.push(chart_row(page, run, truth, chart));
        }
    };
    if page.screen().is_of_records() {
        page.records.with(|records| {
            let sections = records.iter().flat_map(|records| &records.sections);
            let charts = sections.flat_map(|section| &section.charts);
            charts.for_each(|(chart, _)| add(0, false, chart));
        });
        return rows;
    }
    let run = page.main.run.get_value();
    let truth = page.main.truth;
    let is_truth = truth.charts.with(|charts| !charts.is_empty());
    let charts = if is_truth {
        truth.charts
    } else {
        page.main.charts
    };
    charts.with(|charts| charts.iter().for_each(|chart| add(run, is_truth, chart)));
    for (analysis, is_truth) in [(page.main.analysis, false), (truth.analysis, true)] {
        if let Some(found) = analysis.get() {
            add(run, is_truth, &found.chart);
        }
    }
    rows
}

fn chart_row(page: Page, run: u32, truth: bool, chart: &Chart) -> El {
    let hidden = if truth { " (with hidden values)" } else { "" };
    let name = chart.title.clone() + hidden;
    let save = |png: bool, key, word: &'static str| {
        let id = chart.id.clone();
        let press = move || {
            let id = id.clone();
            let role = if run == 0 { Role::Records } else { Role::Play };
            page.export(role, run, Export::Chart { id, truth, png });
        };
        take(key, format!("{word}: chart “{name}”"), word, press)
    };
    let buttons = vec![
        save(false, "svg", "Save SVG"),
        save(true, "png", "Save PNG"),
    ];
    row(format!("Chart: {name}"), buttons)
}

fn standings_row(page: Page) -> Option<El> {
    let tasks = page.tournament.with(|tournament| {
        let has_results = tournament.standings.is_some();
        has_results.then(|| tournament.spec.tasks.clone())
    })?;
    let name = "Save CSV: standings of the tournament".to_owned();
    let save = take("csv", name, "Save CSV", move || {
        let tasks = tasks.clone();
        page.export(Role::Tournament(0), 0, Export::Standings { tasks });
    });
    Some(row("Standings of the tournament".to_owned(), vec![save]))
}

/// Returns the rows of the link, and of code for other sites.
fn link_rows(page: Page) -> Vec<El> {
    let query = page.state.with_untracked(|state| query_of(page, state));
    let address = browser::page_address();
    let (element, frame) = (
        embed_code::element(&address, &query),
        embed_code::frame(&address, &query),
    );
    let link = format!("{address}?{query}");
    let copy = move |key: &'static str, word, text: String| {
        let refused = "The browser did not allow copying. Select the code and copy it.";
        copy_button(page, word, "Copied", refused, move || text.clone()).attr("data-take", key)
    };
    let code = pre().attr("tabindex", "0").child(element.clone());
    let copies = vec![
        copy("copy-element", "Copy element", element),
        copy("copy-frame", "Copy frame", frame),
    ];
    vec![
        row(
            "Link to this view".to_owned(),
            vec![copy("copy-link", "Copy link", link)],
        ),
        row("Embed".to_owned(), copies).child(code),
    ]
}
