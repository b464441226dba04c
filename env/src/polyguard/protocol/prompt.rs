//! The observation as text for a language model: the groups of [`ObservationPayload`], followed by
//! the request for an answer.
//!
//! A prompt is built from the payload of an observation, so text and JSON contain the same
//! information and nothing hidden can be included.

use std::fmt::{self, Write};

use super::parse::RATIONALE_MAX;
use super::payload::{MedicationRow, ObservationPayload};
use super::rows::{ArgRow, CandidateRow, PastRow};
use super::text;
use crate::polyguard::model::candidate::CandidateId;
use crate::polyguard::model::observation::Observation;

/// The form of the answer that prompts request.
pub const ANSWER_FORM: &str = "candidate_id=<cand_xx>; rationale=<text>";

/// Returns the prompt for an observation.
#[must_use]
pub fn prompt(o: &Observation) -> String {
    of_payload(&ObservationPayload::from_observation(o))
}

/// Returns the prompt for an observation that lists only some of the candidates, in the order in
/// which they are shown.
#[must_use]
pub fn prompt_among(o: &Observation, ids: &[CandidateId]) -> String {
    let mut payload = ObservationPayload::from_observation(o);
    let rows = o.candidates.iter().zip(payload.candidates);
    let listed = rows.filter(|(candidate, _)| ids.contains(&candidate.id));
    payload.candidates = listed.map(|(_, row)| row).collect();
    of_payload(&payload)
}

fn of_payload(payload: &ObservationPayload) -> String {
    let mut out = String::new();
    // Writing to a `String` cannot fail.
    let _ = write(payload, &mut out);
    out
}

fn write(p: &ObservationPayload, out: &mut String) -> fmt::Result {
    writeln!(out, "{}", text::NOTICE)?;
    let budget = &p.step_budget;
    writeln!(
        out,
        "Task: {} ({}). Make the medication regimen safer. Steps taken: {} of {}.",
        p.sub_environment, p.difficulty, budget.step_count, budget.max_steps
    )?;
    patient(p, out)?;
    writeln!(out, "\nMedicines (dose, indication, traits):")?;
    for row in &p.medication_table {
        medicine(row, out)?;
    }
    safety(p, out)?;
    if !p.action_history.is_empty() {
        writeln!(out, "\nDone so far:")?;
        for row in &p.action_history {
            past(row, out)?;
        }
    }
    writeln!(out, "\nCandidates:")?;
    for row in &p.candidates {
        writeln!(out, "{}", candidate(row))?;
    }
    writeln!(
        out,
        "\nAnswer with one line, and one of the ids above:\n{ANSWER_FORM}\nThe rationale is one \
         sentence of at most {RATIONALE_MAX} characters that names what it is about."
    )
}

fn patient(p: &ObservationPayload, out: &mut String) -> fmt::Result {
    let who = &p.patient_summary;
    writeln!(
        out,
        "\nPatient: {} years, {}, frailty {}, adherence {}.",
        who.age,
        who.sex,
        short(who.frailty_score, 1),
        short(who.adherence_estimate, 1)
    )?;
    writeln!(out, "Conditions: {}.", list(&p.comorbidities))?;
    writeln!(
        out,
        "Not tolerated before: {}.",
        list(&who.prior_ade_history)
    )?;
    let organs = &p.organ_function;
    write!(out, "Labs:")?;
    for (name, value) in organs.labs.rows() {
        match value {
            Some(value) => write!(out, " {name} {value}")?,
            None => write!(out, " {name} missing")?,
        }
    }
    let ordered = if organs.labs_ordered {
        "; all come with the next step"
    } else {
        ""
    };
    writeln!(out, "{ordered}.")?;
    let v = &organs.vitals;
    writeln!(
        out,
        "Vitals: systolic {}, heart rate {}, respiratory rate {}.",
        v.systolic_mmhg, v.heart_rate, v.respiratory_rate
    )
}

fn medicine(row: &MedicationRow, out: &mut String) -> fmt::Result {
    let indication = row.indication.unwrap_or("no indication");
    write!(out, "- {} | {} | {indication}", row.drug, row.dose_bucket)?;
    if let Some(class) = row.class_name {
        write!(out, " | {class}")?;
    }
    let mut notes: Vec<String> = Vec::new();
    let mut note = |holds: bool, text: &str| {
        if holds {
            notes.push(text.to_owned());
        }
    };
    note(row.requires_taper, "requires taper");
    note(row.tapering, "tapering");
    note(row.stale, "indication under review");
    note(row.status == Some("needed"), "found to be needed");
    note(row.status == Some("not_needed"), "found not to be needed");
    note(row.narrow_window, "narrow window");
    if let Some(level) = row.level {
        let old = row.level_is_old == Some(true);
        let old = if old { " before the last change" } else { "" };
        notes.push(format!("level {}{old}", short(level, 2)));
    }
    if let Some(egfr) = row.unsafe_below_egfr {
        notes.push(format!("unsafe below egfr {egfr}"));
    }
    if row.anticholinergic_burden > 0 {
        notes.push(format!("anticholinergic {}", row.anticholinergic_burden));
    }
    if !row.components.is_empty() {
        notes.push(format!("made of {}", row.components.join(" and ")));
    }
    notes.extend(row.tags.iter().map(|tag| (*tag).to_owned()));
    if !notes.is_empty() {
        write!(out, " | {}", notes.join(", "))?;
    }
    writeln!(out)
}

