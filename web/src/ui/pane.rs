//! One episode: who plays, how it goes, and everything about the moment at the cursor.

use leptos::prelude::*;

use super::chart::Chart;
use super::log::Log;
use super::model::ModelNote;
use super::reward::Reward;
use super::scene::{Scene, Which};
use super::stage::Stage;
use super::words::Words;
use crate::page::Page;
use crate::shelf::Entry;
use crate::state::Source;
use crate::text::three;
use crate::world::World;

/// One episode.
#[component]
pub fn Pane<W: Stage>(
    /// The page.
    page: Page<W>,
    /// Which one.
    which: Which,
) -> impl IntoView {
    let run = match which {
        Which::Main => page.run,
        Which::Versus => page.versus,
    };
    let scene = Scene { which, run, page };
    let label = move || format!("Episode of {}", scene.source().label());
    let (wide, narrow) = W::columns(scene);
    view! {
        <article class="pane" aria-label=label>
            <Heading scene/>
            <div class="pane-grid">
                <div class="column">
                    {(0..W::CHARTS.len()).map(|number| view! { <Chart scene number/> }).collect_view()}
                    {wide}
                    <Reward scene/>
                    {W::REPLAYS.then(|| view! { <Words scene/> })}
                </div>
                <div class="column">
                    {narrow}
                    <Log scene/>
                </div>
            </div>
        </article>
    }
}

/// Who plays, the score, and what is to be said about a replay.
#[component]
fn Heading<W: World>(scene: Scene<W>) -> impl IntoView {
    let score = move || scene.with_frame(|f| three(W::score(&f.episode)));
    let standing = move || scene.with_frame(|f| W::standing(&f.episode));
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
    let thinking = move || {
        scene
            .run
            .with(|run| (!run.whole).then(|| format!("Playing… {} actions so far", run.last())))
            .map(|text| view! { <p class="note" data-note="playing" role="status">{text}</p> })
    };
    view! {
        <div class="heading">
            <h2>{move || scene.source().label()}</h2>
            <p class="score"><span class="big" data-score=score>{score}</span>" score so far"</p>
            <p class="quiet">
                {standing}
                <span class="digest" title="Size and hash of the trajectory: equal on every machine">" · "{digest}</span>
            </p>
            {differs}
            {thinking}
            {W::REPLAYS.then(|| view! { <ReplayNote scene/> })}
            {move || (W::LEARNED.is_some() && scene.source() == Source::Trained).then(|| view! { <ModelNote page=scene.page/> })}
            <BranchNote scene/>
        </div>
    }
}

/// Hits and misses of a replay; a miss is never silent.
#[component]
fn ReplayNote<W: World>(scene: Scene<W>) -> impl IntoView {
    let note = move || {
        let Source::Replay(name) = scene.source() else {
            return None;
        };
        let entry = scene
            .page
            .shelf
            .with(|shelf| shelf.entries.get(&name).cloned());
        Some(match entry {
            Some(Entry::Ready(..)) => scene.run.with(|run| {
                let fit = run.recording.clone().unwrap_or_default();
                let (hits, misses) = (fit.hits, run.misses());
                let misfits = match fit.misfits.first() {
                    None => String::new(),
                    Some(line) => format!(
                        ", {} recorded with another scenario, build or stream mode (first: line {line})",
                        fit.misfits.len()
                    ),
                };
                let unused = match fit.unused {
                    0 => String::new(),
                    n => format!(", {n} rows never reached"),
                };
                let spoken = match fit.fallbacks {
                    0 => String::new(),
                    n => format!(", {n} of them the fallback’s, where what the model said was no action"),
                };
                let by = if fit.source.is_empty() { "" } else { " of " };
                let stand_in = fit.source.ends_with("fallback)");
                let bad = misses > 0 || fit.unused > 0 || fit.fallbacks > 0 || stand_in;
                let class = if bad || !fit.misfits.is_empty() {
                    "note bad"
                } else {
                    "note"
                };
                let why = if misses > 0 {
                    format!(" ({} where the file has no row)", W::FALLBACK)
                } else {
                    String::new()
                };
                (
                    class,
                    format!("Replay{by}{}: {hits} recorded actions{spoken}, {misses} misses{why}{unused}{misfits}", fit.source),
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
fn BranchNote<W: World>(scene: Scene<W>) -> impl IntoView {
    let page = scene.page;
    let branch = move || {
        let branch = page.still.with(|view| view.branch.clone());
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
            let refused = scene.run.with(|run| run.refused.clone());
            let text = match own {
                own if refused.is_some() => format!(
                    "Your action {} cannot be taken: {}.", from + own, refused.unwrap_or_default()
                ),
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
