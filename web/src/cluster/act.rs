//! The form by which the person acts.

use leptos::prelude::*;
use sentinel_env::Environment;
use sentinel_env::cluster::{ActionType, GpuId, JobId, Size};
use sentinel_env::slot::Slot;

use super::Cluster;
use super::pick::{Hand, warning};
use crate::ui::{Scene, option};

/// The words on the buttons, in the order of [`ActionType::ALL`].
const WORDS: [&str; 5] = ["Allocate", "Preempt", "Ask", "Verify", "Wait"];

/// Kind, job, GPU, worker, and the button that does it.
pub(super) fn form(scene: Scene<Cluster>, hand: Hand) -> impl IntoView {
    let body = move || {
        hand.free.get().then(|| {
            view! {
                <section class="card act" aria-label="Act yourself">
                    <h3>"Act yourself"</h3>
                    {kinds(hand)}
                    {fields(scene, hand)}
                    {take(scene, hand)}
                    <p class="quiet">
                        "Choose here, or by clicking a GPU, a job and a worker. What is left out is chosen by rule. The episode branches at the cursor."
                    </p>
                </section>
            }
        })
    };
    view! { <div class="act-place">{body}</div> }
}

fn kinds(hand: Hand) -> impl IntoView {
    let kind = Memo::new(move |_| hand.choice.with(|choice| choice.kind));
    let button = move |which: ActionType| {
        let chosen = move || kind.get() == which;
        let choose = move |_| hand.choice.update(|choice| choice.kind = which);
        view! {
            <button data-kind=which.name() class:chosen=chosen aria-pressed=move || chosen().to_string()
                on:click=choose>{WORDS[which as usize]}</button>
        }
    };
    view! {
        <div class="segmented" role="group" aria-label="Kind of action">
            {ActionType::ALL.map(button).collect_view()}
        </div>
    }
}

/// A menu of `all`, with a first entry for what is left out.
fn menu(
    (id, label): (&'static str, &'static str),
    all: Vec<String>,
    hand: Hand,
    number: impl Fn(&super::pick::Choice) -> Option<usize> + Copy + Send + Sync + 'static,
    set: impl Fn(&mut super::pick::Choice, Option<usize>) + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let chosen = Memo::new(move |_| hand.choice.with(number));
    let change = move |event| {
        let number = event_target_value(&event).parse().ok();
        hand.choice.update(|choice| set(choice, number));
    };
    let options = move || {
        let chosen = chosen.get();
        let rest = all.iter().enumerate();
        let rest = rest.map(|(n, name)| option(&n.to_string(), name, "", chosen == Some(n)));
        let first = option("", "by rule", "", chosen.is_none());
        std::iter::once(first).chain(rest).collect::<String>()
    };
    view! {
        <div class="field">
            <label class="label" for=id>{label}</label>
            <select id=id on:change=change inner_html=options></select>
        </div>
    }
}

fn fields(scene: Scene<Cluster>, hand: Hand) -> impl IntoView {
    let task = Memo::new(move |_| scene.with_frame(|frame| frame.episode.observation().task));
    let kind = Memo::new(move |_| hand.choice.with(|choice| choice.kind));
    let small = |n: usize| u8::try_from(n).unwrap_or(u8::MAX);
    move || {
        let (size, kind) = (Size::for_task(task.get()), kind.get());
        let jobs = (0..size.jobs).map(|n| JobId(n).to_string()).collect();
        let gpus = (0..size.gpus).map(|n| GpuId(n).to_string()).collect();
        let workers = Slot::ALL.map(|slot| slot.name().to_owned()).to_vec();
        let flag = move || hand.choice.with(|choice| choice.flag);
        let set_flag = move |event| {
            let flag = event_target_checked(&event);
            hand.choice.update(|choice| choice.flag = flag);
        };
        (kind != ActionType::Tick).then(|| {
            view! {
                <div class="act-fields">
                    {menu(("act-job", "Job"), jobs, hand,
                        |choice| choice.job.map(JobId::index),
                        move |choice, n| choice.job = n.map(|n| JobId(small(n))))}
                    {(kind == ActionType::Allocate).then(|| menu(("act-gpu", "GPU"), gpus, hand,
                        |choice| choice.gpu.map(GpuId::index),
                        move |choice, n| choice.gpu = n.map(|n| GpuId(small(n)))))}
                    {menu(("act-worker", "Worker"), workers, hand,
                        |choice| choice.worker.map(Slot::index),
                        |choice, n| choice.worker = n.and_then(Slot::new))}
                    {(kind == ActionType::Verify).then(|| view! {
                        <label class="check" title="A report that stands then counts as a false alarm">
                            <input type="checkbox" id="act-flag" prop:checked=flag on:change=set_flag/>"flag it"
                        </label>
                    })}
                </div>
            }
        })
    }
}

/// The button, and why the step may be spent for nothing.
fn take(scene: Scene<Cluster>, hand: Hand) -> impl IntoView {
    let action = Memo::new(move |_| hand.choice.with(|choice| choice.action()));
    let warned = Memo::new(move |_| {
        scene.with_frame(|frame| warning(frame.episode.observation(), action.get()))
    });
    let act = move |_| {
        scene.page.act(action.get_untracked());
        // The next action is about other things; its kind is likely the same.
        hand.choice.update(|choice| {
            (choice.job, choice.gpu, choice.worker) = (None, None, None);
        });
    };
    let label = move || super::marks::action(action.get());
    let note = move || {
        warned.get().map_or_else(String::new, |why| {
            format!("{why}. The step would be spent for nothing.")
        })
    };
    view! {
        <div class="act-take">
            <button id="act" class="primary" on:click=act>"Take: "{label}</button>
        </div>
        <p class="note bad" id="act-warning" role="status">{note}</p>
    }
}
