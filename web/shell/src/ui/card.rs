//! Cards in the shapes that the layouts give them.

use leptos::prelude::{SetValue, WithValue};
use sentinel_page_protocol::{Card, Link};

use wasm_bindgen::JsCast;

use super::action_button::buttons;
use super::face::face;
use super::header::is_plain;
use super::truth::{truth_mask, truth_notes};
use super::widgets::{chip, meter, note, shares, state_label, text_with_help, tone_name};
use crate::browser;
use crate::dom::html::{a, button, dd, div, dt, li, p, span, td, th, tr};
use crate::dom::{El, IntoView, View};
use crate::episode_view::TruthSignals;
use crate::page::Page;
use crate::panel_signals::CardSignal;

/// Length in bytes from which the value of a counter gets a row of its own.
const WIDE: usize = 16;

/// Surroundings of a card.
#[derive(Clone)]
pub struct CardContext {
    /// Signals of the page.
    pub page: Page,
    /// Identifier of the card's panel.
    pub panel: String,
    /// Hidden state, for the Truth layer of the card.
    pub truth: TruthSignals,
}

fn class(kind: &'static str, card: &Card, picked: bool) -> String {
    let mut class = kind.to_owned();
    if let Some(slot) = card.slot.filter(|slot| *slot < 8) {
        class.push_str(" s");
        class.push(char::from(b'0' + slot));
    }
    if card.active {
        class.push_str(" active");
    }
    if card.pick.is_some() {
        class.push_str(" pickable");
    }
    if picked {
        class.push_str(" picked");
    }
    class
}

fn is_picked(page: Page, card: &Card) -> bool {
    let is = |code: &String| page.composer.draft.with(|draft| draft.parts.contains(code));
    card.pick.as_ref().is_some_and(is)
}

/// Adds the card to the draft action, unless another button of the card was pressed.
fn pick(page: Page, slot: &CardSignal, event: &web_sys::Event) {
    let Some(code) = slot.card.with_untracked(|card| card.pick.clone()) else {
        return;
    };
    let button =
        browser::event_target(event).and_then(|target| target.closest("button").ok().flatten());
    if button.is_none_or(|button| button.has_attribute("data-pick")) {
        page.composer.draft.update(|draft| draft.toggle_card(&code));
    }
}

/// Returns the name of a card, as a button if the card can be picked.
fn title(page: Page, card: &Card) -> El {
    let Some(code) = card.pick.clone() else {
        return span()
            .class("title")
            .child(text_with_help(&card.title, &card.help));
    };
    let pressed = if is_picked(page, card) {
        "true"
    } else {
        "false"
    };
    button()
        .class("title")
        .attr("data-pick", code)
        .attr("aria-pressed", pressed)
        .child(card.title.clone())
}

fn subtitle(card: &Card) -> Option<El> {
    let text = card.subtitle.clone();
    (!text.is_empty()).then(|| p().class("subtitle").child(text))
}

fn head(page: Page, card: &Card) -> View {
    let row = div().class("card-head").child(title(page, card));
    let row = row.child(state_label(&card.state, card.tone));
    vec![row.into_view(), subtitle(card).into_view()].into_view()
}

fn all<T>(items: &[T], draw: fn(&T) -> El) -> View {
    items.iter().map(draw).collect::<Vec<El>>().into_view()
}

/// Returns everything of a card below its name.
fn body(page: Page, card: &Card) -> View {
    let chips = || div().class("chips").child(all(&card.chips, chip));
    View::Fragment(vec![
        all(&card.meters, meter),
        shares(&card.shares).into_view(),
        (!card.chips.is_empty()).then(chips).into_view(),
        all(&card.notes, note),
        buttons(page, &card.buttons).into_view(),
        links(page, &card.links),
    ])
}

/// Returns links to other states of the page.
fn links(page: Page, all: &[Link]) -> View {
    let link = |link: &Link| {
        let query = link.query.clone();
        let open = move |event: web_sys::MouseEvent| {
            if is_plain(&event) {
                event.prevent_default();
                page.open_query(&query);
            }
        };
        a().class("card-link")
            .attr("href", String::from("?") + &link.query)
            .on_mouse("click", open)
            .child(link.text.clone())
    };
    let links: Vec<El> = all.iter().map(link).collect();
    links.into_view()
}

/// Returns a closure that draws something of a card, again whenever the card changes.
fn from_card<R, F: Fn(&Card) -> R>(slot: &CardSignal, draw: F) -> impl Fn() -> R + use<R, F> {
    let card = slot.card.clone();
    move || card.with(|card| draw(card))
}

