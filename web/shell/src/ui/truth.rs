//! The Truth layer: hidden state, labeled as such. These components alone take parts of a `Truth`,
//! and there is nothing to draw while the engine sends none.

use std::sync::Arc;

use leptos::prelude::*;
use sentinel_page_protocol::{Truth, TruthNote};

use super::face::unmasked;
use super::panel::PanelView;
use super::parts::{term, tone};
use super::reward::terms_table;
use crate::board::Board;
use crate::lane::Hidden;
use crate::num::scale;
use crate::page::Page;
use crate::reactive::{effect, memo};

fn notes_of(truth: &Option<Arc<Truth>>, panel: &str, card: &str) -> Vec<TruthNote> {
    let all = truth.iter().flat_map(|truth| &truth.notes);
    all.filter(|note| note.panel == panel && note.card == card)
        .cloned()
        .collect()
}

fn note_view(note: TruthNote) -> AnyView {
    let value = note.value.map(|value| {
        let length = scale(value);
        view! { <span class="bar" aria-hidden="true"><i style:transform=length></i></span> }
    });
    view! {
        <p class="truth" data-truth data-tone=tone(note.tone)>
            <span class="sr">"Truth: "</span>{term(&note.text, &note.help)}{value}
        </p>
    }
    .into_any()
}

/// Hidden facts about a card.
#[component]
pub fn TruthNotes(hidden: Hidden, panel: String, card: String) -> impl IntoView {
    move || {
        let notes = hidden.moment.with(|truth| notes_of(truth, &panel, &card));
        notes.into_iter().map(note_view).collect::<Vec<AnyView>>()
    }
}

/// What is drawn over the face of an adversary.
#[component]
pub fn TruthMask(hidden: Hidden, panel: String, card: String) -> impl IntoView {
    let is_adversary = memo(move |_| {
        let notes = hidden.moment.with(|truth| notes_of(truth, &panel, &card));
        notes.iter().any(|note| note.unmask)
    });
    move || is_adversary.get().then(unmasked)
}

/// What really happened in the last action.
#[component]
pub fn TruthHeadline(hidden: Hidden) -> impl IntoView {
    let text = move || {
        hidden
            .moment
            .with(|truth| truth.as_ref().map(|truth| truth.headline.clone()))
    };
    let line = move |text: String| {
        view! { <p class="truth truth-line" data-truth><b>"Truth"</b>" "{text}</p> }.into_any()
    };
    move || text().filter(|text| !text.is_empty()).map(line)
}

/// Panels that only the Truth layer has, and all terms of the reward.
#[component]
pub fn TruthPanels(page: Page, hidden: Hidden) -> impl IntoView {
    let board = Board::default();
    effect(move |_| {
        hidden.moment.with(|truth| {
            board.show(truth.as_ref().map_or(&[], |truth| truth.panels.as_slice()));
        });
    });
    let is_shown = memo(move |_| hidden.moment.with(Option::is_some));
    let terms = move || {
        hidden.moment.with(|truth| {
            let terms = truth
                .as_ref()
                .map_or(&[][..], |truth| truth.terms.as_slice());
            terms_table(terms)
        })
    };
    move || {
        is_shown.get().then(|| {
            view! {
                <section class="truth-layer" data-truth aria-label="Truth">
                    <h2>"Truth"</h2>
                    <p class="quiet">"Hidden from the agent. It is here to judge the agent, not to advise it."</p>
                    <For each=move || board.panels.get() key=|slot| slot.id.clone() let:of>
                        <PanelView page of hidden/>
                    </For>
                    {move || terms()}
                </section>
            }
            .into_any()
        })
    }
}
