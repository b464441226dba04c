//! The form that composes an action of a verb and parts.

use std::time::Duration;

use leptos::prelude::{
    GetValue, SetValue, StoredValue, TimeoutHandle, event_target_checked, set_timeout_with_handle,
    untrack,
};
use sentinel_page_protocol::{Slot, Verb, WorldInfo};

use super::select::{Item, select};
use super::widgets::{check_field, checkbox};
use crate::dom::html::{button, div, h2, p, section, span};
use crate::dom::{El, IntoView, View};
use crate::draft_action::part_of;
use crate::episode_view::EpisodeView;
use crate::page::Page;
use crate::reactive::{Memo, effect, memo};
use crate::state::to_u32;

/// Returns the form; nothing in worlds whose actions all have buttons, and after the end of the
/// episode.
#[must_use]
pub fn composer(page: Page) -> View {
    let info = page.info;
    let verbs = memo(move || info.with(|info| info.as_ref().map_or(0, |info| info.verbs.len())));
    let ended = memo(move || page.main.frame.with(|m| m.as_ref().is_none_or(|m| m.done)));
    let view = move || {
        let info = info.get().filter(|_| verbs.get() > 0 && !ended.get());
        info.map(|info| form(page, &info))
    };
    view.into_view()
}

fn selected_verb(page: Page) -> Option<Verb> {
    let index = page.composer.draft.with(|draft| draft.verb);
    page.info
        .with(|info: &Option<std::sync::Arc<WorldInfo>>| info.as_ref()?.verbs.get(index).cloned())
}

fn form(page: Page, info: &WorldInfo) -> El {
    let composer = page.composer;
    let code = memo(move || {
        let verb = selected_verb(page);
        composer
            .draft
            .with(|draft| verb.map_or_else(String::new, |verb| draft.code(&verb)))
    });
    check_with_delay(page, code);
    let checked = memo(move || {
        let (code, at) = (code.get(), page.main.at.get());
        composer
            .checked
            .with(|checked| {
                let is_here = checked.about.code == code && checked.about.at == to_u32(at);
                is_here.then(|| checked.clone())
            })
            .unwrap_or_default()
    });
    let completed = memo(move || {
        let completed = checked.with(|checked| checked.completed.clone());
        if completed.is_empty() {
            code.get()
        } else {
            completed
        }
    });
    // Not `disabled`, which would take the focus from the button.
    let is_wasted = memo(move || checked.with(|checked| !checked.warning.is_empty()));
    let action = move || {
        let label = checked.with(|checked| checked.label.clone());
        if label.is_empty() {
            selected_verb(page).map_or_else(String::new, |verb| verb.label)
        } else {
            label
        }
    };
    let warning = move || {
        let warning = checked.with(|checked| checked.warning.clone());
        let note = span().class("note").attr("data-tone", "warn");
        (!warning.is_empty()).then(|| note.child(warning))
    };
    let verbs = info.verbs.iter().enumerate();
    let verbs: Vec<El> = verbs
        .map(|(index, verb)| verb_button(page, index, verb))
        .collect();
    let slots = move || {
        let slots = selected_verb(page).map_or_else(Vec::new, |verb| verb.slots);
        slots
            .into_iter()
            .map(|slot| slot_menu(page, page.main, slot, (completed, is_wasted)))
            .collect::<Vec<El>>()
    };
    let verb_index = memo(move || composer.draft.with(|draft| draft.verb));
    let slots = move || {
        verb_index.track();
        untrack(slots)
    };
    let flag = move || {
        verb_index.track();
        let flag = untrack(move || selected_verb(page))?.flag?;
        let change = move |event| {
            let on = event_target_checked(&event);
            composer.draft.update(|draft| draft.flag = on);
        };
        let is_on = move || composer.draft.with(|draft| draft.flag);
        Some(check_field(&flag, checkbox(is_on, change).id("act-flag")))
    };
    let kinds = div().class("segmented").attr("role", "group");
    let take = move || page.take_if_valid(&code.get_untracked());
    let act = button()
        .id("act")
        .class("primary")
        .attr("data-act", move || completed.get())
        .attr("aria-disabled", move || is_wasted.get().then_some("true"))
        .attr("aria-describedby", "act-warning")
        .on_press(take)
        .child(action);
    let note = "Drag a job onto a GPU, click names in the panels, or choose here.";
    section()
        .class("card composer")
        .label("Act yourself")
        .child(h2().child("Act yourself"))
        .child(kinds.label("Kind of action").child(verbs))
        .child(div().class("fields").child(slots).child(flag))
        .child(act)
        .child(p().id("act-warning").attr("role", "status").child(warning))
        .child(p().class("quiet").child(note))
}

