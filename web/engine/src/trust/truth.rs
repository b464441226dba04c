//! Hidden state of the trust world, shown only while the Truth layer is on.

use sentinel_env::slot::Slot;
use sentinel_env::trust::{Action, Behavior, TrustEnv, text};
use sentinel_env::{Environment as _, PrivilegedState as _};
use sentinel_page_protocol::{Card, Chart, Layout, Panel, StepLine, Tone, Truth, TruthNote};

use super::terms::{step_terms, terminal_terms};
use super::view::{SPECIALISTS, short};
use crate::run::Frame;

/// Returns the description of a behavior.
const fn describe(behavior: Behavior) -> &'static str {
    match behavior {
        Behavior::AccurateSlow => "Right 9 times out of 10, but takes two steps",
        Behavior::OverconfidentFast => "Right 6 times out of 10, and always sure of it",
        Behavior::DomainBound => "Right in analyze and verify, useless elsewhere",
        Behavior::Adversarial => {
            "Good until stakes reach its threshold, then gives poisoned answers"
        }
        Behavior::Degrading => "Starts well and loses 15 % with each call",
    }
}

/// Returns the line of a step with poison told apart from mistakes.
pub(super) fn step_line(frame: &Frame<TrustEnv>, mut line: StepLine) -> StepLine {
    let Some(step) = frame.info().filter(|step| step.adversarial) else {
        return line;
    };
    let (sign, result, tone) = match step.action {
        Action::Verify(_) => ("◆", "poison caught", Tone::Good),
        _ => ("!", "poison believed", Tone::Bad),
    };
    (line.sign, line.result, line.tone) = (sign.to_owned(), result.to_owned(), tone);
    line.notable = true;
    line
}

/// Returns the hidden state of a frame.
pub(super) fn truth(frame: &Frame<TrustEnv>) -> Truth {
    let hidden = frame.episode.hidden();
    let note = |slot: Slot| {
        let behavior = hidden.assignment[slot];
        let adversary = behavior == Behavior::Adversarial;
        TruthNote {
            panel: SPECIALISTS.to_owned(),
            card: slot.name().to_owned(),
            text: format!(
                "{}, reliability {:.2}",
                short(behavior),
                behavior.reliability()
            ),
            help: describe(behavior).to_owned(),
            tone: if adversary { Tone::Bad } else { Tone::Neutral },
            value: Some(behavior.reliability() as f32),
            unmask: adversary,
        }
    };
    let mut terms = Vec::new();
    if let Some(step) = frame.info() {
        terms = step_terms(frame.episode.observation().task, &step.grades);
        for mut term in step.terminal.iter().flat_map(terminal_terms) {
            term.group = "Terminal reward".to_owned();
            terms.push(term);
        }
    }
    let tally = frame.episode.tally();
    Truth {
        headline: frame.info().map_or_else(String::new, text::explain_reward),
        notes: Slot::ALL.map(note).to_vec(),
        panels: vec![Panel {
            id: "poison".to_owned(),
            title: "Poison".to_owned(),
            layout: Layout::Counters,
            cards: vec![
                Card::fact(
                    "caught",
                    "Caught",
                    "Poisoned answers that were verified",
                    tally.detections.to_string(),
                ),
                Card::fact(
                    "believed",
                    "Believed",
                    "Poisoned answers that were believed",
                    tally.poisonings.to_string(),
                ),
            ],
            aside: true,
            ..Panel::default()
        }],
        terms,
    }
}

/// Replaces the signs of rewards with the true ones.
pub(super) fn charts(frames: &[Frame<TrustEnv>], mut charts: Vec<Chart>) -> Vec<Chart> {
    let strips = charts.iter_mut().flat_map(|chart| chart.strips.first_mut());
    for bar in strips.flat_map(|strip| strip.bars.iter_mut().zip(&frames[1..])) {
        let (bar, frame) = bar;
        let Some(step) = frame.info().filter(|step| step.adversarial) else {
            continue;
        };
        let caught = matches!(step.action, Action::Verify(_));
        bar.tone = if caught { Tone::Good } else { Tone::Bad };
        bar.sign = if caught { "◆" } else { "!" }.to_owned();
    }
    charts
}
