//! The patient and the chart as text.

use sentinel_env::Environment;
use sentinel_env::polyguard::{Episode, Lab, Medication, Observation, Pair};

use super::layout::{heading, line, number};

/// Writes the patient and the chart at the start of an episode.
pub(super) fn start(out: &mut String, episode: &Episode) {
    let o = episode.observation();
    let patient = &o.patient;
    heading(out, "Patient");
    line(
        out,
        &format!(
            "{}, {} years; observed frailty {:.1}, adherence {:.1}",
            patient.sex.name(),
            patient.age,
            patient.frailty,
            patient.adherence
        ),
    );
    line(
        out,
        &format!(
            "systolic {:.0} mmHg, heart rate {:.0}/min, respiratory rate {:.0}/min",
            patient.systolic_mmhg, patient.heart_rate, patient.respiratory_rate
        ),
    );
    let conditions = patient.comorbidities.iter().map(|c| c.name());
    line(out, &format!("treated for {}", list(conditions)));
    let formulary = o.formulary();
    let reacted = formulary.ids().filter(|id| o.ade_history & id.bit() != 0);
    let reacted = reacted.map(|id| formulary.get(id).name.as_str());
    line(out, &format!("did not tolerate: {}", list(reacted)));
    heading(out, "Chart");
    for shown in lines(o) {
        line(out, &shown);
    }
}

/// Returns the lines of the chart that may change during an episode: laboratory values, medicines,
/// flags and observable risk.
pub(super) fn lines(o: &Observation) -> Vec<String> {
    let labs = Lab::ALL.iter().map(|lab| {
        let value = o.labs.get(*lab).map(|value| format!("{value:.1}"));
        let value = value.unwrap_or_else(|| "missing".to_owned());
        format!("lab {} {value}", lab.name())
    });
    let mut all: Vec<String> = labs.collect();
    all.extend(o.regimen.iter().map(|row| medicine(o, row)));
    all.extend(flags(o));
    let seen = [
        ("risk", o.risk),
        ("burden", o.burden),
        ("uncertainty", o.uncertainty),
    ];
    all.extend(seen.map(|(what, value)| format!("seen {what} {}", number(value))));
    all
}

fn medicine(o: &Observation, row: &Medication) -> String {
    let formulary = o.formulary();
    let mut notes = Vec::new();
    if let Some(id) = row.drug.archetype() {
        let known = formulary.get(id);
        let named = (known.class != known.name).then(|| known.class.clone());
        notes.extend(named);
        notes.extend(known.taper.then(|| "needs a taper".to_owned()));
        notes.extend(known.narrow.then(|| "narrow window".to_owned()));
        notes.extend(known.cns.then(|| "acts on the CNS".to_owned()));
        notes.extend((known.acb > 0).then(|| format!("anticholinergic {}", known.acb)));
        let limit = known.renal_below;
        notes.extend(limit.map(|below| format!("not below eGFR {below:.0}")));
    } else if let Some(parts) = o.components {
        let parts = parts.map(|id| formulary.get(id).name.as_str());
        notes.push(format!("made of {}", parts.join(" and ")));
    }
    notes.extend(row.tapering.then(|| "being tapered".to_owned()));
    notes.extend(row.stale.then(|| "indication under review".to_owned()));
    let found = row
        .status
        .map(|needed| if needed { "needed" } else { "not needed" });
    notes.extend(found.map(|found| format!("found {found}")));
    notes.extend(row.questioned.then(|| "dose in question".to_owned()));
    let age = if row.level_is_old {
        " before the dose changed"
    } else {
        ""
    };
    notes.extend(
        row.level
            .map(|level| format!("level {}{age}", number(level))),
    );
    notes.extend((row.prior > 0).then(|| format!("suspect, weight {}", row.prior)));
    format!(
        "{:<28} {:<6} for {:<16} {}",
        row.drug.name(formulary),
        row.bucket.name(),
        row.indication
            .map_or("nothing shown", |condition| condition.name()),
        notes.join(", ")
    )
}

fn flags(o: &Observation) -> Vec<String> {
    let formulary = o.formulary();
    let mut all: Vec<String> = (o.flagged_pairs())
        .map(|(id, severity)| {
            format!(
                "flag pair {}: {}",
                pair(o, formulary.pair(id)),
                severity.name()
            )
        })
        .collect();
    let broken = o.broken_rules().into_iter().filter(|(_, broken)| *broken);
    all.extend(broken.map(|(rule, _)| format!("flag set {}", rule.name())));
    let alerts = o.regimen.iter().filter_map(|row| {
        let what = match o.renal_alert(row) {
            Some(false) => return None,
            Some(true) => "unsafe for this kidney",
            None => "may be unsafe, eGFR unknown",
        };
        Some(format!("flag renal {}: {what}", row.drug.name(formulary)))
    });
    all.extend(alerts);
    all.extend(o.conflict.then(|| "flag specialists disagree".to_owned()));
    all.extend(o.labs_ordered.then(|| "all labs are ordered".to_owned()));
    let problem = o.problem.map(|drug| drug.name(formulary));
    all.extend(problem.map(|drug| format!("to be replaced: {drug}")));
    all.extend(
        o.symptom
            .map(|symptom| format!("symptom {}", number(symptom))),
    );
    all
}

pub(super) fn pair(o: &Observation, pair: &Pair) -> String {
    let name = |id| o.formulary().get(id).name.as_str();
    format!("{} + {}", name(pair.first), name(pair.second))
}

pub(super) fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        "nothing".to_owned()
    } else {
        names.join(", ")
    }
}
