//! The choice of a case: sub-environment, difficulty, split and formulary.

use leptos::prelude::*;
use sentinel_env::polyguard::{Difficulty, FormularyName, Split, SubEnvironment, TaskSpec};

use super::{Polyguard, words};
use crate::page::Page;
use crate::ui::option;

/// The case with these coordinates; of the extended formulary where the reference has none.
fn nearest(
    formulary: FormularyName,
    sub: SubEnvironment,
    difficulty: Difficulty,
    split: Split,
) -> TaskSpec {
    TaskSpec::new(formulary, sub, difficulty, split)
        .unwrap_or_else(|_| TaskSpec::new_extended(sub, difficulty, split))
}

/// Whether the reference formulary has this cell.
fn has_reference(case: TaskSpec) -> bool {
    let (sub, difficulty) = (case.sub(), case.difficulty());
    TaskSpec::new(FormularyName::Reference, sub, difficulty, Split::All).is_ok()
}

/// The four choices.
pub(super) fn choice(page: Page<Polyguard>) -> impl IntoView {
    let case = Memo::new(move |_| page.still.with(|view| view.task));
    let play = move |case: TaskSpec| page.restart(|view| view.task = case);
    view! {
        {subs(case, play)}
        {difficulties(case, play)}
        {splits(case, play)}
        {formularies(case, play)}
    }
}

fn subs(case: Memo<TaskSpec>, play: impl Fn(TaskSpec) + Copy + 'static) -> impl IntoView {
    let options = move || {
        let now = case.get().sub();
        let all = SubEnvironment::ALL.iter();
        let text = |sub: &SubEnvironment| {
            let (title, goal) = words::sub(*sub);
            option(sub.name(), title, goal, *sub == now)
        };
        all.map(text).collect::<String>()
    };
    let change = move |event| {
        let now = case.get_untracked();
        if let Some(sub) = SubEnvironment::parse(&event_target_value(&event)) {
            play(nearest(now.formulary(), sub, now.difficulty(), now.split()));
        }
    };
    view! {
        <div class="field">
            <label class="label" for="sub">"Case"</label>
            <select id="sub" on:change=change inner_html=options></select>
        </div>
    }
}

fn difficulties(
    case: Memo<TaskSpec>,
    play: impl Fn(TaskSpec) + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let button = move |difficulty: &Difficulty| {
        let difficulty = *difficulty;
        let chosen = move || case.get().difficulty() == difficulty;
        let go = move |_| {
            let now = case.get_untracked();
            play(nearest(now.formulary(), now.sub(), difficulty, now.split()));
        };
        view! {
            <button data-difficulty=difficulty.name() class:chosen=chosen aria-pressed=move || chosen().to_string()
                title=hides(difficulty) on:click=go>{difficulty.name()}</button>
        }
    };
    view! {
        <div class="field">
            <span class="label">"Difficulty"</span>
            <div class="segmented" role="group" aria-label="Difficulty">
                {Difficulty::ALL.iter().map(button).collect_view()}
            </div>
        </div>
    }
}

/// What a difficulty hides.
const fn hides(difficulty: Difficulty) -> &'static str {
    match difficulty {
        Difficulty::Easy => "3 to 5 medicines, nothing missing",
        Difficulty::Medium => {
            "6 to 9 medicines; 30 % of the pairs are not flagged, 15 % of the values missing"
        }
        Difficulty::Hard => {
            "10 to 14 medicines; half of the pairs are not flagged, 35 % of the values missing"
        }
    }
}

fn splits(case: Memo<TaskSpec>, play: impl Fn(TaskSpec) + Copy + 'static) -> impl IntoView {
    let title = "Train: nothing that is held out occurs. Holdout: what is planted first was never met in training. All: no restriction.";
    let options = move || {
        let now = case.get();
        let all = Split::ALL
            .iter()
            .filter(|split| now.with_split(**split).is_ok());
        all.map(|split| option(split.name(), split.name(), "", *split == now.split()))
            .collect::<String>()
    };
    let change = move |event| {
        let split = Split::parse(&event_target_value(&event));
        if let Some(Ok(case)) = split.map(|split| case.get_untracked().with_split(split)) {
            play(case);
        }
    };
    view! {
        <div class="field extra">
            <label class="label" for="split" title=title>"Split"</label>
            <select id="split" title=title on:change=change inner_html=options></select>
        </div>
    }
}

fn formularies(case: Memo<TaskSpec>, play: impl Fn(TaskSpec) + Copy + 'static) -> impl IntoView {
    let title = "Extended: 46 archetypes made for this project. Reference: what PolyGuard's public pages state, for two cases, easy and medium.";
    let options = move || {
        let now = case.get();
        let all = FormularyName::ALL.iter();
        let there = |name: &&FormularyName| **name == FormularyName::Extended || has_reference(now);
        all.filter(there)
            .map(|name| option(name.name(), name.name(), "", *name == now.formulary()))
            .collect::<String>()
    };
    let change = move |event| {
        let now = case.get_untracked();
        let Some(formulary) = FormularyName::parse(&event_target_value(&event)) else {
            return;
        };
        // The reference has no splits.
        let split = match formulary {
            FormularyName::Extended => now.split(),
            FormularyName::Reference => Split::All,
        };
        play(nearest(formulary, now.sub(), now.difficulty(), split));
    };
    view! {
        <div class="field extra">
            <label class="label" for="formulary" title=title>"Formulary"</label>
            <select id="formulary" title=title on:change=change inner_html=options></select>
        </div>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is chosen next, there is such a case, and what the choice does not touch stays.
    #[test]
    fn every_choice_leads_to_a_case() {
        let all = || (0..100).filter_map(TaskSpec::from_number);
        for from in all() {
            for sub in SubEnvironment::ALL {
                let to = nearest(from.formulary(), sub, from.difficulty(), from.split());
                assert_eq!(
                    (to.sub(), to.difficulty(), to.split()),
                    (sub, from.difficulty(), from.split())
                );
            }
            for difficulty in Difficulty::ALL {
                let to = nearest(from.formulary(), from.sub(), difficulty, from.split());
                assert_eq!((to.sub(), to.difficulty()), (from.sub(), difficulty));
            }
        }
        let reference = all().filter(|case| case.formulary() == FormularyName::Reference);
        assert!(reference.clone().all(has_reference) && reference.count() == 4);
        assert!(!has_reference(TaskSpec::ALL[23]));
    }
}
