//! The question of the cluster world: which of the five workers overstates what it has done?

use sentinel_env::PrivilegedState as _;
use sentinel_env::cluster::{Behavior, ClusterEnv};
use sentinel_env::slot::Slot;
use sentinel_page_protocol::{Answer, BoardSign, SpotInfo, Suspect, Tone};

use super::step::PublicStep;
use super::workers::short;
use crate::format::percent;
use crate::run::{Frame, PublicFrame};

/// Fills in the words of the question.
pub(super) fn complete(info: &mut SpotInfo) {
    let text = str::to_owned;
    info.has_adversary = true;
    info.answer = text("the boaster");
    info.ends = [text("claims 0\u{a0}%"), text("claims 100\u{a0}%")];
    info.signs = [text("confirmed"), text("refuted"), String::new()];
    info.source = text("The network’s own estimate, learned in training.");
}

/// Returns the five workers with their records.
pub(super) fn suspects(frame: &PublicFrame<'_, ClusterEnv>) -> Vec<Suspect> {
    let suspect = |slot: Slot| {
        let evidence = &frame.observation.ledger[slot];
        Suspect {
            title: slot.name().to_owned(),
            record: match evidence.calls {
                0 => "no report yet".to_owned(),
                calls => format!("{} of {calls} confirmed", evidence.successes()),
            },
        }
    };
    Slot::ALL.map(suspect).to_vec()
}

/// Returns the report that the last action brought, at the progress that it claims.
pub(super) fn board_sign(frame: &PublicFrame<'_, ClusterEnv>) -> Option<BoardSign> {
    let report = frame.step?.report?;
    Some(BoardSign {
        suspects: 1 << report.worker.index(),
        height: report.progress as f32,
        tone: if report.right { Tone::Good } else { Tone::Bad },
        is_checked: false,
    })
}

/// Returns how many reports of a worker were refuted, and how many of the others.
pub(super) fn public_record(frame: &PublicFrame<'_, ClusterEnv>, suspect: u8) -> String {
    let name = Slot::ALL[usize::from(suspect)];
    // Of the suspect first, then of the others: refuted reports, all reports.
    let mut counts = [[0_usize; 2]; 2];
    let mut claimed = 0.0;
    for report in frame.history().filter_map(|step| step.report) {
        let is_other = report.worker != name;
        let [refuted, all] = &mut counts[usize::from(is_other)];
        *all += 1;
        if !report.right {
            *refuted += 1;
            claimed += if is_other { 0.0 } else { report.progress };
        }
    }
    let claims = match counts[0][0] {
        0 => String::new(),
        refuted => format!(
            ", with claims of {} on average",
            percent(claimed / refuted as f64)
        ),
    };
    let [own, others] = counts.map(|[refuted, all]| match all {
        0 => "none".to_owned(),
        _ => format!("{refuted} of {all} refuted"),
    });
    format!("Reports of {name}: {own}{claims}. Reports of the others: {others}.")
}

/// Returns a sentence about the first refuted report, and about the first attack.
pub(super) fn remark(frame: &PublicFrame<'_, ClusterEnv>) -> String {
    let is_refuted = |step: &PublicStep| step.report.is_some_and(|report| !report.right);
    if frame.is_first(is_refuted) {
        return "A refuted report is no proof: others are wrong at times.".to_owned();
    }
    match frame.is_first(|step| step.attacked) {
        true => "An adversary attacks the records, too.".to_owned(),
        false => String::new(),
    }
}

/// Returns the probability of each worker to overstate, as the player believes.
pub(super) fn suspicion(frame: &PublicFrame<'_, ClusterEnv>) -> Vec<f32> {
    let rows = frame.suspicions.belief.iter().flatten();
    let chance = |row: &Vec<f64>| row.get(Behavior::Overreporter as usize).copied();
    rows.filter_map(chance).map(|p| p as f32).collect()
}

/// Returns which worker overstates, and how many of its reports were false.
pub(super) fn answer(frames: &[Frame<ClusterEnv>]) -> Option<Answer> {
    let assignment = &frames.first()?.episode.hidden().assignment;
    let boasts = |slot: &Slot| assignment[*slot] == Behavior::Overreporter;
    let mut boasters = Slot::ALL.into_iter().filter(boasts);
    // In the short tasks two workers may behave alike.
    let boaster = boasters.next().filter(|_| boasters.next().is_none())?;
    let reports = frames.iter().filter_map(|frame| frame.info()?.report);
    let own: Vec<bool> = reports
        .filter(|report| report.worker == boaster)
        .map(|report| report.honest)
        .collect();
    let false_ones = own.iter().filter(|honest| !**honest).count();
    let text = match own.len() {
        0 => format!("{boaster} never reported. It adds 40 points to every report."),
        1 => format!("{boaster} adds 40 points to every report. It reported once."),
        all => format!(
            "{boaster} adds 40 points to every report: {false_ones} of its {all} reports were false."
        ),
    };
    Some(Answer {
        suspect: boaster.index() as u8,
        truths: Slot::ALL
            .map(|slot| short(assignment[slot]).to_owned())
            .to_vec(),
        text,
        ..Answer::default()
    })
}