fn safety(p: &ObservationPayload, out: &mut String) -> fmt::Result {
    let graph = &p.graph_safety_summary;
    let pairs: Vec<String> = (graph.flagged_pairs.iter())
        .map(|pair| format!("{} + {} ({})", pair.first, pair.second, pair.severity))
        .collect();
    writeln!(out, "\nFlagged interactions: {}.", list(&pairs))?;
    writeln!(
        out,
        "Rules about sets that are broken: {}.",
        list(&graph.set_rules)
    )?;
    writeln!(out, "Unsafe for the kidney: {}.", list(&graph.renal_alerts))?;
    let burden = &p.burden_summary;
    writeln!(
        out,
        "Risk as far as known {}; burden {} ({} medicines, anticholinergic {}, cns {}).",
        short(graph.observed_risk, 2),
        short(burden.burden, 2),
        burden.medicines,
        burden.anticholinergic_burden,
        burden.cns_active
    )?;
    let doses: Vec<&str> = p.precision_dosing_flags.iter().map(|f| f.drug).collect();
    writeln!(out, "Doses in question: {}.", list(&doses))?;
    writeln!(out, "Conflicts: {}.", list(&p.unresolved_conflicts))?;
    if let Some(symptom) = p.symptom {
        let suspects: Vec<String> = (p.suspects.iter())
            .map(|s| {
                let held = if s.held { ", paused" } else { "" };
                format!("{} (weight {}{held})", s.drug, s.prior_weight)
            })
            .collect();
        let symptom = short(symptom, 2);
        writeln!(out, "Symptom {symptom}; suspects: {}.", list(&suspects))?;
    }
    if let Some(drug) = p.problem_drug {
        writeln!(out, "To be replaced: {drug}.")?;
    }
    let warnings = &p.warning_summary;
    writeln!(
        out,
        "Uncertainty {}; refused steps {}{}.",
        short(p.abstention.uncertainty, 2),
        warnings.invalid_action_count,
        warnings
            .last_violation
            .map_or(String::new(), |why| format!(", the last for {why}"))
    )
}

fn past(row: &PastRow, out: &mut String) -> fmt::Result {
    let what = row.action_type.unwrap_or("nothing that can be read");
    let about = target(row.drug, row.args);
    let came_to = match (row.refused, row.brought_information) {
        (Some(why), _) => format!("refused ({why})"),
        (None, true) => "brought information".to_owned(),
        (None, false) => "done".to_owned(),
    };
    writeln!(out, "{}. {what} | {about} | {came_to}", row.step)
}

/// Formats a candidate as one line.
fn candidate(row: &CandidateRow) -> String {
    format!(
        "{} | {} | {} | est_risk {} | est_delta {}",
        row.candidate_id,
        row.action_type,
        target(row.drug, row.args),
        short(row.est_risk, 2),
        short(row.est_delta, 2)
    )
}

fn target(drug: Option<&str>, args: ArgRow) -> String {
    let drug = drug.unwrap_or("-");
    match args {
        ArgRow::None => drug.to_owned(),
        ArgRow::BucketDelta(by) => format!("{drug} {by:+}"),
        ArgRow::Target(new) => format!("{drug} -> {new}"),
    }
}

/// Formats a number with the given decimals and without a zero before the point: `.31`, `-.12`,
/// `1.00`.
fn short(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (sign, size) = match text.strip_prefix('-') {
        Some(size) => ("-", size),
        None => ("", text.as_str()),
    };
    let nothing = !size.contains(|c: char| c.is_ascii_digit() && c != '0');
    let size = size.strip_prefix('0').unwrap_or(size);
    if nothing {
        size.to_owned()
    } else {
        format!("{sign}{size}")
    }
}

fn list<T: AsRef<str>>(items: &[T]) -> String {
    if items.is_empty() {
        return "none".to_owned();
    }
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    items.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_numbers_drop_leading_zero() {
        let cases = [
            (0.314, ".31"),
            (-0.12, "-.12"),
            (1.0, "1.00"),
            (-0.001, ".00"),
        ];
        for (value, expected) in cases {
            assert_eq!(short(value, 2), expected);
        }
    }
}
