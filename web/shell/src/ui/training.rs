//! The training screen: curves of training runs side by side, and what the policy had learned at
//! its checkpoints.

use std::sync::Arc;

use leptos::prelude::event_target_checked;
use sentinel_page_protocol::{Curves, MetricChart, PlayedEpisode, TrainingRun, WorldInfo};

use super::records::{curve, episode_link, line_sample};
use super::widgets::{bar, text_with_help};
use crate::dom::html::{
    a, button, details, div, h1, h2, h3, input, label, li, p, section, span, summary, table, tbody,
    td, th, thead, tr, ul,
};
use crate::dom::{El, IntoView, View};
use crate::number_format::fixed;
use crate::page::{Page, PlayedCheckpoint};
use crate::reactive::{Signal, effect, memo};

/// Returns the training screen; what it shows is requested when it is first shown.
#[must_use]
pub fn training(page: Page) -> View {
    let smooth = Signal::new(false);
    let chosen = memo(move || {
        page.without_cursor
            .with(|state| (state.world.clone(), state.runs.clone()))
    });
    effect(move || {
        let (world, runs) = chosen.get();
        page.request_curves(world, runs, smooth.get());
    });
    let switch = input()
        .attr("type", "checkbox")
        .id("smooth")
        .on("change", move |event| {
            smooth.set(event_target_checked(&event));
        });
    let switch = label()
        .class("check")
        .attr(
            "data-help",
            "Draws the mean of neighboring values in place of each value.",
        )
        .child(switch)
        .child("Smooth the curves");
    let hint = p()
        .class("detail")
        .id("training-summary")
        .attr("role", "status")
        .child(move || match page.curves.with(Option::is_some) {
            true => "Point at a chart, or focus it and use the arrow keys, to read values. Names of metrics explain themselves when pressed.",
            false => "Loading the curves…",
        });
    let story = div()
        .class("story")
        .child(h1().child("How the policies were trained"))
        .child(hint);
    let legend = move || page.curves.get().map(|curves| legend(page, &curves));
    let menu = move || page.curves.get().map(|curves| menu(page, &curves));
    let charts = move || page.curves.get().map(|curves| drawn(&curves));
    let choose = details()
        .class("choose")
        .child(summary().child("Choose runs to compare"))
        .child(menu);
    let runs = section()
        .class("card runs")
        .label("Training runs")
        .child(h2().child("Training runs"))
        .child(legend)
        .child(choose)
        .child(switch);
    View::Fragment(vec![
        div().class("headline").child(story).into_view(),
        checkpoints(page),
        runs.into_view(),
        div().class("curves").child(charts).into_view(),
    ])
}

fn drawn(curves: &Curves) -> Vec<El> {
    let one = |metric: &MetricChart| {
        let name = text_with_help(&metric.metric, &metric.help);
        let name = p().class("metric").child("Metric ").child(name);
        div()
            .class("card")
            .attr("data-metric", metric.metric.clone())
            .child(curve(&metric.chart))
            .child(name)
    };
    curves.charts.iter().map(one).collect()
}

/// Returns the names of the shown runs.
fn shown_runs(curves: &Curves) -> Vec<String> {
    let shown = curves.runs.iter().filter(|run| run.style.is_some());
    shown.map(|run| run.name.clone()).collect()
}

/// Returns the shown runs with samples of their lines.
fn legend(page: Page, curves: &Arc<Curves>) -> El {
    let shown = shown_runs(curves);
    let item = |run: &TrainingRun| {
        let style = run.style?;
        let source = (!run.path.is_empty()).then(|| {
            a().attr("href", run.path.clone())
                .child("trainer_state.json")
        });
        let (name, all) = (run.name.clone(), shown.clone());
        let remove = button()
            .class("link")
            .label(format!("Remove {}", run.label))
            .on_press(move || page.toggle_run(&name, &all))
            .child("Remove");
        Some(
            li().attr("data-run", run.name.clone())
                .child(line_sample(style, &run.tag))
                .child(span().class("run-name").child(run.label.clone()))
                .child(span().class("quiet").child(run.summary.clone()))
                .child(source)
                .child((shown.len() > 1).then_some(remove)),
        )
    };
    ul().class("run-legend")
        .child(curves.runs.iter().filter_map(item).collect::<Vec<El>>())
}

