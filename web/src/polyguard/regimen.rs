//! The medicines: what each is, how much of it is taken, what for, and what is known or asked about it.

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use std::fmt::Write;

use leptos::prelude::*;
use sentinel_env::polyguard::{Drug, Episode, Medication, Observation, PRODUCT, each_archetype};

use super::words::{dose, spaced, traits};
use super::{Polyguard, words};
use crate::ui::{Scene, tip};

/// The table.
pub(super) fn regimen(scene: Scene<Polyguard>) -> impl IntoView {
    let markup = Memo::new(move |_| {
        let truth = scene.truth();
        scene.with_frame(|frame| table(&frame.episode, truth))
    });
    view! { <section class="card regimen" aria-label="Medicines" inner_html=markup></section> }
}

/// Words and numbers of ours only, so nothing needs escaping.
fn table(episode: &Episode, truth: bool) -> String {
    let o = episode.observation();
    let taken = o.regimen.iter().filter(|row| row.is_active()).count();
    let mut out = format!(
        "<h3>Medicines <span class=\"quiet\">{taken} taken</span></h3><ul class=\"meds\" role=\"list\">\
        <li class=\"med head quiet\" aria-hidden=\"true\"><span>medicine, class</span><span>dose</span><span>given for</span><span>known of it</span></li>"
    );
    for (place, row) in o.regimen.iter().enumerate() {
        let held = if row.is_active() { "" } else { " held" };
        let (word, pips) = dose(row.bucket);
        // A `String` takes all that is written to it, here and below.
        let _ = write!(
            out,
            "<li class=\"med{held}\" data-drug=\"{name}\"><span class=\"drug\">{head}<span class=\"quiet\">{class}</span></span>\
            <span class=\"dose\"><span class=\"pips\" aria-hidden=\"true\">{pips}</span> {word}</span>\
            <span class=\"for\">{given}</span><span class=\"marks\">{marks}{hidden}</span></li>",
            name = row.drug.name(o.formulary()),
            head = drug(o, row),
            class = class(o, row),
            given = given(row),
            marks = marks(o, row),
            hidden = if truth {
                hidden(episode, place, row)
            } else {
                String::new()
            },
        );
    }
    out + "</ul>"
}

fn drug(o: &Observation, row: &Medication) -> String {
    match row.drug {
        Drug::Known(id) => tip(&o.formulary().get(id).name, &traits(o.formulary(), id)),
        Drug::Product => tip(
            PRODUCT,
            "A product of two components; looking into it tells which",
        ),
    }
}

fn class(o: &Observation, row: &Medication) -> String {
    match row.drug {
        Drug::Known(id) => spaced(&o.formulary().get(id).class),
        Drug::Product if o.has_unknown_product() => "components unknown".to_owned(),
        Drug::Product => {
            let parts = each_archetype(o.parts(row.drug));
            let names: Vec<String> = parts
                .map(|id| tip(&o.formulary().get(id).name, &traits(o.formulary(), id)))
                .collect();
            names.join(" + ")
        }
    }
}

fn given(row: &Medication) -> String {
    match row.indication {
        Some(condition) => spaced(condition.name()),
        None => tip(
            "no reason shown",
            "The chart does not say what it is given for: likely not needed",
        ),
    }
}

/// A small label with an explanation.
fn chip(class: &str, label: &str, meaning: &str) -> String {
    format!(
        "<span class=\"chip {class}\">{}</span>",
        tip(label, meaning)
    )
}

/// What is known or asked about a medicine.
fn marks(o: &Observation, row: &Medication) -> String {
    let mut out = String::new();
    for (holds, class, label, meaning) in asked(o, row) {
        if holds {
            out += &chip(class, label, meaning);
        }
    }
    if row.prior > 0 {
        let label = format!("suspect {}", row.prior);
        out += &chip(
            "ask",
            &label,
            "May cause the symptom; the number is its weight among the suspects",
        );
    }
    let broken = o.broken_rules().into_iter().filter(|(_, broken)| *broken);
    for (rule, _) in broken.filter(|_| row.is_active()) {
        if o.is_member(rule, row) {
            let (label, meaning) = words::rule(rule);
            out += &chip("bad", label, meaning);
        }
    }
    if let Some(level) = row.level {
        let old = match row.level_is_old {
            true => ", before the last change",
            false => "",
        };
        out += &chip(
            "level",
            &format!("level {level:.2}{old}"),
            "The last level that was measured; 1 is the middle of the window",
        );
    }
    out
}

/// Whether it holds, its style, its label, and what that means.
type Asked = (bool, &'static str, &'static str, &'static str);

/// What may be asked about any medicine.
#[rustfmt::skip]
fn asked(o: &Observation, row: &Medication) -> [Asked; 9] {
    let taper = row.drug.needs_taper(o.formulary()) && !row.tapering;
    let kidney = o.renal_alert(row);
    [
        (o.problem == Some(row.drug), "bad", "must be replaced", "The problem of this case: another medicine must take its place"),
        (taper, "", "needs taper", "May not be stopped at once: it goes down one dose a step"),
        (row.tapering, "ask", "tapering", "One dose a step down until it is out"),
        (row.is_unrevealed(), "ask", "under review", "Nobody has found out yet whether it is still needed: evidence may tell"),
        (row.status == Some(true), "good", "still needed", "Evidence was found: it is needed"),
        (row.status == Some(false), "bad", "no longer needed", "Evidence was found: it is not needed"),
        (row.questioned, "ask", "dose in question", "The dose may be wrong for this patient: measure, then adjust"),
        (kidney == Some(true), "bad", "unsafe for the kidney", "The eGFR is below the limit of this medicine; weighs .40 in the risk"),
        (kidney.is_none(), "ask", "eGFR decides", "Unsafe below a limit of the eGFR, and the eGFR is missing"),
    ]
}

/// What is true of a medicine.
fn hidden(episode: &Episode, place: usize, row: &Medication) -> String {
    let truth = episode.hidden().truth(place);
    let (low, high) = row.window(episode.observation().formulary());
    format!(
        "<span class=\"truth\">in truth {}, acts {:.2} (window {low:.2} to {high:.2})</span>",
        if truth.needed { "needed" } else { "not needed" },
        truth.exposure
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_env::Environment;
    use sentinel_env::polyguard::{Setup, TaskSpec};

    #[test]
    fn every_medicine_has_a_row_and_the_truth_stays_hidden() {
        for case in TaskSpec::ALL {
            let episode = Episode::reset(&Setup::new(case, 5));
            let rows = episode.observation().regimen.len();
            let seen = table(&episode, false);
            assert_eq!(seen.matches("data-drug").count(), rows, "{case}");
            assert!(!seen.contains("in truth"), "{case}");
            assert_eq!(table(&episode, true).matches("in truth").count(), rows);
        }
    }
}
