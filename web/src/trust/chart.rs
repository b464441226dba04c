//! Trust over time, with the reward and the stakes of each action below.

use sentinel_env::Environment;
use sentinel_env::ledger::HIGH_STAKES;
use sentinel_env::slot::Slot;

use super::Trust;
use super::marks::mark;
use crate::play::{Bar, Drawing, Frames, Line, Shape, Strip};

/// Trust, rewards and stakes.
pub(super) const SHAPE: Shape = Shape {
    title: "Trust over time",
    height: 292.0,
    bottom: 186.0,
    foot: 272.0,
    margin: 30.0,
};

/// The chart of a run.
pub(super) fn drawing(run: &Frames<Trust>, truth: bool) -> Drawing {
    let line = |slot: Slot| Line {
        style: slot.index(),
        name: slot.name(),
        values: run
            .frames
            .iter()
            .map(|frame| frame.episode.observation().ledger[slot].trust())
            .collect(),
    };
    let mut drawing = Drawing {
        shape: SHAPE,
        lines: Slot::ALL.map(line).to_vec(),
        strips: vec![strip("reward", 206.0, 240.0), strip("stakes", 252.0, 272.0)],
        titles: Vec::new(),
    };
    for (index, frame, step) in run.steps() {
        let mark = mark(step, truth);
        let sign = match frame.missed {
            true => Some("?"),
            false => mark.notable.then_some(mark.sign),
        };
        let high = if step.stakes >= HIGH_STAKES {
            "stake high"
        } else {
            "stake"
        };
        drawing.strips[0].bars.push(Bar {
            action: index,
            value: step.grades.reward,
            class: format!("reward {}", mark.class),
            sign: sign.map(|sign| (sign.to_owned(), mark.class)),
        });
        drawing.strips[1].bars.push(Bar {
            action: index,
            value: step.stakes,
            class: high.to_owned(),
            sign: None,
        });
        drawing.titles.push(format!(
            "Action {index}: {} — {}, reward {:.4}, stakes {:.2}",
            step.action, mark.word, step.grades.reward, step.stakes
        ));
    }
    drawing
}

fn strip(label: &str, top: f64, bottom: f64) -> Strip {
    Strip {
        label: label.to_owned(),
        top,
        bottom,
        bars: Vec::new(),
    }
}
