//! A titled group of cards, in one of the layouts.

use sentinel_page_protocol::{Column, Layout, Panel, Share};

use super::card::{CardContext, character, counter, row, tile};
use super::graph::graph;
use super::widgets::{scroll_area, shares_legend, text_with_help};
use crate::dom::html::{
    details, div, dl, h2, p, section, span, summary, table, tbody, th, thead, tr, ul,
};
use crate::dom::{El, IntoView, View, each};
use crate::episode_view::TruthSignals;
use crate::page::Page;
use crate::panel_signals::{CardSignal, PanelSignal, layout_kind};
use crate::reactive::memo;

/// Returns a panel. Its cards are rebuilt only if the kind of its layout changes.
#[must_use]
pub fn panel(page: Page, slot: &PanelSignal, truth: TruthSignals) -> El {
    let head = slot.head.clone();
    let layout = memo(move || head.with(|head| layout_kind(&head.layout)));
    let head = slot.head.clone();
    let of = move |text: fn(&Panel) -> &String| {
        let head = head.clone();
        move || head.with(|head| text(head).clone())
    };
    let quiet = span().class("quiet").child(of(|head| &head.summary));
    let context = CardContext {
        page,
        panel: slot.id.clone(),
        truth,
    };
    let frame = section()
        .class("card panel")
        .attr("data-panel", slot.id.clone())
        .label(of(|head| &head.title));
    let body = {
        let slot = slot.clone();
        move || cards(&context, &slot, layout.get())
    };
    let fill = |frame: El| frame.child(body).child(empty(slot)).child(legend(slot));
    if slot.head.with_untracked(|head| head.folded) {
        let title = h2().child(of(|head| &head.title));
        let fold = details().child(summary().child(title).child(" ").child(quiet));
        return frame.child(fill(fold));
    }
    let head = slot.head.clone();
    let title = h2().child(move || head.with(|head| text_with_help(&head.title, &head.help)));
    let head = div().class("panel-head").child(title).child(quiet);
    fill(frame.child(head))
}

/// Returns the text in place of cards.
fn empty(slot: &PanelSignal) -> View {
    let slot = slot.clone();
    let view = move || {
        let none = slot.cards.with(Vec::is_empty);
        let text = slot.head.with(|head| head.empty.clone());
        (none && !text.is_empty()).then(|| p().class("quiet").child(text))
    };
    view.into_view()
}

/// Returns the names of the patterns, once for all cards of the panel.
fn legend(slot: &PanelSignal) -> View {
    let slot = slot.clone();
    let shares = memo(move || {
        let first = |cards: &Vec<CardSignal>| {
            let shares = |card: &CardSignal| card.card.with(|card| card.shares.clone());
            cards.iter().map(shares).find(|shares| !shares.is_empty())
        };
        let plain = |share: Share| Share {
            value: 0.0,
            ..share
        };
        let shares = slot.cards.with(first).unwrap_or_default();
        shares.into_iter().map(plain).collect::<Vec<_>>()
    });
    let view = move || shares.with(|shares| (!shares.is_empty()).then(|| shares_legend(shares)));
    view.into_view()
}

/// Returns the cards of a panel. Each is created once and kept as long as its key exists.
fn cards(context: &CardContext, slot: &PanelSignal, layout: u8) -> View {
    let all = |draw: fn(&CardContext, &CardSignal) -> El| {
        let context = context.clone();
        each_card(slot, move |slot| draw(&context, slot))
    };
    let list = match layout {
        0 => ul().class("cast").child(all(character)),
        1 => ul()
            .class("tiles")
            .child(all(|context, slot| tile(context, slot, "tile"))),
        2 => rows(context, slot),
        4 => dl().class("counters").child(all(counter)),
        5 => return graph(context.page, slot),
        _ => ul()
            .class("list")
            .child(all(|context, slot| tile(context, slot, "item"))),
    };
    list.into_view()
}

fn each_card(slot: &PanelSignal, draw: impl Fn(&CardSignal) -> El + 'static) -> View {
    let cards = slot.cards.clone();
    each(
        move || cards.get(),
        |card| card.key.clone(),
        move |card| draw(&card),
    )
}

fn rows(context: &CardContext, slot: &PanelSignal) -> El {
    let numeric = slot.head.with_untracked(|head| {
        let columns = columns(head).iter();
        columns.map(|column| column.numeric).collect::<Vec<bool>>()
    });
    let head = slot.head.clone();
    let headings = move || {
        let heading = |column: &Column| {
            let heading = th()
                .attr("scope", "col")
                .toggle_class("num", column.numeric);
            heading.child(text_with_help(&column.title, &column.help))
        };
        head.with(|head| columns(head).iter().map(heading).collect::<Vec<El>>())
    };
    let unseen = |name: &'static str| {
        let name = span().class("sr").child(name);
        th().attr("scope", "col").child(name)
    };
    let context = context.clone();
    let body = each_card(slot, move |card| row(&context, card, numeric.clone()));
    let names = tr()
        .child(unseen("Name"))
        .child(headings)
        .child(unseen("Details"));
    let table = table().class("rows").child(thead().child(names));
    let head = slot.head.clone();
    let label = move || head.with(|head| head.title.clone());
    scroll_area(label, table.child(tbody().child(body)))
}

fn columns(head: &Panel) -> &[Column] {
    match &head.layout {
        Layout::Table(columns) => columns,
        _ => &[],
    }
}
