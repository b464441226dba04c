//! A graph: cards as nodes on a circle, with lines between them.

use std::f64::consts::TAU;

use leptos::prelude::*;
use sentinel_page_protocol::{Card, Edge, Layout, Tone};

use super::parts::{state, tone};
use crate::board::PanelSlot;
use crate::num::css;
use crate::page::Page;
use crate::reactive::memo;

/// Half the width of the drawing.
const HALF: f64 = 200.0;
/// Radius of the circle of nodes.
const RADIUS: f64 = 128.0;

/// The graph, and its lines as a list of words below it.
#[component]
pub fn Graph(page: Page, of: PanelSlot) -> impl IntoView {
    let data = memo(move |_| {
        let cards: Vec<Card> = of
            .cards
            .with(|cards| cards.iter().map(|c| c.card.get()).collect());
        let edges = of.head.with(|head| match &head.layout {
            Layout::Graph(edges) => edges.clone(),
            _ => Vec::new(),
        });
        (cards, edges)
    });
    let drawing = move || {
        data.with(|(cards, edges)| {
            let lines: Vec<AnyView> = edges.iter().filter_map(|edge| line(cards, edge)).collect();
            let count = cards.len();
            let nodes = cards.iter().enumerate();
            let nodes: Vec<AnyView> = nodes.map(|(i, card)| node(page, card, i, count)).collect();
            view! { {lines}{nodes} }.into_any()
        })
    };
    let words = move || {
        data.with(|(cards, edges)| {
            edges
                .iter()
                .map(|edge| words(cards, edge))
                .collect::<Vec<AnyView>>()
        })
    };
    view! {
        <svg class="graph" viewBox="-200 -170 400 340" aria-hidden="true">{move || drawing()}</svg>
        <ul class="edges">{move || words()}</ul>
    }
}

/// Returns the place of a node.
fn place(index: usize, count: usize) -> (f64, f64) {
    let angle = TAU * index as f64 / count.max(1) as f64 - TAU / 4.0;
    (RADIUS * angle.cos(), RADIUS * angle.sin())
}

fn find(cards: &[Card], key: &str) -> Option<(f64, f64)> {
    let index = cards.iter().position(|card| card.key == key)?;
    Some(place(index, cards.len()))
}

fn line(cards: &[Card], edge: &Edge) -> Option<AnyView> {
    let ((x1, y1), (x2, y2)) = (find(cards, &edge.from)?, find(cards, &edge.to)?);
    let width = css(1.0 + 5.0 * f64::from(edge.weight.clamp(0.0, 1.0)));
    Some(view! {
        <line class="edge" data-tone=tone(edge.tone) x1=css(x1) y1=css(y1) x2=css(x2) y2=css(y2) style:stroke-width=width/>
    }
    .into_any())
}

fn node(page: Page, card: &Card, index: usize, count: usize) -> AnyView {
    let (x, y) = place(index, count);
    let side = if x.abs() < HALF * 0.1 {
        "middle"
    } else if x > 0.0 {
        "start"
    } else {
        "end"
    };
    // The name stands outside of the circle where it can; a long one is cut in the drawing only.
    let (dx, dy) = (
        x / RADIUS * 14.0,
        if side == "middle" {
            y / RADIUS * 22.0
        } else {
            0.0
        },
    );
    let name: String = if card.title.chars().count() > 14 {
        card.title.chars().take(13).chain(['…']).collect()
    } else {
        card.title.clone()
    };
    let code = card.pick.clone();
    let picked = code
        .as_ref()
        .is_some_and(|c| page.composer.draft.with(|d| d.parts.contains(c)));
    let pick = move |_| {
        if let Some(code) = &code {
            page.composer.draft.update(|draft| draft.toggle(code));
        }
    };
    view! {
        <g class="node" class:active=card.active class:picked=picked data-card=card.key.clone() data-tone=tone(card.tone) on:click=pick>
            <circle cx=css(x) cy=css(y) r="9"/>
            <text x=css(x + dx) y=css(y + dy + 4.5) text-anchor=side>{name}</text>
        </g>
    }
    .into_any()
}

fn words(cards: &[Card], edge: &Edge) -> AnyView {
    let name = |key: &str| {
        let card = cards.iter().find(|card| card.key == key);
        card.map_or_else(|| key.to_owned(), |card| card.title.clone())
    };
    let pair = name(&edge.from) + " – " + &name(&edge.to);
    let label = if edge.tone == Tone::Neutral {
        None
    } else {
        state(&edge.label, edge.tone)
    };
    let plain = if label.is_some() {
        String::new()
    } else {
        edge.label.clone()
    };
    view! { <li><b>{pair}</b>" "{label}{plain}</li> }.into_any()
}
