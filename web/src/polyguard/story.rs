//! The step that led to the moment, and why it was good or bad: what its components say, the weightiest first.

use sentinel_env::Environment;
use std::fmt::Write;

use sentinel_env::polyguard::{Observation, REFUSALS_MAX};

use super::judge::{Judged, Verdict, judge};
use super::turn::Turn;
use super::{Polyguard, marks, words};
use crate::play::Frame;
use crate::text::three;
use sentinel_policy::insertion_sort::sort;

/// How many reasons are told.
const TOLD: usize = 6;

/// Words and numbers of ours only, so nothing needs escaping.
pub(super) fn story(frame: &Frame<Polyguard>, truth: bool) -> String {
    let o = frame.episode.observation();
    match &frame.step {
        None => start(o),
        Some(turn) => told(turn, o, truth),
    }
}

/// What a person has to know before the first step.
fn start(o: &Observation) -> String {
    format!(
        "<p class=\"happened\">Choose a candidate. After each step its reward is explained here; as soon as all is put right, the verifier ends the episode. There are {} steps.</p>",
        o.budget
    )
}

fn told(turn: &Turn, after: &Observation, truth: bool) -> String {
    let mark = marks::mark(turn, truth);
    let mut out = format!(
        "<p class=\"happened\"><strong>{}</strong>: <span class=\"{}\">{} {}</span>.</p>\
        <h4>Why it earned {}</h4><ul class=\"why\">",
        marks::line(turn),
        mark.class,
        mark.sign,
        mark.word,
        three(turn.step.total)
    );
    let all = judge(turn, after);
    let weighty = weightiest(&all);
    for judged in &weighty {
        let (class, sign) = match judged.verdict {
            Verdict::Good => ("good", "+"),
            _ => ("bad", "−"),
        };
        // A `String` takes all that is written to it, here and below.
        let _ = write!(
            out,
            "<li class=\"{class}\"><span class=\"sign\">{sign}</span><span>{}</span><span class=\"num quiet\">{} {}</span></li>",
            judged.reason,
            words::component(judged.component).0,
            three(judged.value)
        );
    }
    if weighty.is_empty() {
        out += "<li>Nothing speaks for it or against it.</li>";
    }
    out += "</ul>";
    if turn.step.violation.is_some() && !after.done() {
        let _ = write!(
            out,
            "<p class=\"quiet\">Refused {} of {REFUSALS_MAX} times: the last of them ends the episode.</p>",
            after.invalid_count
        );
    }
    out
}

/// What speaks for a step or against it, by how much of the reward is at stake.
fn weightiest(all: &[Judged]) -> Vec<&Judged> {
    let stake = |judged: &Judged| judged.component.weight() * (judged.value - 0.5).abs();
    let mut told: Vec<&Judged> = all
        .iter()
        .filter(|j| j.verdict != Verdict::Neither)
        .collect();
    sort(&mut told, |a, b| stake(a) > stake(b));
    told.truncate(TOLD);
    told
}
