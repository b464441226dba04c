//! Small parts that many components share: bars, labels, chips, and texts with an explanation.

use leptos::prelude::event_target_value;
use sentinel_page_protocol::{Chip, Choice, Meter, Note, Share, Tone};

use crate::dom::html::{b, button, div, i, input, label, li, p, span, ul};
use crate::dom::svg::{path, svg};
use crate::dom::{El, IntoSetting};
use crate::number_format::{fixed, percent, scale_x};
use crate::page::MeanScore;

/// Returns the value of `data-tone` for a tone.
#[must_use]
pub const fn tone_name(tone: Tone) -> &'static str {
    match tone {
        Tone::Neutral => "neutral",
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Warn => "warn",
        Tone::Open => "open",
        Tone::Quiet => "quiet",
    }
}

/// Returns a sign with the meaning of the color; drawn, because not every system has a font with
/// it.
fn sign(tone: Tone) -> Option<El> {
    let line = match tone {
        Tone::Good => "M2 6 5 9 10 3",
        Tone::Bad => "M3 3 9 9M9 3 3 9",
        Tone::Warn => "M6 2V7M6 9.4V10",
        Tone::Open => "M4 4.4A2.1 2.1 0 1 1 6 6.8M6 9.4V10",
        Tone::Neutral | Tone::Quiet => return None,
    };
    let sign = svg().class("sign").attr("viewBox", "0 0 12 12");
    Some(
        sign.attr("aria-hidden", "true")
            .child(path().attr("d", line)),
    )
}

/// Returns a text. With an explanation it is a button that shows it, by mouse, touch and keyboard.
#[must_use]
pub fn text_with_help(text: &str, help: &str) -> El {
    let text = text.to_owned();
    if help.is_empty() {
        return span().child(text);
    }
    button()
        .class("term")
        .attr("data-help", help.to_owned())
        .child(text)
}

/// Returns a slider over `last` actions, at action `at`; `seek` gets the one that is chosen. It is drawn
/// as a whole when one of them changes, so that its end is set before its value, which the browser clamps.
#[must_use]
pub fn action_slider(
    id: &'static str,
    name: &'static str,
    (at, last): (usize, usize),
    seek: impl Fn(usize) + 'static,
) -> El {
    let scrub = move |event| {
        if let Ok(action) = event_target_value(&event).parse() {
            seek(action);
        }
    };
    input()
        .attr("type", "range")
        .attr("min", "0")
        .id(id)
        .label(name)
        .attr("aria-valuetext", format!("{at} of {last} actions"))
        .attr("max", last.to_string())
        .prop("value", at.to_string())
        .on("input", scrub)
}

/// Returns a bar that is filled up to `share`, `0..=1`.
#[must_use]
pub fn bar(share: f32) -> El {
    let filled = i().style("transform", scale_x(share));
    span()
        .class("bar")
        .attr("aria-hidden", "true")
        .child(filled)
}

/// Returns a box that is checked or not; `change` gets the event when the visitor switches it.
pub fn checkbox(
    is_checked: impl Fn() -> bool + 'static,
    change: impl Fn(web_sys::Event) + 'static,
) -> El {
    let switch = input().attr("type", "checkbox");
    switch.prop("checked", is_checked).on("change", change)
}

/// Returns a labelled field for a text that is kept as it was typed. `field` has the attributes that are
/// its own.
pub fn text_field(
    id: &'static str,
    name: &'static str,
    field: El,
    text: impl Fn() -> String + 'static,
    change: impl Fn(String) + 'static,
) -> El {
    let field = field
        .id(id)
        .attr("autocomplete", "off")
        .prop("value", text)
        .on("input", move |event| change(event_target_value(&event)));
    let name = label().class("label").attr("for", id).child(name);
    div().class("field").child(name).child(field)
}

/// Returns a checkbox with the label and the help of a choice.
pub fn check_field(choice: &Choice, switch: El) -> El {
    label()
        .class("check")
        .attr("data-help", choice.help.clone())
        .child(switch)
        .child(choice.label.clone())
}

/// Returns an area that scrolls sideways if it must, also by keyboard.
pub fn scroll_area(label: impl IntoSetting, content: El) -> El {
    div()
        .class("scroll")
        .attr("tabindex", "0")
        .attr("role", "group")
        .label(label)
        .child(content)
}

/// Returns a bar with a label.
#[must_use]
pub fn meter(meter: &Meter) -> El {
    let mark = meter.mark.map(|mark| b().style("left", css_percent(mark)));
    div()
        .class("meter")
        .attr("data-tone", tone_name(meter.tone))
        .child(
            span()
                .class("meter-label")
                .child(text_with_help(&meter.label, &meter.help)),
        )
        .child(bar(meter.value).child(mark))
}

/// Formats a share as a CSS percentage, limited to 0 % and 100 %.
#[must_use]
pub fn css_percent(share: f32) -> String {
    let share = if share.is_finite() {
        share.clamp(0.0, 1.0)
    } else {
        0.0
    };
    crate::number_format::css(f64::from(share) * 100.0) + "%"
}

/// Returns a distribution as one bar of patterns, with its parts in words on demand; `None` if it
/// is empty.
#[must_use]
pub fn shares(shares: &[Share]) -> Option<El> {
    if shares.is_empty() {
        return None;
    }
    let words: Vec<String> = shares
        .iter()
        .map(|share| share.label.clone() + " " + &percent(share.value))
        .collect();
    let words = words.join(", ");
    let part = |share: &Share| {
        let grow = crate::number_format::css(f64::from(share.value) * 100.0);
        pattern(share).style("flex-grow", grow)
    };
    let parts: Vec<El> = shares.iter().map(part).collect();
    let bar = button().class("shares").attr("data-help", words.clone());
    Some(bar.label(words).child(parts))
}

fn pattern(share: &Share) -> El {
    i().attr("data-kind", share.kind.to_string())
}

/// Returns the names of the patterns of a distribution.
#[must_use]
pub fn shares_legend(shares: &[Share]) -> El {
    let item = |share: &Share| {
        let sample = span().class("shares").child(pattern(share));
        li().child(sample).child(share.label.clone())
    };
    ul().class("legend")
        .child(shares.iter().map(item).collect::<Vec<El>>())
}

/// Returns a short label in a frame.
#[must_use]
pub fn chip(chip: &Chip) -> El {
    let label = span().class("chip").attr("data-tone", tone_name(chip.tone));
    label
        .child(sign(chip.tone))
        .child(text_with_help(&chip.text, &chip.help))
}

/// Returns a sentence with its sign.
#[must_use]
pub fn note(note: &Note) -> El {
    let sentence = p().class("note").attr("data-tone", tone_name(note.tone));
    sentence
        .child(sign(note.tone))
        .child(text_with_help(&note.text, &note.help))
}

/// Returns a word for a state, with its sign; `None` for an empty word.
#[must_use]
pub fn state_label(text: &str, of: Tone) -> Option<El> {
    let word = || span().class("state").attr("data-tone", tone_name(of));
    (!text.is_empty()).then(|| word().child(sign(of)).child(text.to_owned()))
}
/// Returns a mean score with the half width of its interval.
#[must_use]
pub fn mean_value(score: &MeanScore) -> El {
    let text = match score.mean {
        Some((mean, half)) => format!("{} ± {}", fixed(mean, 3), fixed(half, 3)),
        None => "not available".to_owned(),
    };
    b().class("num")
        .attr("data-mean-of", score.player.clone())
        .child(text)
}
