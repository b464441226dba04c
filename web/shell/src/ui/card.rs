//! A card in the shapes that the layouts give it.

use leptos::prelude::*;
use sentinel_page_protocol::Card;

use super::action_button::buttons;
use super::face::face;
use super::parts::{chip, meter, note, shares, state, term, tone};
use super::truth::{TruthMask, TruthNotes};
use crate::board::CardSlot;
use crate::browser;
use crate::lane::Hidden;
use crate::page::Page;

/// What a card needs beside its content.
#[derive(Clone, Debug)]
pub struct Place {
    /// The id of its panel.
    pub panel: String,
    /// Hidden state, for the Truth layer on the card.
    pub hidden: Hidden,
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

/// Gives the card to the action that is being composed, unless another button of it was pressed.
fn pick(page: Page, slot: &CardSlot, event: &web_sys::Event) {
    let Some(code) = slot.card.with_untracked(|card| card.pick.clone()) else {
        return;
    };
    let button = browser::target(event).and_then(|target| target.closest("button").ok().flatten());
    if button.is_none_or(|button| button.has_attribute("data-pick")) {
        page.composer.draft.update(|draft| draft.toggle(&code));
    }
}

/// The name of a card: a button where pointing at the card means something.
fn title(page: Page, card: &Card) -> AnyView {
    let Some(code) = card.pick.clone() else {
        return view! { <span class="title">{term(&card.title, &card.help)}</span> }.into_any();
    };
    let pressed = if is_picked(page, card) {
        "true"
    } else {
        "false"
    };
    let name = card.title.clone();
    view! { <button type="button" class="title" data-pick=code aria-pressed=pressed>{name}</button> }
        .into_any()
}

fn subtitle(card: &Card) -> Option<AnyView> {
    let text = card.subtitle.clone();
    (!text.is_empty()).then(|| view! { <p class="subtitle">{text}</p> }.into_any())
}

fn all<T>(items: &[T], draw: fn(&T) -> AnyView) -> Vec<AnyView> {
    items.iter().map(draw).collect()
}

/// Everything of a card below its name.
fn body(page: Page, card: &Card) -> AnyView {
    let chips = (!card.chips.is_empty())
        .then(|| view! { <div class="chips">{all(&card.chips, chip)}</div> });
    view! {
        {all(&card.meters, meter)}
        {shares(&card.shares)}
        {chips}
        {all(&card.notes, note)}
        {buttons(page, &card.buttons)}
    }
    .into_any()
}

/// A character: face, name, and what is known of it.
#[component]
pub fn Character(page: Page, of: CardSlot, place: Place) -> impl IntoView {
    let (a, b, c) = (of.card.clone(), of.card.clone(), of.card.clone());
    let (d, e, clicked) = (of.card.clone(), of.card.clone(), of.clone());
    let (key, mask_key, mask_panel) = (of.key.clone(), of.key.clone(), place.panel.clone());
    view! {
        <li class=move || a.with(|card| class("who", card, is_picked(page, card)))
            data-tone=move || b.with(|card| tone(card.tone))
            data-card=of.key.clone() on:click=move |event| pick(page, &clicked, &event)>
            <div class="portrait">
                {move || c.with(|card| face(card.slot, card.face))}
                <TruthMask hidden=place.hidden panel=mask_panel card=mask_key/>
            </div>
            {move || d.with(|card| view! {
                <div class="card-head">{title(page, card)}{state(&card.state, card.tone)}</div>
                {subtitle(card)}
            }.into_any())}
            {move || e.with(|card| body(page, card))}
            <TruthNotes hidden=place.hidden panel=place.panel card=key/>
        </li>
    }
}

/// A box.
#[component]
pub fn Tile(page: Page, of: CardSlot, place: Place, kind: &'static str) -> impl IntoView {
    let (a, b, c, d) = (
        of.card.clone(),
        of.card.clone(),
        of.card.clone(),
        of.card.clone(),
    );
    let clicked = of.clone();
    let key = of.key.clone();
    view! {
        <li class=move || a.with(|card| class(kind, card, is_picked(page, card)))
            data-tone=move || b.with(|card| tone(card.tone))
            data-card=of.key.clone() on:click=move |event| pick(page, &clicked, &event)>
            {move || c.with(|card| view! {
                <div class="card-head">{title(page, card)}{state(&card.state, card.tone)}</div>
                {subtitle(card)}
            }.into_any())}
            {move || d.with(|card| body(page, card))}
            <TruthNotes hidden=place.hidden panel=place.panel card=key/>
        </li>
    }
}

/// A row of a table; `numeric` says which cells are numbers.
#[component]
pub fn Row(page: Page, of: CardSlot, place: Place, numeric: Vec<bool>) -> impl IntoView {
    let (a, b, c, d) = (
        of.card.clone(),
        of.card.clone(),
        of.card.clone(),
        of.card.clone(),
    );
    let (e, clicked) = (of.card.clone(), of.clone());
    let cells = move |card: &Card| {
        let cell = |(index, text): (usize, &String)| {
            let number = numeric.get(index).copied().unwrap_or(false);
            let text = text.clone();
            view! { <td class:num=number>{text}</td> }.into_any()
        };
        card.cells
            .iter()
            .enumerate()
            .map(cell)
            .collect::<Vec<AnyView>>()
    };
    let key = of.key.clone();
    view! {
        <tr class=move || a.with(|card| class("row", card, is_picked(page, card)))
            data-tone=move || b.with(|card| tone(card.tone))
            data-card=of.key.clone() on:click=move |event| pick(page, &clicked, &event)>
            <th scope="row">
                {move || c.with(|card| view! { {title(page, card)}{state(&card.state, card.tone)} }.into_any())}
            </th>
            {move || d.with(|card| cells(card))}
            <td class="rest">
                {move || e.with(|card| view! { {subtitle(card)}{body(page, card)} }.into_any())}
                <TruthNotes hidden=place.hidden panel=place.panel card=key/>
            </td>
        </tr>
    }
}

/// A name with a number.
#[component]
pub fn Counter(of: CardSlot, place: Place) -> impl IntoView {
    let (a, b) = (of.card.clone(), of.card.clone());
    let key = of.key.clone();
    view! {
        <div class="counter" data-card=of.key.clone() data-tone=move || a.with(|card| tone(card.tone))>
            {move || b.with(|card| {
                let value = card.state.clone();
                view! { <dt>{term(&card.title, &card.help)}</dt><dd>{value}</dd> }.into_any()
            })}
            <TruthNotes hidden=place.hidden panel=place.panel card=key/>
        </div>
    }
}
