//! The workers of the cluster world as the agent sees them.

use sentinel_env::cluster::{Behavior, ClusterEnv, JobStatus};
use sentinel_env::slot::{SLOTS, Slot};
use sentinel_page_protocol::{Card, Face, Layout, Meter, Note, Panel, Share, Tone};

use super::WORKERS;
use crate::format::{counted, percent};
use crate::run::PublicFrame;

/// Trust below which a worker that has reported is drawn as distrusted.
const DOUBTED: f64 = 0.4;

/// Returns the panel of the workers.
pub(super) fn workers(frame: &PublicFrame<'_, ClusterEnv>) -> Panel {
    Panel {
        id: WORKERS.to_owned(),
        title: "Workers".to_owned(),
        help: "Five slots with hidden behaviors. A worker runs jobs and reports on them; its record counts each report as right or wrong. Trust is what the record suggests.".to_owned(),
        layout: Layout::Characters,
        cards: Slot::ALL.map(|slot| worker(frame, slot)).to_vec(),
        ..Panel::default()
    }
}

fn worker(frame: &PublicFrame<'_, ClusterEnv>, slot: Slot) -> Card {
    let o = frame.observation;
    let evidence = &o.ledger[slot];
    let trust = evidence.trust();
    let report = frame.step.and_then(|step| step.report);
    let report = report.filter(|report| report.worker == slot);
    let called = frame
        .step
        .is_some_and(|step| step.names.worker == Some(slot));
    let face = match report {
        Some(report) if report.right => Face::Right,
        Some(_) => Face::Wrong,
        None if called => Face::Called,
        None if evidence.calls > 0 && trust < DOUBTED => Face::Doubted,
        None => Face::Idle,
    };
    let jobs = o.jobs.rows().iter();
    let running = jobs.filter(|job| job.status == JobStatus::Running && job.worker == Some(slot));
    let (shares, belief) = believed(frame, slot);
    Card {
        key: slot.name().to_owned(),
        title: slot.name().to_owned(),
        subtitle: match running.count() {
            0 => "runs no job".to_owned(),
            some => format!("runs {}", counted(some, "job", "jobs")),
        },
        slot: Some(slot.index() as u8),
        face,
        active: called,
        meters: vec![Meter {
            label: format!("trust {trust:.2}"),
            help: format!(
                "alpha / (alpha + beta) = {:.2} / {:.2}; each report weighs 1 + 2 × stakes",
                evidence.alpha,
                evidence.alpha + evidence.beta
            ),
            value: trust as f32,
            ..Meter::default()
        }],
        shares,
        notes: std::iter::once(record(frame, slot)).chain(belief).collect(),
        pick: Some(format!("w{}", slot.index())),
        ..Card::default()
    }
}

fn record(frame: &PublicFrame<'_, ClusterEnv>, slot: Slot) -> Note {
    let evidence = &frame.observation.ledger[slot];
    if evidence.calls == 0 {
        return Note {
            text: "no report yet".to_owned(),
            ..Note::default()
        };
    }
    let rate = |rate: Option<f64>| rate.map_or_else(|| "none yet".to_owned(), percent);
    Note {
        text: format!("right {} of {}", evidence.successes(), evidence.calls),
        help: format!(
            "Right reports at low stakes: {}; at stakes of .70 or more: {}. Mean overconfidence {:.3}.",
            rate(evidence.low.value()),
            rate(evidence.high.value()),
            evidence.confidence_gap()
        ),
        tone: Tone::Neutral,
    }
}

/// Returns the name of a behavior, for beliefs and for the truth.
pub(super) const fn short(behavior: Behavior) -> &'static str {
    match behavior {
        Behavior::Reliable => "reliable",
        Behavior::Overreporter => "overstating",
        Behavior::Slow => "slow",
        Behavior::Adversarial => "adversarial",
        Behavior::Degrading => "degrading",
    }
}

/// Returns the player's belief about a slot, as parts of a bar and in words.
fn believed(frame: &PublicFrame<'_, ClusterEnv>, slot: Slot) -> (Vec<Share>, Option<Note>) {
    let rows = frame.policy_output.belief.as_ref();
    let row = rows.and_then(|rows| rows.get(slot.index()));
    let Some(row) = row.filter(|row| row.len() == SLOTS) else {
        return (Vec::new(), None);
    };
    let shares: Vec<Share> = Behavior::ALL
        .into_iter()
        .zip(row)
        .map(|(behavior, p)| Share {
            label: short(behavior).to_owned(),
            value: *p as f32,
            kind: behavior as u8,
        })
        .collect();
    let mut ranked: Vec<&Share> = shares.iter().collect();
    ranked.sort_by(|a, b| b.value.total_cmp(&a.value));
    let (likely, chance) = (&ranked[0].label, f64::from(ranked[0].value));
    let text = match chance {
        sure if sure > 0.995 => format!("believed {likely}"),
        unsure if unsure < 0.25 => "not known yet".to_owned(),
        _ => format!("{likely} {}", percent(chance)),
    };
    let all: Vec<String> = ranked
        .iter()
        .map(|share| format!("{} {}", share.label, percent(f64::from(share.value))))
        .collect();
    let note = Note {
        text,
        help: format!("What the player believes: {}", all.join(", ")),
        tone: Tone::Neutral,
    };
    (shares, Some(note))
}