/// Asks the engine about the draft action whenever it or the cursor changes, with a delay, so that
/// scrubbing sends nothing.
fn check_with_delay(page: Page, code: Memo<String>) {
    let timer = StoredValue::new(None::<TimeoutHandle>);
    effect(move || {
        let code = code.get();
        page.main.at.track();
        page.main.status.track();
        if let Some(timer) = timer.get_value() {
            timer.clear();
        }
        let ask = move || page.check_action(&code);
        timer.set_value(set_timeout_with_handle(ask, Duration::from_millis(150)).ok());
    });
}

fn verb_button(page: Page, index: usize, verb: &Verb) -> El {
    let draft = page.composer.draft;
    let chosen = move || draft.with(|draft| draft.verb == index);
    let choose = move || {
        draft.update(|draft| {
            draft.verb = index;
            draft.flag = false;
            draft.is_touched = true;
        });
    };
    button()
        .attr("data-verb", verb.code.clone())
        .attr("data-help", verb.help.clone())
        .attr(
            "aria-pressed",
            move || if chosen() { "true" } else { "false" },
        )
        .on_press(choose)
        .child(verb.label.clone())
}

/// Returns the menu of the cards that fit a slot.
fn slot_menu(
    page: Page,
    episode: EpisodeView,
    slot: Slot,
    (completed, is_wasted): (Memo<String>, Memo<bool>),
) -> El {
    let (letter, panel, label) = (slot.letter, slot.panel.clone(), slot.label.clone());
    let draft = page.composer.draft;
    let own = slot.clone();
    let is_open = memo(move || draft.with(|draft| draft.part(&own).is_empty()));
    let items = memo(move || {
        let panels = episode.panels.list.get();
        let found = panels.iter().find(|found| found.id == panel);
        let cards = found.map_or_else(Vec::new, |found| found.cards.get());
        let card = |card: &crate::panel_signals::CardSignal| {
            card.card.with(|card| {
                let code = card.pick.clone().filter(|code| code.starts_with(letter))?;
                Some(Item::new(&code, &card.title, ""))
            })
        };
        let rest = cards.iter().filter_map(card);
        let rest: Vec<Item> = rest.collect();
        let suggested = completed.with(|code| {
            let part = part_of(code, letter)?;
            let item = rest.iter().find(|item| item.value == part)?;
            Some(format!("suggested: {}", item.label))
        });
        // Where an action must be named whole and nothing is suggested, the choice is the visitor's.
        let rest_by = if is_wasted.get() { "choose" } else { "by rule" };
        let open = suggested.filter(|_| is_open.get());
        let open = Item::new("", &open.unwrap_or_else(|| rest_by.to_owned()), "");
        std::iter::once(open).chain(rest).collect::<Vec<_>>()
    });
    let chosen = memo(move || draft.with(|draft| draft.part(&slot).to_owned()));
    let change = move |code: String| draft.update(|draft| draft.set_part(letter, &code));
    select(
        format!("act-slot-{letter}"),
        label,
        "",
        items,
        chosen,
        change,
    )
}