/// Lets the visitor drag a card that can be picked onto another one, which takes an action with both.
fn draggable(element: El, page: Page, slot: &CardSignal) -> El {
    let pick_of = |slot: &CardSignal| slot.card.with_untracked(|card| card.pick.clone());
    let (dragged, below, dropped) = (slot.clone(), slot.clone(), slot.clone());
    let card_of = |event: &web_sys::DragEvent| {
        let target = event.current_target()?;
        target.dyn_into::<web_sys::Element>().ok()
    };
    // The visitor acts in the main episode only.
    let is_main = move |event: &web_sys::DragEvent| {
        let pane = card_of(event).and_then(|card| card.closest("[data-pane=main]").ok().flatten());
        pane.is_some()
    };
    let drag = move |event: web_sys::DragEvent| {
        let Some(code) = pick_of(&dragged).filter(|_| is_main(&event)) else {
            return event.prevent_default();
        };
        if let Some(data) = event.data_transfer() {
            // Firefox drags nothing without data.
            let _ = data.set_data("text/plain", &code);
        }
        page.composer.dragged.set_value(code.clone());
        if let Some(letter) = code.chars().next() {
            page.composer
                .draft
                .update(|draft| draft.set_part(letter, &code));
        }
    };
    // A card takes what is dragged from a panel of another kind.
    let takes = move |slot: &CardSignal| {
        let letter = |code: &String| code.chars().next();
        let dragged = page.composer.dragged.with_value(letter);
        let own = pick_of(slot).and_then(|code| letter(&code));
        own.is_some() && dragged.is_some() && own != dragged
    };
    let mark = move |event: &web_sys::DragEvent, on: bool| {
        if let Some(card) = card_of(event) {
            let _ = card.class_list().toggle_with_force("drop-target", on);
        }
    };
    let over = move |event: web_sys::DragEvent| {
        if takes(&below) && is_main(&event) {
            event.prevent_default();
            mark(&event, true);
        }
    };
    let drop = move |event: web_sys::DragEvent| {
        mark(&event, false);
        if takes(&dropped) && is_main(&event) {
            event.prevent_default();
            event.stop_propagation();
            page.drop_on_card(&pick_of(&dropped).unwrap_or_default());
        }
    };
    element
        .attr("draggable", "true")
        .on_drag("dragstart", drag)
        .on_drag("dragover", over)
        .on_drag("dragleave", move |event| mark(&event, false))
        .on_drag("drop", drop)
        .on_drag("dragend", move |_| {
            page.composer.dragged.set_value(String::new());
        })
}

/// Marks an element as that of a card, and lets the visitor pick the card.
fn card_element(element: El, context: &CardContext, slot: &CardSignal, kind: &'static str) -> El {
    let page = context.page;
    let clicked = slot.clone();
    let element = match slot.card.with_untracked(|card| card.pick.is_some()) {
        true => draggable(element, page, slot),
        false => element,
    };
    element
        .class(from_card(slot, move |card| {
            class(kind, card, is_picked(page, card))
        }))
        .attr("data-tone", from_card(slot, |card| tone_name(card.tone)))
        .attr("data-card", slot.key.clone())
        .on("click", move |event| pick(page, &clicked, &event))
}

/// Returns a character: face, name and known facts.
#[must_use]
pub fn character(context: &CardContext, slot: &CardSignal) -> El {
    let page = context.page;
    let portrait = div()
        .class("portrait")
        .child(from_card(slot, |card| face(card.slot, card.face)))
        .child(truth_mask(context, &slot.key));
    card_element(li(), context, slot, "who")
        .child(portrait)
        .child(from_card(slot, move |card| head(page, card)))
        .child(from_card(slot, move |card| body(page, card)))
        .child(truth_notes(context, &slot.key))
}

/// Returns a box with the card's name and content; `kind` is its class.
#[must_use]
pub fn tile(context: &CardContext, slot: &CardSignal, kind: &'static str) -> El {
    let page = context.page;
    card_element(li(), context, slot, kind)
        .child(from_card(slot, move |card| head(page, card)))
        .child(from_card(slot, move |card| body(page, card)))
        .child(truth_notes(context, &slot.key))
}

/// Returns a row of a table; `numeric` says which cells are numbers.
#[must_use]
pub fn row(context: &CardContext, slot: &CardSignal, numeric: Vec<bool>) -> El {
    let page = context.page;
    let cells = move |card: &Card| {
        let cell = |(index, text): (usize, &String)| {
            let number = numeric.get(index).copied().unwrap_or(false);
            td().toggle_class("num", number).child(text.clone())
        };
        card.cells.iter().enumerate().map(cell).collect::<Vec<El>>()
    };
    let name = move |card: &Card| {
        let state = state_label(&card.state, card.tone);
        View::Fragment(vec![title(page, card).into_view(), state.into_view()])
    };
    let rest =
        move |card: &Card| View::Fragment(vec![subtitle(card).into_view(), body(page, card)]);
    let rest = td().class("rest").child(from_card(slot, rest));
    card_element(tr(), context, slot, "row")
        .child(th().attr("scope", "row").child(from_card(slot, name)))
        .child(from_card(slot, cells))
        .child(rest.child(truth_notes(context, &slot.key)))
}

/// Returns a name with its value.
#[must_use]
pub fn counter(context: &CardContext, slot: &CardSignal) -> El {
    div()
        .class("counter")
        .attr("data-card", slot.key.clone())
        .toggle_class("none", from_card(slot, |card| card.state == "0"))
        .toggle_class("wide", from_card(slot, |card| card.state.len() >= WIDE))
        .attr("data-tone", from_card(slot, |card| tone_name(card.tone)))
        .child(dt().child(from_card(slot, |card| {
            text_with_help(&card.title, &card.help)
        })))
        .child(dd().child(from_card(slot, |card| card.state.clone())))
        .child(truth_notes(context, &slot.key))
}
