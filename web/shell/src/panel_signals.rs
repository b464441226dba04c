//! The panels of a frame as signals, one for each card. A card is drawn again only when it changed,
//! and then keeps its elements, its focus and its transitions.

use sentinel_page_protocol::{Card, Layout, Panel};

use crate::reactive::{ArcSignal, Signal};

/// A card whose content may change.
#[derive(Clone, Debug)]
pub struct CardSignal {
    /// Key of the card in its panel; never changes.
    pub key: String,
    /// Current content of the card.
    pub card: ArcSignal<Card>,
}

/// A panel whose cards may change.
#[derive(Clone, Debug)]
pub struct PanelSignal {
    /// Identifier of the panel; never changes.
    pub id: String,
    /// The panel without its cards.
    pub head: ArcSignal<Panel>,
    /// Cards in the order in which they are drawn.
    pub cards: ArcSignal<Vec<CardSignal>>,
}

/// The panels of an episode.
#[derive(Clone, Copy, Debug)]
pub struct PanelSignals {
    /// Panels in the order in which they are drawn.
    pub list: Signal<Vec<PanelSignal>>,
}

impl Default for PanelSignals {
    fn default() -> Self {
        Self {
            list: Signal::new(Vec::new()),
        }
    }
}

impl PanelSignals {
    /// Shows `panels`: sets the signals of everything that changed, and no others.
    pub fn update(&self, panels: &[Panel]) {
        let slots = self.list.get_untracked();
        let (slots, moved) =
            reconcile(slots, panels, |slot| &slot.id, |panel| &panel.id, new_panel);
        for (slot, panel) in slots.iter().zip(unique(panels, |panel| &panel.id)) {
            if !slot.head.with_untracked(|head| same_head(head, panel)) {
                slot.head.set(head(panel));
            }
            let cards = slot.cards.get_untracked();
            let (cards, moved) = reconcile(
                cards,
                &panel.cards,
                |slot| &slot.key,
                |card| &card.key,
                new_card,
            );
            for (slot, card) in cards.iter().zip(unique(&panel.cards, |card| &card.key)) {
                if slot.card.with_untracked(|old| old != card) {
                    slot.card.set(card.clone());
                }
            }
            if moved {
                slot.cards.set(cards);
            }
        }
        if moved {
            self.list.set(slots);
        }
    }
}

fn new_panel(panel: &Panel) -> PanelSignal {
    PanelSignal {
        id: panel.id.clone(),
        head: ArcSignal::new(head(panel)),
        cards: ArcSignal::new(Vec::new()),
    }
}

fn new_card(card: &Card) -> CardSignal {
    CardSignal {
        key: card.key.clone(),
        card: ArcSignal::new(card.clone()),
    }
}

/// Returns one signal for each item, reusing old ones with the same key, and `true` if the result
/// is not exactly `old`.
fn reconcile<S: Clone, I>(
    old: Vec<S>,
    items: &[I],
    slot_key: fn(&S) -> &String,
    item_key: fn(&I) -> &String,
    new: fn(&I) -> S,
) -> (Vec<S>, bool) {
    let count = unique(items, item_key).count();
    let pairs = old.iter().zip(unique(items, item_key));
    if old.len() == count
        && pairs
            .into_iter()
            .all(|(slot, item)| slot_key(slot) == item_key(item))
    {
        return (old, false);
    }
    let find = |item: &I| {
        let known = old.iter().find(|slot| slot_key(slot) == item_key(item));
        known.cloned().unwrap_or_else(|| new(item))
    };
    (unique(items, item_key).map(find).collect(), true)
}

/// Returns the items without those whose key an earlier item has.
fn unique<I>(items: &[I], key: fn(&I) -> &String) -> impl Iterator<Item = &I> {
    let first =
        move |(index, item): &(usize, &I)| !items[..*index].iter().any(|i| key(i) == key(item));
    items.iter().enumerate().filter(first).map(|(_, item)| item)
}

/// Returns a panel without its cards.
fn head(panel: &Panel) -> Panel {
    Panel {
        id: panel.id.clone(),
        title: panel.title.clone(),
        help: panel.help.clone(),
        summary: panel.summary.clone(),
        layout: panel.layout.clone(),
        cards: Vec::new(),
        empty: panel.empty.clone(),
        aside: panel.aside,
        folded: panel.folded,
    }
}

fn same_head(a: &Panel, b: &Panel) -> bool {
    a.title == b.title
        && a.help == b.help
        && a.summary == b.summary
        && a.layout == b.layout
        && a.empty == b.empty
        && a.aside == b.aside
        && a.folded == b.folded
}

/// Returns a number for the kind of a layout. A panel is rebuilt only if this number changes.
#[must_use]
pub const fn layout_kind(layout: &Layout) -> u8 {
    match layout {
        Layout::Characters => 0,
        Layout::Tiles => 1,
        Layout::Table(_) => 2,
        Layout::List => 3,
        Layout::Counters => 4,
        Layout::Graph(_) => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reactive::{Memo, memo};
    use leptos::prelude::Owner;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn panel(id: &str, cards: &[(&str, &str)]) -> Panel {
        let card = |(key, title): &(&str, &str)| Card {
            key: (*key).to_owned(),
            title: (*title).to_owned(),
            ..Card::default()
        };
        Panel {
            id: id.to_owned(),
            cards: cards.iter().map(card).collect(),
            ..Panel::default()
        }
    }

    fn counted(signal: &ArcSignal<Card>) -> (Memo<usize>, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        let (signal, inner) = (signal.clone(), count.clone());
        let memo = memo(move || {
            signal.track();
            inner.fetch_add(1, Ordering::Relaxed)
        });
        (memo, count)
    }

    #[test]
    fn only_changed_cards_are_set() {
        let owner = Owner::new();
        owner.set();
        let signals = PanelSignals::default();
        signals.update(&[panel("p", &[("a", "one"), ("b", "two")])]);
        let cards = signals.list.get_untracked()[0].cards.get_untracked();
        let (a, count_a) = counted(&cards[0].card);
        let (b, count_b) = counted(&cards[1].card);
        let _ = (a.get_untracked(), b.get_untracked());
        signals.update(&[panel("p", &[("a", "one"), ("b", "three")])]);
        let _ = (a.get_untracked(), b.get_untracked());
        assert_eq!(count_a.load(Ordering::Relaxed), 1);
        assert_eq!(count_b.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn cards_keep_their_slots_when_others_come_and_go() {
        let owner = Owner::new();
        owner.set();
        let signals = PanelSignals::default();
        signals.update(&[panel("p", &[("a", "one"), ("b", "two")]), panel("q", &[])]);
        let before = signals.list.get_untracked()[0].cards.get_untracked();
        // A repeated key is drawn once.
        signals.update(&[panel("p", &[("c", "new"), ("b", "two"), ("b", "again")])]);
        let panels = signals.list.get_untracked();
        assert_eq!(panels.len(), 1);
        let after = panels[0].cards.get_untracked();
        let keys: Vec<_> = after.iter().map(|slot| slot.key.as_str()).collect();
        assert_eq!(keys, ["c", "b"]);
        before[1]
            .card
            .update(|card| card.title = "same slot".to_owned());
        assert_eq!(after[1].card.get_untracked().title, "same slot");
    }
}
