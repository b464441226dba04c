//! The question of the PolyGuard world: which of the suspected medicines causes the symptom?

use sentinel_env::polyguard::{ActKind, Medication, Observation, PolyguardEnv};
use sentinel_env::{Environment as _, PrivilegedState as _};
use sentinel_page_protocol::{Answer, BoardSign, SpotInfo, Suspect, Tone};
use sentinel_policy::polyguard::CulpritBelief;

use super::names;
use crate::format::{capitalized, counted};
use crate::run::{Frame, PublicFrame};

/// Fills in the words of the question.
pub(super) fn complete(info: &mut SpotInfo) {
    let text = str::to_owned;
    info.answer = text("the cause");
    info.ends = [text("no symptom"), text("strong symptom")];
    info.signs = [String::new(), String::new(), text("symptom while paused")];
    info.source =
        text("The probability that follows from the readings, which the network is given.");
}

/// Returns the suspects of the symptom, in the order of the regimen at the start.
fn rows(first: &Observation) -> impl Iterator<Item = &Medication> {
    first.regimen.iter().filter(|row| row.prior > 0)
}

/// Returns the suspected medicines; none in a case without a symptom.
pub(super) fn suspects(frame: &PublicFrame<'_, PolyguardEnv>) -> Vec<Suspect> {
    let Some((first, _)) = frame.assessments().next() else {
        return Vec::new();
    };
    let o = frame.observation;
    let suspect = |row: &Medication| Suspect {
        title: capitalized(&names::drug(o.formulary(), row.drug)),
        record: match o.regimen.find(row.drug) {
            Some(row) if row.is_active() => "taken",
            Some(_) => "paused",
            None => "stopped",
        }
        .to_owned(),
    };
    rows(first).map(suspect).collect()
}

/// Returns the reading of the symptom after the last action, for the suspects that were not taken.
pub(super) fn board_sign(frame: &PublicFrame<'_, PolyguardEnv>) -> Option<BoardSign> {
    frame.step.filter(|step| step.violation.is_none())?;
    let (first, _) = frame.assessments().next()?;
    let taken = frame.observation.taken_archetypes();
    let absent = (0..).zip(rows(first)).filter(|(_, row)| {
        let bits = first.known_archetypes(row.drug);
        bits & taken == 0
    });
    let suspects = absent.fold(0, |bits, (index, _): (u8, _)| bits | 1 << index);
    let height = frame.observation.symptom? as f32;
    (suspects != 0).then_some(BoardSign {
        suspects,
        height,
        tone: Tone::Neutral,
        is_checked: false,
    })
}

/// Returns the mean symptom with and without a medicine.
pub(super) fn public_record(frame: &PublicFrame<'_, PolyguardEnv>, suspect: u8) -> String {
    let Some((first, _)) = frame.assessments().next() else {
        return String::new();
    };
    let Some(row) = rows(first).nth(usize::from(suspect)) else {
        return String::new();
    };
    let (name, bits) = (
        names::drug(first.formulary(), row.drug),
        first.known_archetypes(row.drug),
    );
    // With the medicine first, then without it: number of readings, sum of readings.
    let mut readings = [(0, 0.0); 2];
    let after = frame.assessments().skip(1).map(|(o, _)| o);
    for (o, step) in after.zip(frame.history()) {
        if let (Some(read), None) = (o.symptom, step.violation) {
            let (count, sum) = &mut readings[usize::from(o.taken_archetypes() & bits == 0)];
            *count += 1;
            *sum += read;
        }
    }
    let mean = |(count, sum): (usize, f64)| match count {
        0 => "never read".to_owned(),
        _ => format!(
            "{:.2} on average ({})",
            sum / count as f64,
            counted(count, "reading", "readings")
        ),
    };
    let [with, without] = readings.map(mean);
    format!("The symptom was {without} without {name}, and {with} with it.")
}

/// Returns the probability of each suspect given the readings so far.
pub(super) fn suspicion(frame: &PublicFrame<'_, PolyguardEnv>) -> Vec<f32> {
    let mut belief = CulpritBelief::default();
    for (observation, _) in frame.assessments() {
        belief.observe(observation);
    }
    belief.probabilities().map(|p| p as f32).collect()
}

/// Returns which medicine causes the symptom, and what the player did with it.
pub(super) fn answer(frames: &[Frame<PolyguardEnv>]) -> Option<Answer> {
    let (first, last) = (frames.first()?, frames.last()?);
    let o = first.episode.observation();
    let culprit = first.episode.hidden().culprit?;
    let is_culprit = |row: &&Medication| row.drug.archetype() == Some(culprit);
    let index = rows(o).position(|row| is_culprit(&row))?;
    let name = names::archetype(o.formulary(), culprit);
    let end = last.episode.observation();
    let is_left = end.regimen.iter().any(|row| is_culprit(&row));
    let pauses = |frame: &Frame<PolyguardEnv>| {
        let act = frame.step().and_then(|step| step.act);
        act.is_some_and(|act| {
            act.kind == ActKind::HoldDose
                && act.drug.and_then(|drug| drug.archetype()) == Some(culprit)
        })
    };
    let text = match (frames.iter().any(pauses), is_left) {
        (true, false) => {
            format!("The symptom fell while {name} was paused. It was stopped.")
        }
        (true, true) => {
            format!("The symptom fell while {name} was paused. It was not stopped.")
        }
        (false, false) => capitalized(&format!("{name} was stopped without being paused first.")),
        (false, true) => capitalized(&format!("{name} was never paused.")),
    };
    let truth = |row: &Medication| match is_culprit(&row) {
        true => "causes the symptom",
        false => "harmless here",
    };
    Some(Answer {
        suspect: u8::try_from(index).unwrap_or_default(),
        truths: rows(o).map(|row| truth(row).to_owned()).collect(),
        text,
        ..Answer::default()
    })
}
