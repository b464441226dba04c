//! The form that composes an action of a verb and of parts.

use std::time::Duration;

use leptos::prelude::*;
use sentinel_page_protocol::{Slot, Verb, WorldInfo};

use super::select::{Item, select};
use crate::lane::Lane;
use crate::page::Page;
use crate::reactive::{effect, memo};

/// The form, in worlds whose actions have parts.
#[component]
pub fn ComposerView(page: Page) -> impl IntoView {
    let info = page.info;
    let verbs = memo(move |_| info.with(|info| info.as_ref().map_or(0, |info| info.verbs.len())));
    let ended = memo(move |_| page.main.moment.with(|m| m.as_ref().is_none_or(|m| m.done)));
    move || {
        (verbs.get() > 0 && !ended.get()).then(|| {
            let info = info.get()?;
            Some(form(page, &info))
        })
    }
}

fn verb_of(page: Page) -> Option<Verb> {
    let index = page.composer.draft.with(|draft| draft.verb);
    page.info
        .with(|info: &Option<std::sync::Arc<WorldInfo>>| info.as_ref()?.verbs.get(index).cloned())
}

fn form(page: Page, info: &WorldInfo) -> AnyView {
    let composer = page.composer;
    let code = memo(move |_| {
        let verb = verb_of(page);
        composer
            .draft
            .with(|draft| verb.map_or_else(String::new, |verb| draft.code(&verb)))
    });
    // Asked a little later, so that scrubbing sends nothing.
    let timer = StoredValue::new(None::<TimeoutHandle>);
    effect(move |_| {
        let code = code.get();
        page.main.at.track();
        page.main.status.track();
        if let Some(timer) = timer.get_value() {
            timer.clear();
        }
        let ask = move || page.check(&code);
        timer.set_value(set_timeout_with_handle(ask, Duration::from_millis(150)).ok());
    });
    let checked = memo(move |_| {
        let code = code.get();
        composer
            .checked
            .with(|checked| (checked.code == code).then(|| checked.clone()))
            .unwrap_or_default()
    });
    let label = move || {
        let label = checked.with(|checked| checked.label.clone());
        if label.is_empty() {
            verb_of(page).map_or_else(String::new, |verb| verb.label)
        } else {
            label
        }
    };
    let warning = move || {
        let warning = checked.with(|checked| checked.warning.clone());
        (!warning.is_empty())
            .then(|| view! { <span class="note" data-tone="warn">{warning}</span> }.into_any())
    };
    let verbs = info.verbs.iter().enumerate();
    let verbs: Vec<AnyView> = verbs
        .map(|(index, verb)| verb_button(page, index, verb))
        .collect();
    let slots = move || {
        let slots = verb_of(page).map_or_else(Vec::new, |verb| verb.slots);
        slots
            .into_iter()
            .map(|slot| slot_menu(page, page.main, slot))
            .collect::<Vec<AnyView>>()
    };
    let verb_index = memo(move |_| composer.draft.with(|draft| draft.verb));
    let slots = move || {
        verb_index.track();
        untrack(slots)
    };
    let flag = move || {
        verb_index.track();
        let flag = untrack(move || verb_of(page))?.flag?;
        let (label, help) = (flag.label, flag.help);
        let checked = move || composer.draft.with(|draft| draft.flag);
        let change = move |event| {
            let on = event_target_checked(&event);
            composer.draft.update(|draft| draft.flag = on);
        };
        Some(view! {
            <label class="check" data-help=help>
                <input type="checkbox" id="act-flag" prop:checked=move || checked() on:change=change/>{label}
            </label>
        }
        .into_any())
    };
    view! {
        <section class="card composer" aria-label="Act yourself">
            <h2>"Act yourself"</h2>
            <div class="segmented" role="group" aria-label="Kind of action">{verbs}</div>
            <div class="fields">{move || slots()}{move || flag()}</div>
            <button type="button" id="act" class="primary" data-act=move || code.get()
                on:click=move |_| page.act(&code.get_untracked())>{move || label()}</button>
            <p id="act-warning" role="status">{move || warning()}</p>
            <p class="quiet">"Choose here or by pressing names on the board. A part that is left out is chosen by rule. The episode branches at the cursor."</p>
        </section>
    }
    .into_any()
}

fn verb_button(page: Page, index: usize, verb: &Verb) -> AnyView {
    let draft = page.composer.draft;
    let chosen = move || draft.with(|draft| draft.verb == index);
    let pressed = move || if chosen() { "true" } else { "false" };
    let choose = move |_| {
        draft.update(|draft| {
            draft.verb = index;
            draft.flag = false;
            draft.touched = true;
        });
    };
    let (label, help, code) = (verb.label.clone(), verb.help.clone(), verb.code.clone());
    view! { <button type="button" data-verb=code data-help=help aria-pressed=move || pressed() on:click=choose>{label}</button> }
        .into_any()
}

/// The menu of the cards that a part can be.
fn slot_menu(page: Page, lane: Lane, slot: Slot) -> AnyView {
    let (letter, panel, label) = (slot.letter, slot.panel.clone(), slot.label.clone());
    let items = memo(move |_| {
        let panels = lane.board.panels.get();
        let found = panels.iter().find(|found| found.id == panel);
        let cards = found.map_or_else(Vec::new, |found| found.cards.get());
        let card = |card: &crate::board::CardSlot| {
            card.card.with(|card| {
                let code = card.pick.clone().filter(|code| code.starts_with(letter))?;
                Some(Item::new(&code, &card.title, ""))
            })
        };
        let rest = cards.iter().filter_map(card);
        std::iter::once(Item::new("", "by rule", ""))
            .chain(rest)
            .collect::<Vec<_>>()
    });
    let draft = page.composer.draft;
    let chosen = memo(move |_| draft.with(|draft| draft.part(&slot).to_owned()));
    let change = move |code: String| draft.update(|draft| draft.choose(letter, &code));
    select(
        format!("act-slot-{letter}"),
        label,
        String::new(),
        items,
        chosen,
        change,
    )
}
