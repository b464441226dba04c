//! The GPU grid: each GPU's state, memory and jobs, as shown and, with the truth, as it is.

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use std::fmt::Write;

use leptos::prelude::*;
use sentinel_env::cluster::{Episode, GPU_MEMORY, GpuId, GpuState, Size};

use super::Cluster;
use super::pick::Hand;
use crate::ui::Scene;

/// The grid. Every cell is drawn anew only when it changes.
pub(super) fn gpus(scene: Scene<Cluster>, hand: Hand) -> impl IntoView {
    let task = Memo::new(move |_| scene.with_frame(|frame| frame.episode.observation().task));
    let cells = move || {
        let all = (0..Size::for_task(task.get()).gpus).map(GpuId);
        all.map(|gpu| cell(scene, hand, gpu)).collect_view()
    };
    view! {
        <section class="card gpus" aria-label="GPUs">
            <h3>"GPUs"</h3>
            <ul class="gpu-grid" on:click=move |event| hand.click(&event)>{cells}</ul>
        </section>
    }
}

fn cell(scene: Scene<Cluster>, hand: Hand, gpu: GpuId) -> impl IntoView {
    let markup = Memo::new(move |_| {
        let truth = scene.truth();
        scene.with_frame(|frame| inside(&frame.episode, gpu, truth))
    });
    let class = Memo::new(move |_| {
        scene.with_frame(|frame| {
            let view = frame.episode.observation().gpus().get(gpu.index()).copied();
            view.map_or("", |view| class(view.state))
        })
    });
    let picked = move || hand.own && hand.choice.with(|choice| choice.gpu == Some(gpu));
    let class = move || {
        let picked = if picked() { " picked" } else { "" };
        format!("gpu {}{picked}", class.get())
    };
    let what = format!("g{}", gpu.0);
    if hand.own {
        view! { <li><button class=class data-pick=what aria-pressed=move || picked().to_string() inner_html=markup></button></li> }
            .into_any()
    } else {
        view! { <li><div class=class inner_html=markup></div></li> }.into_any()
    }
}

const fn class(state: GpuState) -> &'static str {
    match state {
        GpuState::Idle => "idle",
        GpuState::Allocated => "allocated",
        GpuState::Overloaded => "overloaded",
        GpuState::Failed => "failed",
        GpuState::Recovering => "recovering",
    }
}

/// What a cell says; words and numbers of ours only, so nothing needs escaping.
fn inside(episode: &Episode, gpu: GpuId, truth: bool) -> String {
    let o = episode.observation();
    let Some(view) = o.gpus().get(gpu.index()) else {
        return String::new();
    };
    let share = 100.0 * f64::from(view.used) / f64::from(GPU_MEMORY);
    let state = class(view.state);
    let mut out = format!(
        "<span class=\"gpu-head\"><strong>{gpu}</strong><span class=\"state\">{state}</span></span>\
        <span class=\"meter memory{}\"><span style=\"width:{:.0}%\"></span></span>\
        <span class=\"gpu-memory\">{} / {GPU_MEMORY}, {} free</span>",
        if share > 100.0 { " over" } else { "" },
        share.min(100.0),
        view.used,
        view.free
    );
    // A `String` takes all that is written to it, here and below.
    out.push_str("<span class=\"gpu-jobs\">");
    for (id, job) in o.jobs.iter().filter(|(_, job)| job.placed == Some(gpu)) {
        let _ = write!(
            out,
            "<span class=\"chip {}\">{}</span>",
            job.status.name(),
            id.0
        );
    }
    out.push_str("</span>");
    if view.tampered {
        out.push_str("<span class=\"tampered\" title=\"The report of this GPU was tampered with: state and free memory may be anything\">⚠ report tampered</span>");
    }
    if let Some(real) = episode
        .hidden()
        .pool
        .gpus()
        .get(gpu.index())
        .filter(|_| truth)
    {
        if view.tampered {
            let free = GPU_MEMORY.saturating_sub(real.used);
            let _ = write!(
                out,
                "<span class=\"truth\">in truth {}, {free} free</span>",
                class(real.state)
            );
        }
        if real.recovery > 0 {
            let _ = write!(
                out,
                "<span class=\"truth\">back in {}</span>",
                real.recovery
            );
        }
    }
    out
}
