//! The attacks of an episode, as far as public counters reveal them.

use sentinel_env::cluster::{Change, ClusterEnv, DETECTION_WINDOW, Observation};
use sentinel_page_protocol::{Card, Note, Panel, Tone};

use super::step::PublicStep;
use crate::format::capitalized;
use crate::run::PublicFrame;

/// Outcome of an attack, as far as public steps show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttackOutcome {
    /// A report was caught in the step of the attack.
    Caught,
    /// No report was caught in that step, and these rules allow no later detection.
    NotCaught,
    /// The attack was found in this step.
    Found(u8),
    /// The attack was not found in time.
    Missed,
    /// The attack ended with its job, neither found nor missed.
    Ended,
    /// The attack can still be found.
    Open,
}

impl AttackOutcome {
    /// Returns the outcome of the attack of step `index` of the history.
    pub(super) fn new(o: &Observation, history: &[&PublicStep], index: usize) -> Self {
        let Some(attack) = history.get(index) else {
            return Self::Open;
        };
        if !o.rules.has(Change::Detections) {
            return if attack.caught() {
                Self::Caught
            } else {
                Self::NotCaught
            };
        }
        let open = usize::from(DETECTION_WINDOW);
        for (later, step) in history[index..].iter().take(open + 1).enumerate() {
            if step.detected {
                return Self::Found(step.number);
            }
            // In the step of this attack, the one before it may be missed.
            if step.missed && later > 0 {
                return Self::Missed;
            }
        }
        if history.len() > index + open {
            Self::Ended
        } else {
            Self::Open
        }
    }

    fn word(self) -> String {
        match self {
            Self::Caught => "report caught".to_owned(),
            Self::NotCaught => "not caught".to_owned(),
            Self::Found(step) => format!("found in step {step}"),
            Self::Missed => "missed".to_owned(),
            Self::Ended => "ended with its job".to_owned(),
            Self::Open => "open".to_owned(),
        }
    }

    const fn tone(self) -> Tone {
        match self {
            Self::Caught | Self::Found(_) => Tone::Good,
            Self::NotCaught | Self::Missed => Tone::Bad,
            Self::Ended => Tone::Quiet,
            Self::Open => Tone::Open,
        }
    }
}

/// Returns the attacks so far, the latest first.
pub(super) fn attacks(frame: &PublicFrame<'_, ClusterEnv>) -> Panel {
    let o = frame.observation;
    let history: Vec<&PublicStep> = frame.history().collect();
    let attacks = history.iter().enumerate().filter(|(_, step)| step.attacked);
    let card = |(index, step): (usize, &&PublicStep)| {
        let outcome = AttackOutcome::new(o, &history, index);
        let effect = step.visible_effect();
        Card {
            key: format!("a{}", step.number),
            title: format!("Step {}", step.number),
            state: outcome.word(),
            tone: outcome.tone(),
            active: index + 1 == history.len(),
            notes: vec![Note {
                text: effect.map_or_else(
                    || "no visible effect".to_owned(),
                    |effect| capitalized(&effect),
                ),
                ..Note::default()
            }],
            ..Card::default()
        }
    };
    let mut cards: Vec<Card> = attacks.map(card).collect();
    cards.reverse();
    let kept_open = o.rules.has(Change::Detections);
    Panel {
        id: "attacks".to_owned(),
        title: "Attacks".to_owned(),
        help: if kept_open {
            "The counters show that an attack happened, not what it did. It can be found for five steps by verifying its job.".to_owned()
        } else {
            "The counters show that an attack happened, not what it did. Under these rules it can be caught only by a verification in the same step.".to_owned()
        },
        summary: match cards.len() {
            0 => String::new(),
            some => format!("{some} so far"),
        },
        cards,
        empty: "None so far.".to_owned(),
        aside: true,
        ..Panel::default()
    }
}
