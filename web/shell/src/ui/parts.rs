//! The small parts of cards: terms, meters, shares, chips, notes.

use leptos::prelude::*;
use sentinel_page_protocol::{Chip, Meter, Note, Share, Tone};

use crate::num::{percent, scale};

/// Returns the class of a tone.
#[must_use]
pub const fn tone(tone: Tone) -> &'static str {
    match tone {
        Tone::Neutral => "neutral",
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Warn => "warn",
        Tone::Open => "open",
        Tone::Quiet => "quiet",
    }
}

/// A sign that says what a color says. Drawn, because not every system has a font with it.
fn sign(tone: Tone) -> Option<AnyView> {
    let path = match tone {
        Tone::Good => "M2 6 5 9 10 3",
        Tone::Bad => "M3 3 9 9M9 3 3 9",
        Tone::Warn => "M6 2V7M6 9.4V10",
        Tone::Open => "M4 4.4A2.1 2.1 0 1 1 6 6.8M6 9.4V10",
        Tone::Neutral | Tone::Quiet => return None,
    };
    let svg =
        view! { <svg class="sign" viewBox="0 0 12 12" aria-hidden="true"><path d=path/></svg> };
    Some(svg.into_any())
}

/// A text. One with an explanation is a button that shows it: by mouse, touch and keyboard.
#[must_use]
pub fn term(text: &str, help: &str) -> AnyView {
    let text = text.to_owned();
    if help.is_empty() {
        return view! { <span>{text}</span> }.into_any();
    }
    let help = help.to_owned();
    view! { <button type="button" class="term" data-help=help>{text}</button> }.into_any()
}

/// A labeled bar.
#[must_use]
pub fn meter(meter: &Meter) -> AnyView {
    let mark = meter.mark.map(|mark| {
        let left = percent_of(mark);
        view! { <b style:left=left></b> }
    });
    let length = scale(meter.value);
    view! {
        <div class="meter" data-tone=tone(meter.tone)>
            <span class="meter-label">{term(&meter.label, &meter.help)}</span>
            <span class="bar" aria-hidden="true"><i style:transform=length></i>{mark}</span>
        </div>
    }
    .into_any()
}

/// Returns a share as a length of a style sheet.
#[must_use]
pub fn percent_of(share: f32) -> String {
    let share = if share.is_finite() {
        share.clamp(0.0, 1.0)
    } else {
        0.0
    };
    crate::num::css(f64::from(share) * 100.0) + "%"
}

/// A distribution as one bar of patterns, with its parts in words on demand.
#[must_use]
pub fn shares(shares: &[Share]) -> Option<AnyView> {
    if shares.is_empty() {
        return None;
    }
    let words: Vec<String> = shares
        .iter()
        .map(|share| share.label.clone() + " " + &percent(share.value))
        .collect();
    let words = words.join(", ");
    let part = |share: &Share| {
        let grow = crate::num::css(f64::from(share.value) * 100.0);
        view! { <i data-kind=share.kind.to_string() style:flex-grow=grow></i> }.into_any()
    };
    let parts: Vec<AnyView> = shares.iter().map(part).collect();
    let name = words.clone();
    Some(view! { <button type="button" class="shares" data-help=words aria-label=name>{parts}</button> }.into_any())
}

/// The names of the patterns of a distribution.
#[must_use]
pub fn shares_legend(shares: &[Share]) -> AnyView {
    let item = |share: &Share| {
        let label = share.label.clone();
        view! { <li><span class="shares"><i data-kind=share.kind.to_string()></i></span>{label}</li> }.into_any()
    };
    let items: Vec<AnyView> = shares.iter().map(item).collect();
    view! { <ul class="legend">{items}</ul> }.into_any()
}

/// A short label in a frame.
#[must_use]
pub fn chip(chip: &Chip) -> AnyView {
    view! { <span class="chip" data-tone=tone(chip.tone)>{sign(chip.tone)}{term(&chip.text, &chip.help)}</span> }
        .into_any()
}

/// A sentence.
#[must_use]
pub fn note(note: &Note) -> AnyView {
    view! { <p class="note" data-tone=tone(note.tone)>{sign(note.tone)}{term(&note.text, &note.help)}</p> }
        .into_any()
}

/// A word for a state.
#[must_use]
pub fn state(text: &str, of: Tone) -> Option<AnyView> {
    let text = text.to_owned();
    let view = || {
        view! { <span class="state" data-tone=tone(of)>{sign(of)}{text.clone()}</span> }.into_any()
    };
    (!text.is_empty()).then(view)
}
