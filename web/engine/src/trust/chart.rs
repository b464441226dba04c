//! The chart of a run: trust in each specialist, with reward and stakes of each action.

use sentinel_env::ledger::HIGH_STAKES;
use sentinel_env::slot::Slot;
use sentinel_env::trust::TrustEnv;
use sentinel_page_protocol::{Bar, Chart, Line, Strip, Tone};

use crate::run::PublicFrame;
use crate::world::PageWorld as _;

/// Returns the chart of trust, with strips of rewards and stakes.
pub(super) fn trust(frames: &[PublicFrame<'_, TrustEnv>]) -> Chart {
    let line = |slot: Slot| Line {
        name: slot.name().to_owned(),
        style: slot.index() as u8,
        y: frames
            .iter()
            .map(|m| m.observation.ledger[slot].trust() as f32)
            .collect(),
        ..Line::default()
    };
    let (mut rewards, mut stakes) = (Vec::new(), Vec::new());
    for frame in frames {
        let Some(step) = frame.step else { continue };
        let line = TrustEnv::step_line(step);
        rewards.push(Bar {
            value: step.reward as f32,
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
        stakes.push(Bar {
            value: step.stakes as f32,
            tone: if step.stakes >= HIGH_STAKES {
                Tone::Warn
            } else {
                Tone::Neutral
            },
            sign: String::new(),
            text: format!("Action {}: stakes {:.2}", frame.index, step.stakes),
        });
    }
    Chart {
        id: "trust".to_owned(),
        title: "Trust in each specialist".to_owned(),
        subtitle: "Share of correct answers that the record so far suggests; answers at high stakes weigh more"
            .to_owned(),
        x_label: "action".to_owned(),
        y_label: "trust, 0 to 1".to_owned(),
        range: [0.0, 1.0],
        lines: Slot::ALL.map(line).to_vec(),
        strips: vec![
            Strip { label: "reward".to_owned(), bars: rewards },
            Strip { label: "stakes".to_owned(), bars: stakes },
        ],
    }
}
