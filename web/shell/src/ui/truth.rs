//! The Truth layer: hidden state, labeled as such. Only these components take parts of a `Truth`,
//! and there is nothing to draw while the engine sends none.

use std::sync::Arc;

use sentinel_page_protocol::{Truth, TruthNote};

use super::analysis::{actions, chart};
use super::card::CardContext;
use super::face::unmasked_face;
use super::panel::panel;
use super::reward::terms_table;
use super::widgets::{bar, text_with_help, tone_name};
use crate::dom::html::{b, h2, p, section, span};
use crate::dom::{El, IntoView, View, each};
use crate::episode_view::{EpisodeView, TruthSignals};
use crate::page::Page;
use crate::panel_signals::PanelSignals;
use crate::reactive::{effect, memo};

fn notes_of(truth: &Option<Arc<Truth>>, panel: &str, card: &str) -> Vec<TruthNote> {
    let all = truth.iter().flat_map(|truth| &truth.notes);
    all.filter(|note| note.panel == panel && note.card == card)
        .cloned()
        .collect()
}

fn note_view(note: &TruthNote) -> El {
    p().class("truth")
        .attr("data-truth", true)
        .attr("data-tone", tone_name(note.tone))
        .child(span().class("sr").child("Truth: "))
        .child(text_with_help(&note.text, &note.help))
        .child(note.value.map(bar))
}

/// Returns the hidden facts about a card.
#[must_use]
pub fn truth_notes(context: &CardContext, key: &str) -> View {
    let (signals, panel, key) = (context.truth, context.panel.clone(), key.to_owned());
    let notes = move || {
        let notes = signals.frame.with(|truth| notes_of(truth, &panel, &key));
        notes.iter().map(note_view).collect::<Vec<El>>()
    };
    notes.into_view()
}

/// Returns the drawing over the face of an adversary.
#[must_use]
pub fn truth_mask(context: &CardContext, key: &str) -> View {
    let (signals, panel, key) = (context.truth, context.panel.clone(), key.to_owned());
    let is_adversary = memo(move || {
        let notes = signals.frame.with(|truth| notes_of(truth, &panel, &key));
        notes.iter().any(|note| note.unmask)
    });
    let mask = move || is_adversary.get().then(unmasked_face);
    mask.into_view()
}

/// Returns the sentence about what really happened in the last action.
#[must_use]
pub fn truth_headline(signals: TruthSignals) -> View {
    let line = move || {
        let of = |truth: &Option<Arc<Truth>>| truth.as_ref().map(|truth| truth.headline.clone());
        let text = signals.frame.with(of).filter(|text| !text.is_empty())?;
        let line = p().class("truth truth-line").attr("data-truth", true);
        Some(line.child(b().child("Truth")).child(" ").child(text))
    };
    line.into_view()
}

/// Returns the panels that only the Truth layer has, and all terms of the reward.
#[must_use]
pub fn truth_panels(page: Page, signals: TruthSignals) -> View {
    let panels = PanelSignals::default();
    effect(move || {
        signals.frame.with(|truth| {
            panels.update(truth.as_ref().map_or(&[], |truth| truth.panels.as_slice()));
        });
    });
    let is_shown = memo(move || signals.frame.with(Option::is_some));
    let terms = move || {
        signals.frame.with(|truth| {
            let terms = truth
                .as_ref()
                .map_or(&[][..], |truth| truth.terms.as_slice());
            terms_table(terms)
        })
    };
    let layer = move || {
        let note = "Hidden from the agent. It is shown to judge the agent, not to advise it.";
        let panels = each(
            move || panels.list.get(),
            |slot| slot.id.clone(),
            move |slot| panel(page, &slot, signals),
        );
        let layer = section().class("truth-layer").attr("data-truth", true);
        is_shown.get().then(|| {
            layer
                .label("Truth")
                .child(h2().child("Truth"))
                .child(p().class("quiet").child(note))
                .child(panels)
                .child(terms)
        })
    };
    layer.into_view()
}

/// Returns the analysis from the true hidden state, at the cursor.
#[must_use]
pub fn true_analysis(page: Page, episode: EpisodeView) -> View {
    let found = episode.truth.analysis;
    let is_shown = memo(move || found.with(Option::is_some));
    let layer = move || {
        let step = move || {
            let at = episode.at.get().max(1) - 1;
            found.with(|a| {
                let step = a.as_ref()?.steps.get(at)?;
                actions(page, at, step, false)
            })
        };
        let note = "What each action was worth in the true hidden state, with new draws of the future. A player could not know it.";
        let layer = section().class("truth-layer").attr("data-truth", true);
        is_shown.get().then(|| {
            layer
                .label("Truth: hindsight")
                .child(h2().child("Truth: with hindsight"))
                .child(p().class("quiet").child(note))
                .child(chart(page, episode, found))
                .child(step)
        })
    };
    layer.into_view()
}
