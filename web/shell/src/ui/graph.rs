//! A graph: cards as nodes on a circle, with lines between them.

use std::f64::consts::TAU;

use sentinel_page_protocol::{Card, Edge, Layout, Tone};

use super::widgets::{state_label, tone_name};
use crate::dom::html::{b, li, ul};
use crate::dom::svg::{self, circle, g, svg};
use crate::dom::{El, IntoView, View};
use crate::number_format::css;
use crate::page::Page;
use crate::panel_signals::{CardSignal, PanelSignal};
use crate::reactive::memo;

/// Half the width of the drawing.
const HALF: f64 = 200.0;
/// Radius of the circle of nodes.
const RADIUS: f64 = 128.0;

/// Returns the graph, with its lines listed in words below it.
#[must_use]
pub fn graph(page: Page, slot: &PanelSignal) -> View {
    let slot = slot.clone();
    let data = memo(move || {
        let cards = |cards: &Vec<CardSignal>| cards.iter().map(|c| c.card.get()).collect();
        let cards: Vec<Card> = slot.cards.with(cards);
        let edges = slot.head.with(|head| match &head.layout {
            Layout::Graph(edges) => edges.clone(),
            _ => Vec::new(),
        });
        (cards, edges)
    });
    let drawing = move || {
        data.with(|(cards, edges)| {
            let lines: Vec<El> = edges.iter().filter_map(|edge| line(cards, edge)).collect();
            let count = cards.len();
            let nodes = cards.iter().enumerate();
            let nodes: Vec<El> = nodes.map(|(i, card)| node(page, card, i, count)).collect();
            View::Fragment(vec![lines.into_view(), nodes.into_view()])
        })
    };
    let list = move || {
        data.with(|(cards, edges)| {
            let edge_row = |edge: &Edge| edge_row(cards, edge);
            let labeled = edges.iter().filter(|edge| !edge.label.is_empty());
            labeled.map(edge_row).collect::<Vec<El>>()
        })
    };
    let drawn = svg().class("graph").attr("viewBox", "-200 -170 400 340");
    let drawn = drawn.attr("aria-hidden", "true").child(drawing);
    let list = ul().class("edges").child(list);
    View::Fragment(vec![drawn.into_view(), list.into_view()])
}

/// Returns the coordinates of a node.
fn node_position(index: usize, count: usize) -> (f64, f64) {
    let angle = TAU * index as f64 / count.max(1) as f64 - TAU / 4.0;
    // Rust's own functions would add 8 kB to the program.
    let (x, y) = (js_sys::Math::cos(angle), js_sys::Math::sin(angle));
    (RADIUS * x, RADIUS * y)
}

fn find(cards: &[Card], key: &str) -> Option<(f64, f64)> {
    let index = cards.iter().position(|card| card.key == key)?;
    Some(node_position(index, cards.len()))
}

fn line(cards: &[Card], edge: &Edge) -> Option<El> {
    let ((x1, y1), (x2, y2)) = (find(cards, &edge.from)?, find(cards, &edge.to)?);
    let width = css(1.0 + 5.0 * f64::from(edge.weight.clamp(0.0, 1.0)));
    let line = svg::line()
        .class("edge")
        .attr("data-tone", tone_name(edge.tone))
        .attr("x1", css(x1))
        .attr("y1", css(y1))
        .attr("x2", css(x2))
        .attr("y2", css(y2));
    Some(line.style("stroke-width", width))
}

fn node(page: Page, card: &Card, index: usize, count: usize) -> El {
    let (x, y) = node_position(index, count);
    let side = if x.abs() < HALF * 0.1 {
        "middle"
    } else if x > 0.0 {
        "start"
    } else {
        "end"
    };
    // The name is outside the circle if possible; a long name is cut in the drawing only.
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
    let pick = move || {
        if let Some(code) = &code {
            page.composer.draft.update(|draft| draft.toggle_card(code));
        }
    };
    let dot = circle()
        .attr("cx", css(x))
        .attr("cy", css(y))
        .attr("r", "9");
    let label = svg::text()
        .attr("x", css(x + dx))
        .attr("y", css(y + dy + 4.5))
        .attr("text-anchor", side)
        .child(name);
    g().class("node")
        .toggle_class("active", card.active)
        .toggle_class("picked", picked)
        .attr("data-card", card.key.clone())
        .attr("data-tone", tone_name(card.tone))
        .on_press(pick)
        .child(dot)
        .child(label)
}

fn edge_row(cards: &[Card], edge: &Edge) -> El {
    let name = |key: &str| {
        let card = cards.iter().find(|card| card.key == key);
        card.map_or_else(|| key.to_owned(), |card| card.title.clone())
    };
    let pair = name(&edge.from) + " – " + &name(&edge.to);
    let label = if edge.tone == Tone::Neutral {
        None
    } else {
        state_label(&edge.label, edge.tone)
    };
    let plain = if label.is_some() {
        String::new()
    } else {
        edge.label.clone()
    };
    li().child(b().child(pair))
        .child(" ")
        .child(label)
        .child(plain)
}
