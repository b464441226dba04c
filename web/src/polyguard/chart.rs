//! What can be seen over the steps, and with the truth what cannot.

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use sentinel_env::polyguard::Episode;

use super::Polyguard;
use super::marks::{line, mark};
use crate::play::{Bar, Drawing, Frames, Line, Shape, Strip};

/// The one chart.
pub(super) const SHAPES: [Shape; 1] = [Shape {
    title: "Risk, uncertainty and burden over the steps",
    height: 196.0,
    bottom: 112.0,
    foot: 176.0,
    margin: 76.0,
}];

fn of(
    style: usize,
    name: &'static str,
    run: &Frames<Polyguard>,
    value: impl Fn(&Episode) -> f64,
) -> Line {
    Line {
        style,
        name,
        values: run
            .frames
            .iter()
            .map(|frame| value(&frame.episode))
            .collect(),
    }
}

/// Lines of what is seen, what the steps earned below, and with the truth the true risk and the control.
pub(super) fn drawing(run: &Frames<Polyguard>, truth: bool) -> Drawing {
    let mut lines = vec![
        of(3, "risk seen", run, |e| e.observation().risk),
        of(0, "unsure", run, |e| e.observation().uncertainty),
        of(2, "burden", run, |e| e.observation().burden),
    ];
    if truth {
        lines.push(of(4, "true risk", run, |e| e.hidden().risk));
        lines.push(of(1, "control", run, |e| e.hidden().stability));
    }
    let mut drawing = Drawing {
        shape: SHAPES[0],
        lines,
        strips: vec![Strip {
            label: "reward".to_owned(),
            top: 134.0,
            bottom: 176.0,
            bars: Vec::new(),
        }],
        titles: Vec::new(),
    };
    for (index, _, turn) in run.steps() {
        let mark = mark(turn, truth);
        drawing.strips[0].bars.push(Bar {
            action: index,
            value: turn.step.total,
            class: format!("reward {}", mark.class),
            sign: Some((mark.sign.to_owned(), mark.class)),
        });
        drawing.titles.push(format!(
            "Action {index}: {} — {}, reward {:.3}",
            line(turn),
            mark.word,
            turn.step.total
        ));
    }
    drawing
}

/// What the chart says of a moment.
pub(super) fn spoken(episode: &Episode) -> String {
    let o = episode.observation();
    format!(
        "risk seen {:.2}, uncertainty {:.2}, burden {:.2}",
        o.risk, o.uncertainty, o.burden
    )
}
