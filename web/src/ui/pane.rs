//! One episode: who plays, how it goes, and everything about the moment at the cursor.

use leptos::prelude::*;
use sentinel_env::trust::Status;

use super::chart::Chart;
use super::log::Log;
use super::model::ModelNote;
use super::reward::Reward;
use super::scene::{Scene, Which};
use super::situation::Situation;
use super::specialists::Specialists;
use super::three;
use crate::page::Page;
use crate::shelf::Entry;
use crate::state::Source;

/// One episode.
#[component]
pub fn Pane(
    /// Which one.
    which: Which,
) -> impl IntoView {
    let page = expect_context::<Page>();
    let run = match which {
        Which::Main => page.run,
        Which::Versus => Memo::new(move |_| page.versus.get().unwrap_or_else(|| page.run.get())),
    };
    let scene = Scene { which, run, page };
    let label = move || format!("Episode of {}", scene.source().label());
    view! {
        <article class="pane" aria-label=label>
            <Heading scene/>
            <div class="pane-grid">
                <div class="column">
                    <Chart scene/>
                    <Specialists scene/>
                    <Reward scene/>
                </div>
                <div class="column">
                    <Situation scene/>
                    <Log scene/>
                </div>
            </div>
        </article>
    }
}

/// Who plays, the score, and what is to be said about a replay.
#[component]
fn Heading(scene: Scene) -> impl IntoView {
    let score = move || scene.with_frame(|f| three(f.episode.tally().score()));
    let status = move || scene.with_frame(|f| status(f.episode.observation().status));
    let scenario = move || scene.with_frame(|f| f.episode.scenario().id());
    let digest = move || scene.run.with(|run| run.digest.clone());
    let differs = move || {
        let main = scene.page.run.get();
        let at = (scene.which == Which::Versus).then(|| main.first_difference(&scene.run.get()));
        at.map(|at| match at {
            Some(at) => view! {
                <button class="differs link" on:click=move |_| scene.page.seek(at)>
                    {format!("First differs at action {at}")}
                </button>
            }
            .into_any(),
            None => view! { <p class="quiet differs">"Same actions throughout"</p> }.into_any(),
        })
    };
    view! {
        <div class="heading">
            <h2>{move || scene.source().label()}</h2>
            <p class="score"><span class="big" data-score=score>{score}</span>" score so far"</p>
            <p class="quiet">
                {scenario}" · "{status}
                <span class="digest" title="Size and hash of the trajectory: equal on every machine">" · "{digest}</span>
            </p>
            {differs}
            <ReplayNote scene/>
            {move || (scene.source() == Source::Trained).then(|| view! { <ModelNote/> })}
            <BranchNote scene/>
        </div>
    }
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Active => "running",
        Status::Completed => "completed",
        Status::Failed => "ended by poison",
    }
}

/// Hits and misses of a replay; a miss is never silent.
#[component]
fn ReplayNote(scene: Scene) -> impl IntoView {
    let note = move || {
        let Source::Replay(name) = scene.source() else {
            return None;
        };
        let entry = scene
            .page
            .shelf
            .with(|shelf| shelf.entries.get(&name).cloned());
        Some(match entry {
            Some(Entry::Ready(_)) => scene.run.with(|run| {
                let (hits, misses) = (run.hits.unwrap_or(0), run.misses());
                let misfits = match run.misfits.first() {
                    None => String::new(),
                    Some(line) => format!(
                        ", {} recorded with another scenario, build or stream mode (first: line {line})",
                        run.misfits.len()
                    ),
                };
                let unused = match run.unused {
                    0 => String::new(),
                    n => format!(", {n} rows never reached"),
                };
                let class = if misses > 0 || run.unused > 0 || !run.misfits.is_empty() {
                    "note bad"
                } else {
                    "note"
                };
                let why = if misses > 0 {
                    " (the .70 heuristic acts where the file has no row)"
                } else {
                    ""
                };
                (
                    class,
                    format!("Replay: {hits} recorded actions, {misses} misses{why}{unused}{misfits}"),
                )
            }),
            Some(Entry::Failed(reason)) => ("note bad", reason),
            Some(Entry::Loading) | None => ("note", format!("Loading replays/{name}.jsonl…")),
        })
    };
    move || note().map(|(class, text)| view! { <p class=class data-note="replay">{text}</p> })
}

/// What the person did themselves, and the ways on from there.
#[component]
fn BranchNote(scene: Scene) -> impl IntoView {
    let page = scene.page;
    let branch = move || {
        let branch = page.view.with(|view| view.branch.clone());
        branch.filter(|_| scene.which == Which::Main)
    };
    let resume = move |_| {
        page.view.update(|view| {
            if let Some(branch) = &mut view.branch {
                branch.resume = !branch.resume;
            }
        });
    };
    let undo = move |_| page.view.update(|view| view.branch = None);
    move || {
        branch().map(|branch| {
            let player = scene.source();
            let (from, own) = (branch.at + 1, scene.run.with(|run| run.own()));
            let text = match own {
                0 if page.lacks(&player) => format!("Yours starts at action {from}, once the file is there."),
                0 => format!("The episode ends before action {from}, where yours would start."),
                1 => format!("Action {from} is yours."),
                _ => format!("Actions {from} to {} are yours.", from + own - 1),
            };
            let label = if branch.resume { "Stop there".to_owned() } else { format!("Let {} finish", player.label()) };
            let can_finish = player != Source::You;
            view! {
                <div class="note own" data-note="branch">
                    <span>{text}</span>
                    {can_finish.then(|| view! { <button id="resume" on:click=resume>{label}</button> })}
                    <button on:click=undo>"Undo mine"</button>
                </div>
            }
        })
    }
}
