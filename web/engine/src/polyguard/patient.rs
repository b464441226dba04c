//! The panel of the patient and the measured values; missing values are shown as missing.

use sentinel_env::polyguard::{Lab, Observation, each_archetype};
use sentinel_page_protocol::{Card, Layout, Panel, Tone};

use super::{display_text, names};
use crate::format::capitalized;

/// Identifier of the patient's panel.
pub(super) const PATIENT: &str = "patient";

/// Returns the panel: laboratory values, vital signs, conditions.
pub(super) fn panel(o: &Observation) -> Panel {
    let p = &o.patient;
    let mut cards: Vec<Card> = Lab::ALL.iter().map(|lab| value(o, *lab)).collect();
    cards.extend([
        Card::fact(
            "frailty",
            "Frailty",
            "0 robust to 1 frail, as observed: off by up to .1",
            format!("{:.1}", p.frailty),
        ),
        Card::fact(
            "adherence",
            "Adherence",
            "Share of doses that are taken, as observed: off by up to .1",
            format!("{:.1}", p.adherence),
        ),
        Card::fact(
            "pressure",
            "Blood pressure",
            "Systolic",
            format!("{:.0} mmHg", p.systolic_mmhg),
        ),
        Card::fact(
            "heart",
            "Heart rate",
            "Beats a minute",
            format!("{:.0} /min", p.heart_rate),
        ),
        Card::fact(
            "breaths",
            "Breathing rate",
            "Breaths a minute",
            format!("{:.0} /min", p.respiratory_rate),
        ),
        Card::fact(
            "conditions",
            "Conditions",
            "What the medicines were given for at the start, as the chart shows it",
            listed(
                p.comorbidities
                    .iter()
                    .map(|c| names::condition(c).to_owned()),
            ),
        ),
        Card::fact(
            "reactions",
            "Not tolerated before",
            "Medicines that the patient is known not to tolerate",
            listed(each_archetype(o.ade_history).map(|id| names::archetype(o.formulary(), id))),
        ),
    ]);
    if o.conflict {
        cards.push(Card {
            tone: Tone::Warn,
            ..Card::fact(
                "conflict",
                "Specialists",
                "Asking a specialist to review settles it",
                "disagree".to_owned(),
            )
        });
    }
    if let Some(drug) = o.problem {
        let name = names::drug(o.formulary(), drug);
        let help = format!("It treats {}", names::treated(o, drug));
        cards.push(Card {
            tone: Tone::Bad,
            ..Card::fact("problem", "To be replaced", &help, capitalized(&name))
        });
    }
    Panel {
        id: PATIENT.to_owned(),
        title: "Patient".to_owned(),
        help:
            "A made-up patient. Values that are missing may be found by evidence or by measuring."
                .to_owned(),
        summary: format!("{} years, {}", p.age, p.sex.name()),
        layout: Layout::Counters,
        cards,
        aside: true,
        ..Panel::default()
    }
}

fn listed(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}

fn value(o: &Observation, lab: Lab) -> Card {
    let (name, _, help) = display_text::lab(lab);
    let (state, tone) = match o.labs.get(lab) {
        Some(value) => (display_text::lab_value(lab, value), Tone::Neutral),
        None if o.labs_ordered => ("comes next".to_owned(), Tone::Open),
        None => ("missing".to_owned(), Tone::Warn),
    };
    Card {
        key: lab.name().to_owned(),
        title: name.to_owned(),
        help: help.to_owned(),
        state,
        tone,
        ..Card::default()
    }
}
