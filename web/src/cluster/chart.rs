//! The charts of the cluster world.

use sentinel_env::Environment;
use sentinel_env::slot::Slot;

use super::Cluster;
use super::marks::mark;
use crate::play::{Bar, Drawing, Frame, Frames, Line, Shape, Strip};

/// The cluster, and the workers.
pub(super) const SHAPES: [Shape; 2] = [
    Shape {
        title: "The cluster over time",
        height: 262.0,
        bottom: 146.0,
        foot: 242.0,
        margin: 52.0,
    },
    Shape {
        title: "Trust in the workers over time",
        height: 146.0,
        bottom: 120.0,
        foot: 120.0,
        margin: 52.0,
    },
];

fn line(
    style: usize,
    name: &'static str,
    run: &Frames<Cluster>,
    value: impl Fn(&Frame<Cluster>) -> f64,
) -> Line {
    Line {
        style,
        name,
        values: run.frames.iter().map(value).collect(),
    }
}

/// Health, memory in use and jobs done, with rewards and attacks below. Level and type of an attack are hidden.
pub(super) fn cluster(run: &Frames<Cluster>, truth: bool) -> Drawing {
    let most = run
        .steps()
        .fold(0.01_f64, |most, (.., step)| most.max(step.grades.reward));
    let strip = |label: String, top, bottom| Strip {
        label,
        top,
        bottom,
        bars: Vec::new(),
    };
    let attacked = run.steps().any(|(.., step)| step.attack.is_some());
    let attacks = match (attacked, truth) {
        (false, _) => "no attacks",
        (true, false) => "attacks",
        (true, true) => "attacks, by level",
    };
    let mut drawing = Drawing {
        shape: SHAPES[0],
        lines: vec![
            line(2, "health", run, |f| f.episode.observation().health),
            line(0, "in use", run, |f| f.episode.observation().utilization),
            line(4, "done", run, |f| {
                f.episode.observation().jobs.completion()
            }),
        ],
        strips: vec![
            strip(format!("reward, up to {most:.3}"), 168.0, 204.0),
            strip(attacks.to_owned(), 222.0, 242.0),
        ],
        titles: Vec::new(),
    };
    for (index, _, step) in run.steps() {
        let mark = mark(step);
        drawing.strips[0].bars.push(Bar {
            action: index,
            value: step.grades.reward / most,
            class: format!("reward {}", mark.class),
            sign: None,
        });
        if let Some(attack) = &step.attack {
            let (value, sign) = if truth {
                let level = f64::from(attack.level) / 5.0;
                (level, Some((attack.level.to_string(), "level")))
            } else {
                (1.0, None)
            };
            let class = if step.caught { "attack met" } else { "attack" };
            drawing.strips[1].bars.push(Bar {
                action: index,
                value,
                class: class.to_owned(),
                sign,
            });
        }
        drawing.titles.push(format!(
            "Action {index}: {} — {}, reward {:.4}",
            super::marks::action(step.action),
            mark.word,
            step.grades.reward
        ));
    }
    drawing
}

/// Trust in each worker.
pub(super) fn trust(run: &Frames<Cluster>) -> Drawing {
    let of = |slot: Slot| {
        line(slot.index(), slot.name(), run, move |frame| {
            frame.episode.observation().ledger[slot].trust()
        })
    };
    Drawing {
        shape: SHAPES[1],
        lines: Slot::ALL.map(of).to_vec(),
        ..Drawing::default()
    }
}
