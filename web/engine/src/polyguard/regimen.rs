//! The panel of the medicines: name, dose, indication, and known or open questions.

use sentinel_env::polyguard::{Drug, Medication, Observation, PolyguardEnv, each_archetype};
use sentinel_page_protocol::{Card, Chip, Layout, Meter, Note, Panel, Tone};

use super::step::level_in_words;
use super::{display_text, names};
use crate::format::capitalized;
use crate::run::PublicFrame;

/// Identifier of the panel of medicines.
pub(super) const REGIMEN: &str = "regimen";

/// Converts a dose or an exposure, 1 for the usual one, into a share of the highest dose.
pub(super) fn share(multiple: f64) -> f32 {
    (multiple / 1.5).clamp(0.0, 1.0) as f32
}

/// Returns the panel of the medicines.
pub(super) fn panel(frame: &PublicFrame<'_, PolyguardEnv>) -> Panel {
    let o = frame.observation;
    let taken = o.regimen.iter().filter(|row| row.is_active()).count();
    let paused = o.regimen.len() - taken;
    Panel {
        id: REGIMEN.to_owned(),
        title: "Regimen".to_owned(),
        help: "The patient’s medicines. Each is a made-up archetype that stands for a class; its traits are public.".to_owned(),
        summary: match paused {
            0 => format!("{taken} taken"),
            paused => format!("{taken} taken, {paused} paused"),
        },
        layout: Layout::Tiles,
        cards: o.regimen.iter().map(|row| card(frame, row)).collect(),
        empty: "No medicine is taken.".to_owned(),
        ..Panel::default()
    }
}

fn card(frame: &PublicFrame<'_, PolyguardEnv>, row: &Medication) -> Card {
    let o = frame.observation;
    let dose = display_text::dose(row.bucket);
    let mut meters = vec![Meter {
        label: format!("dose {dose}"),
        help: "Low is half of the usual dose, medium the usual one, high one and a half".to_owned(),
        value: share(row.bucket.dose()),
        ..Meter::default()
    }];
    meters.extend(row.level.map(|level| level_meter(o, row, level)));
    Card {
        key: row.drug.name(o.formulary()).to_owned(),
        title: capitalized(&names::drug(o.formulary(), row.drug)),
        help: help(o, row),
        subtitle: class(o, row),
        state: if row.is_active() { "" } else { "paused" }.to_owned(),
        tone: if row.is_active() {
            Tone::Neutral
        } else {
            Tone::Quiet
        },
        active: frame.step.is_some_and(|step| step.is_about(row.drug)),
        meters,
        chips: chips(o, row),
        notes: vec![indication(row)],
        ..Card::default()
    }
}

fn level_meter(o: &Observation, row: &Medication, level: f64) -> Meter {
    let (low, high) = row.window(o.formulary());
    let (old, when) = match row.level_is_old {
        true => (" (old)", "Measured before the dose was changed"),
        false => ("", "Measured"),
    };
    Meter {
        label: format!("level {level:.2}{old}"),
        help: format!(
            "{when}: {}. The mark is the middle of the window, 1.",
            level_in_words(o, row, level)
        ),
        value: share(level),
        mark: Some(share(1.0)),
        tone: match (low..=high).contains(&level) {
            _ if row.level_is_old => Tone::Quiet,
            true => Tone::Good,
            false => Tone::Warn,
        },
    }
}

fn help(o: &Observation, row: &Medication) -> String {
    let traits = |id| names::traits(o.formulary(), id);
    match row.drug {
        Drug::Known(id) => traits(id),
        Drug::Product if o.has_unknown_product() => {
            "A product of two components (code new_drug). Looking it up tells which.".to_owned()
        }
        Drug::Product => {
            let parts = each_archetype(o.known_archetypes(row.drug)).map(|id| {
                let name = capitalized(&names::archetype(o.formulary(), id));
                format!("{name}: {}", traits(id))
            });
            parts.collect::<Vec<_>>().join(" ")
        }
    }
}

fn class(o: &Observation, row: &Medication) -> String {
    match (row.drug, o.components) {
        (Drug::Known(id), _) => {
            let class = names::readable(&o.formulary().get(id).class);
            // Some archetypes stand for their class.
            match class == names::archetype(o.formulary(), id) {
                true => String::new(),
                false => class,
            }
        }
        (Drug::Product, Some([a, b])) => names::both(o.formulary(), a, b),
        (Drug::Product, None) => "components unknown".to_owned(),
    }
}

fn indication(row: &Medication) -> Note {
    row.indication.map_or_else(
        || Note {
            text: "no reason shown".to_owned(),
            help: "The chart does not say what it is given for: likely not needed".to_owned(),
            tone: Tone::Warn,
        },
        |condition| Note {
            text: format!("for {}", names::condition(condition)),
            ..Note::default()
        },
    )
}

/// Returns chips for everything that is known or asked about a medicine.
fn chips(o: &Observation, row: &Medication) -> Vec<Chip> {
    let chip = |text: &str, help: &str, tone| Chip {
        text: text.to_owned(),
        help: help.to_owned(),
        tone,
    };
    let asked = asked(o, row).into_iter().filter(|(holds, ..)| *holds);
    let mut chips: Vec<Chip> = asked
        .map(|(_, tone, text, help)| chip(text, help, tone))
        .collect();
    if row.prior > 0 {
        chips.push(chip(
            match row.prior {
                1 => "suspect",
                _ => "main suspect",
            },
            &format!(
                "May cause the symptom; its weight among the suspects is {}",
                row.prior
            ),
            Tone::Open,
        ));
    }
    let broken = o.broken_rules().into_iter().filter(|(_, broken)| *broken);
    for (rule, _) in broken.filter(|_| row.is_active()) {
        if o.is_member(rule, row) {
            let (text, help) = display_text::rule(rule);
            chips.push(chip(text, help, Tone::Bad));
        }
    }
    chips
}

/// Returns the statements that may hold of a medicine: whether each holds, its color, label and
/// meaning.
#[rustfmt::skip]
fn asked(o: &Observation, row: &Medication) -> [(bool, Tone, &'static str, &'static str); 9] {
    let taper = row.drug.needs_taper(o.formulary()) && !row.tapering;
    let kidney = o.renal_alert(row);
    [
        (o.problem == Some(row.drug), Tone::Bad, "must be replaced", "The problem of this case: another medicine must take its place"),
        (taper, Tone::Neutral, "needs taper", "May not be stopped at once: it goes down one dose a step"),
        (row.tapering, Tone::Open, "tapering", "One dose a step down until it is out"),
        (row.is_unrevealed(), Tone::Open, "under review", "Whether it is still needed is not known yet: evidence may tell"),
        (row.status == Some(true), Tone::Good, "still needed", "Evidence was found: it is needed"),
        (row.status == Some(false), Tone::Bad, "no longer needed", "Evidence was found: it is not needed"),
        (row.questioned, Tone::Open, "dose in question", "The dose may be wrong for this patient: measure, then adjust"),
        (kidney == Some(true), Tone::Bad, "unsafe for the kidney", "The eGFR is below the limit of this medicine; weighs .40 in the risk"),
        (kidney.is_none(), Tone::Open, "eGFR decides", "Unsafe below a limit of the eGFR, and the eGFR is missing"),
    ]
}
