//! A titled group of cards, in one of the layouts.

use leptos::prelude::*;
use sentinel_page_protocol::{Layout, Panel, Share};

use super::card::{Character, Counter, Place, Row, Tile};
use super::graph::Graph;
use super::parts::{shares_legend, term};
use crate::board::{PanelSlot, kind};
use crate::lane::Hidden;
use crate::page::Page;
use crate::reactive::memo;

/// A panel. It is built anew only if its layout changes.
#[component]
pub fn PanelView(page: Page, of: PanelSlot, hidden: Hidden) -> impl IntoView {
    let slot = of;
    let head = slot.head.clone();
    let layout = memo({
        let head = head.clone();
        move |_| head.with(|head| kind(&head.layout))
    });
    let folded = head.with_untracked(|head| head.folded);
    let (a, b, c) = (head.clone(), head.clone(), head.clone());
    let title = move || b.with(|head| term(&head.title, &head.help));
    let summary = move || c.with(|head| head.summary.clone());
    let body = {
        let slot = slot.clone();
        move || cards(page, slot.clone(), hidden, layout.get())
    };
    let inner = view! { {move || body()}<Empty of=slot.clone()/><Legend of=slot.clone()/> };
    let content = if folded {
        view! {
            <details>
                <summary><h2>{move || head.with(|head| head.title.clone())}</h2><span class="quiet">{move || summary()}</span></summary>
                {inner}
            </details>
        }
        .into_any()
    } else {
        view! { <div class="panel-head"><h2>{move || title()}</h2><span class="quiet">{move || summary()}</span></div>{inner} }.into_any()
    };
    view! {
        <section class="card panel" data-panel=slot.id aria-label=move || a.with(|head| head.title.clone())>
            {content}
        </section>
    }
}

/// The text in place of cards.
#[component]
fn Empty(of: PanelSlot) -> impl IntoView {
    move || {
        let none = of.cards.with(Vec::is_empty);
        let text = of.head.with(|head| head.empty.clone());
        (none && !text.is_empty()).then(|| view! { <p class="quiet">{text}</p> }.into_any())
    }
}

/// The names of the patterns, once for all cards of the panel.
#[component]
fn Legend(of: PanelSlot) -> impl IntoView {
    let shares = memo(move |_| {
        let first = |cards: &Vec<crate::board::CardSlot>| {
            let shares = |card: &crate::board::CardSlot| card.card.with(|card| card.shares.clone());
            cards.iter().map(shares).find(|shares| !shares.is_empty())
        };
        let plain = |share: Share| Share {
            value: 0.0,
            ..share
        };
        let shares = of.cards.with(first).unwrap_or_default();
        shares.into_iter().map(plain).collect::<Vec<_>>()
    });
    move || shares.with(|shares| (!shares.is_empty()).then(|| shares_legend(shares)))
}

fn cards(page: Page, slot: PanelSlot, hidden: Hidden, layout: u8) -> AnyView {
    let place = Place {
        panel: slot.id.clone(),
        hidden,
    };
    let each = {
        let cards = slot.cards.clone();
        move || cards.get()
    };
    let head = slot.head.clone();
    match layout {
        0 => view! {
            <ul class="cast">
                <For each key=|card| card.key.clone() let:card>
                    <Character page of=card place=place.clone()/>
                </For>
            </ul>
        }
        .into_any(),
        2 => {
            let numeric = head.with_untracked(numbers);
            view! {
                <div class="scroll">
                    <table class="rows">
                        <thead><tr>
                            <th scope="col"><span class="sr">"Name"</span></th>
                            {move || head.with(headings)}
                            <th scope="col"><span class="sr">"Details"</span></th>
                        </tr></thead>
                        <tbody>
                            <For each key=|card| card.key.clone() let:card>
                                <Row page of=card place=place.clone() numeric=numeric.clone()/>
                            </For>
                        </tbody>
                    </table>
                </div>
            }
            .into_any()
        }
        4 => view! {
            <dl class="counters">
                <For each key=|card| card.key.clone() let:card>
                    <Counter of=card place=place.clone()/>
                </For>
            </dl>
        }
        .into_any(),
        5 => view! { <Graph page of=slot/> }.into_any(),
        _ => {
            let (list, item) = if layout == 1 {
                ("tiles", "tile")
            } else {
                ("list", "item")
            };
            view! {
                <ul class=list>
                    <For each key=|card| card.key.clone() let:card>
                        <Tile page of=card place=place.clone() kind=item/>
                    </For>
                </ul>
            }
            .into_any()
        }
    }
}

fn numbers(head: &Panel) -> Vec<bool> {
    match &head.layout {
        Layout::Table(columns) => columns.iter().map(|column| column.numeric).collect(),
        _ => Vec::new(),
    }
}

fn headings(head: &Panel) -> Vec<AnyView> {
    let Layout::Table(columns) = &head.layout else {
        return Vec::new();
    };
    let all = columns.iter().map(|column| {
        view! { <th scope="col" class:num=column.numeric>{term(&column.title, &column.help)}</th> }.into_any()
    });
    all.collect()
}
