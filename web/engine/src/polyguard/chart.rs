//! The chart of an episode: visible values over the steps, and hidden values with the truth.

use sentinel_env::PrivilegedState as _;
use sentinel_env::polyguard::{Observation, PolyguardEnv};
use sentinel_page_protocol::{Bar, Chart, Line, StepLine, Strip};

use super::step::line;
use crate::run::{Frame, PublicFrame};

/// Returns the chart of the visible values, with a strip of rewards.
pub(super) fn risk(frames: &[PublicFrame<'_, PolyguardEnv>]) -> Chart {
    let values = |name: &str, style, value: &dyn Fn(&Observation) -> f64| Line {
        name: name.to_owned(),
        style,
        y: frames
            .iter()
            .map(|frame| value(frame.observation) as f32)
            .collect(),
        ..Line::default()
    };
    let mut lines = vec![
        values("visible risk", 3, &|o| o.risk),
        values("uncertainty", 0, &|o| o.uncertainty),
        values("burden", 2, &|o| o.burden),
    ];
    if frames
        .iter()
        .any(|frame| frame.observation.symptom.is_some())
    {
        lines.push(values("symptom", 5, &|o| o.symptom.unwrap_or(f64::NAN)));
    }
    let rewards = frames.iter().filter_map(|frame| {
        let step = frame.step?;
        let line = line(step);
        let reward = step.reward;
        Some(Bar {
            value: reward as f32,
            tone: line.tone,
            text: text(frame.index, &line, reward),
            sign: match frame.missed {
                true => "?".to_owned(),
                false => line.sign,
            },
        })
    });
    Chart {
        id: "risk".to_owned(),
        title: "Risk, uncertainty and burden".to_owned(),
        subtitle: "What is visible after each step; less is better".to_owned(),
        x_label: "step".to_owned(),
        y_label: "0 to 1".to_owned(),
        range: [0.0, 1.0],
        lines,
        strips: vec![Strip {
            label: "reward".to_owned(),
            bars: rewards.collect(),
        }],
    }
}

fn text(index: usize, line: &StepLine, reward: f64) -> String {
    format!(
        "Step {index}: {}, {}, reward {reward:.3}",
        line.label, line.result
    )
}

/// Adds the true risk and the control of the conditions, and what the steps truly did. `lines` are
/// the true lines of the steps.
pub(super) fn with_truth(
    frames: &[Frame<PolyguardEnv>],
    lines: &[StepLine],
    mut charts: Vec<Chart>,
) -> Vec<Chart> {
    let hidden = |name: &str, style, value: &dyn Fn(&PolyguardEnv) -> f64| Line {
        name: name.to_owned(),
        style,
        y: frames
            .iter()
            .map(|frame| value(&frame.episode) as f32)
            .collect(),
        ..Line::default()
    };
    for chart in &mut charts {
        chart.lines.extend([
            hidden("true risk", 4, &|episode| episode.hidden().risk),
            hidden("true control", 1, &|episode| episode.hidden().stability),
        ]);
        let bars = chart.strips.iter_mut().flat_map(|strip| &mut strip.bars);
        for (index, (bar, line)) in (1..).zip(bars.zip(lines)) {
            bar.tone = line.tone;
            bar.text = text(index, line, f64::from(bar.value));
            if bar.sign != "?" {
                bar.sign.clone_from(&line.sign);
            }
        }
    }
    charts
}