/// Returns the menu of all runs, by groups.
fn menu(page: Page, curves: &Arc<Curves>) -> El {
    let mut groups: Vec<(&str, Vec<El>)> = Vec::new();
    let shown = shown_runs(curves);
    for run in &curves.runs {
        let (name, all) = (run.name.clone(), shown.clone());
        let switch = input()
            .attr("type", "checkbox")
            .attr("data-choose", name.clone())
            .prop("checked", run.style.is_some())
            .on("change", move |_| page.toggle_run(&name, &all));
        let row = label()
            .class("check")
            .child(switch)
            .child(run.label.clone());
        match groups.last_mut() {
            Some((group, rows)) if *group == run.group => rows.push(row),
            _ => groups.push((&run.group, vec![row])),
        }
    }
    let group = |(name, rows): (&str, Vec<El>)| {
        div()
            .class("checks")
            .attr("role", "group")
            .label(name.to_owned())
            .child(h3().child(name.to_owned()))
            .child(rows)
    };
    let groups = groups.into_iter().map(group).collect::<Vec<El>>();
    div().class("run-menu").child(groups)
}

/// Returns the checkpoints on one episode; they are played when the world is known.
fn checkpoints(page: Page) -> View {
    effect(move || {
        if let Some(info) = page.info.get()
            && page.checkpoints.with_untracked(Vec::is_empty)
        {
            page.play_checkpoints(&info);
        }
    });
    let view = move || {
        let info = page.info.get()?;
        (!info.checkpoints.is_empty()).then(|| {
            section()
                .class("card checkpoints")
                .label("Checkpoints on one episode")
                .child(h2().child("See it learn"))
                .child(p().class("quiet").child(info.checkpoint_rule.clone()))
                .child(move || scores(page, &info))
        })
    };
    view.into_view()
}

fn scores(page: Page, info: &WorldInfo) -> View {
    let played = page.checkpoints.get();
    let heading = |name: &'static str| th().attr("scope", "col").child(name);
    let unseen = span().class("sr").child("Score as a bar");
    let headings = tr()
        .child(heading("Policy"))
        .child(th().attr("scope", "col").child(unseen))
        .child(heading("Score").class("num"))
        .child(heading("Actions").class("num"))
        .child(heading("Episode"));
    let rows = played
        .iter()
        .map(|played| checkpoint_row(page, info, played));
    let rows: Vec<El> = rows.collect();
    let table = table()
        .class("league")
        .child(thead().child(headings))
        .child(tbody().child(rows));
    let table = div()
        .class("scroll")
        .attr("tabindex", "0")
        .attr("role", "group")
        .label("Scores of the checkpoints")
        .child(table);
    let both = played.first().zip(played.last()).map(|(first, last)| {
        let episode = episode_of(info, &first.player);
        let text = "Compare the first and the last side by side".to_owned();
        let versus = last.player.clone();
        p().child(
            episode_link(page, info.name.clone(), episode, versus, text).id("compare-checkpoints"),
        )
    });
    View::Fragment(vec![table.into_view(), both.into_view()])
}

fn episode_of(info: &WorldInfo, player: &str) -> PlayedEpisode {
    PlayedEpisode {
        player: player.to_owned(),
        ..info.checkpoint_episode.clone()
    }
}

fn checkpoint_row(page: Page, info: &WorldInfo, played: &PlayedCheckpoint) -> El {
    let (score, actions) = match played.result {
        Some((score, actions)) => (fixed(score, 4), actions.to_string()),
        None => ("…".to_owned(), String::new()),
    };
    let share = played.result.map_or(0.0, |(score, _)| score as f32);
    let episode = episode_of(info, &played.player);
    let text = format!("Open: {}", played.label.to_lowercase());
    let link = episode_link(page, info.name.clone(), episode, String::new(), text);
    tr().attr("data-checkpoint", played.player.clone())
        .child(th().attr("scope", "row").child(played.label.clone()))
        .child(td().class("bar-cell").child(bar(share)))
        .child(td().class("num score-cell").child(score))
        .child(td().class("num").child(actions))
        .child(td().child(link))
}
