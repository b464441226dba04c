//! The charts of a run in the cluster world.

use sentinel_env::cluster::{ClusterEnv, MAX_ATTACK_LEVEL, Observation};
use sentinel_env::slot::Slot;
use sentinel_page_protocol::{Bar, Chart, Line, Strip, Tone};

use super::truth::attack_words;
use crate::run::{Frame, PublicFrame};

/// Position of the strip of attacks in the chart of the cluster.
const ATTACKS: usize = 1;

/// Returns health, memory in use and jobs done over the actions, with rewards and attacks.
pub(super) fn cluster(frames: &[PublicFrame<'_, ClusterEnv>]) -> Chart {
    let line = |style, name: &str, value: fn(&Observation) -> f64| Line {
        name: name.to_owned(),
        style,
        y: frames
            .iter()
            .map(|frame| value(frame.observation) as f32)
            .collect(),
        ..Line::default()
    };
    let steps = || frames.iter().filter_map(|m| Some((m, m.step?)));
    let most = steps().fold(0.01_f64, |most, (_, step)| most.max(step.reward));
    let (mut rewards, mut attacks) = (Vec::new(), Vec::new());
    for (frame, step) in steps() {
        let line = step.line();
        rewards.push(Bar {
            value: (step.reward / most) as f32,
            tone: line.tone,
            sign: match (frame.missed, line.notable) {
                (true, _) => "?".to_owned(),
                (_, true) => line.sign,
                _ => String::new(),
            },
            text: format!(
                "Action {}: {}, {}, reward {:.3}",
                frame.index, line.label, line.result, step.reward
            ),
        });
        attacks.push(if step.attacked {
            Bar {
                value: 1.0,
                tone: if step.caught() { Tone::Good } else { Tone::Bad },
                sign: String::new(),
                text: format!("Action {}: the adversary attacks", frame.index),
            }
        } else {
            Bar::default()
        });
    }
    Chart {
        id: "cluster".to_owned(),
        title: "The cluster".to_owned(),
        subtitle: "Health multiplies every reward; memory in use and jobs done are shares"
            .to_owned(),
        x_label: "action".to_owned(),
        y_label: "share, 0 to 1".to_owned(),
        range: [0.0, 1.0],
        lines: vec![
            line(2, "health", |o| o.health),
            line(0, "memory in use", |o| o.utilization),
            line(4, "jobs done", |o| o.jobs.completion_rate()),
        ],
        strips: vec![
            Strip {
                label: format!("reward, up to {most:.3}"),
                bars: rewards,
            },
            Strip {
                label: "attacks".to_owned(),
                bars: attacks,
            },
        ],
    }
}

/// Returns trust in each worker over the actions.
pub(super) fn trust(frames: &[PublicFrame<'_, ClusterEnv>]) -> Chart {
    let line = |slot: Slot| Line {
        name: slot.name().to_owned(),
        style: slot.index() as u8,
        y: frames
            .iter()
            .map(|frame| frame.observation.ledger[slot].trust() as f32)
            .collect(),
        ..Line::default()
    };
    Chart {
        id: "trust".to_owned(),
        title: "Trust in each worker".to_owned(),
        subtitle:
            "Share of right reports that the record so far suggests; reports at high stakes weigh more"
                .to_owned(),
        x_label: "action".to_owned(),
        y_label: "trust, 0 to 1".to_owned(),
        range: [0.0, 1.0],
        lines: Slot::ALL.map(line).to_vec(),
        strips: Vec::new(),
    }
}

/// Adds level, kind and target to the bars of the attacks.
pub(super) fn with_truth(frames: &[Frame<ClusterEnv>], mut charts: Vec<Chart>) -> Vec<Chart> {
    let strip = charts
        .first_mut()
        .and_then(|chart| chart.strips.get_mut(ATTACKS));
    let (Some(strip), Some(steps)) = (strip, frames.get(1..)) else {
        return charts;
    };
    strip.label = "attacks, by level".to_owned();
    for (bar, frame) in strip.bars.iter_mut().zip(steps) {
        if let Some(attack) = frame.info().and_then(|step| step.attack) {
            bar.value = f32::from(attack.level) / f32::from(MAX_ATTACK_LEVEL);
            bar.sign = attack.level.to_string();
            bar.text = format!("{}: {}", bar.text, attack_words(&attack));
        }
    }
    charts
}
