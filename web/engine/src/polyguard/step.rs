//! The public part of a step, with its result in words.

use sentinel_env::polyguard::{
    Act, ActArg, ActKind, Action, Drug, EndReason, Exploit, Lab, Medication, Observation, PastStep,
    Step, Violation, each_archetype,
};
use sentinel_page_protocol::{StepLine, Tone};

use super::describe::{describe_action, statement};
use super::{display_text, names};
use crate::format::capitalized;

/// Smallest change of the visible risk that is shown as a change.
const CHANGED: f64 = 0.005;

/// The public part of a step. Apart from the answer, the verdict on cheating and the reward, which
/// are public, everything follows from the observations before and after the step.
#[derive(Clone, Debug)]
pub struct PublicStep {
    /// The answer of the agent.
    pub action: Action,
    /// The answer in words, as an order.
    pub label: String,
    /// The answer in words, as a statement.
    pub statement: String,
    /// The act that the answer stands for, if it is shown.
    pub act: Option<Act>,
    /// The reason why the step was refused, if it was.
    pub violation: Option<Violation>,
    /// The exploit that the step was judged to be; `None` if it was honest.
    pub exploit: Option<Exploit>,
    /// The reason why the episode ended; `None` if it continues.
    pub end: Option<EndReason>,
    /// `true` if the step brought information.
    pub gained: bool,
    /// Visible risk before and after the step.
    pub risk: [f64; 2],
    /// Visible burden before and after the step.
    pub burden: [f64; 2],
    /// Sentences, without a full stop, about everything that became visible.
    pub findings: Vec<String>,
    /// Reward of the step.
    pub reward: f64,
}

impl PublicStep {
    /// Extracts the public part of a step. The true risk, burden and control, the parts of the
    /// reward, the number of resolved issues and the progress flag of `info` are left out.
    pub(super) fn new(before: &Observation, info: &Step, after: &Observation) -> Self {
        let last = after.history.last();
        Self {
            action: info.action,
            label: describe_action(before, info.action),
            statement: statement(before, info.action),
            act: last.and_then(|last| last.act),
            violation: after.last_violation,
            // The reply names it (spec polyguard §9.4).
            exploit: info.exploit,
            end: after.end,
            gained: last.is_some_and(|last: &PastStep| last.gained),
            risk: [before.risk, after.risk],
            burden: [before.burden, after.burden],
            findings: findings(before, after),
            reward: info.total,
        }
    }

    /// Returns `true` if the step was about a medicine.
    pub(super) fn is_about(&self, drug: Drug) -> bool {
        self.act
            .is_some_and(|act| act.drug == Some(drug) || act.arg == ActArg::Target(drug))
    }

    /// Returns the kind of the act; `None` if the answer stands for none.
    pub(super) fn kind(&self) -> Option<ActKind> {
        self.act.map(|act| act.kind)
    }
}

/// Returns sentences about everything that became visible between two observations.
fn findings(before: &Observation, after: &Observation) -> Vec<String> {
    let mut found = Vec::new();
    let formulary = after.formulary();
    let name = |id| names::archetype(formulary, id);
    for lab in Lab::ALL {
        if let (None, Some(value)) = (before.labs.get(lab), after.labs.get(lab)) {
            let value = display_text::lab_value(lab, value);
            found.push(format!("{} is {value}", display_text::lab(lab).0));
        }
    }
    if after.labs_ordered && !before.labs_ordered {
        found.push("all laboratory values come with the next step".to_owned());
    }
    if let (None, Some([a, b])) = (before.components, after.components) {
        found.push(format!(
            "the new product is {}",
            names::both(formulary, a, b)
        ));
    }
    for row in after.regimen.iter() {
        if let Some(old) = before.regimen.find(row.drug) {
            found.extend(found_of(after, old, row));
        }
    }
    let newly = |pair: u64| before.flagged & pair == 0;
    for (pair, severity) in after.flagged_pairs().filter(|(pair, _)| newly(pair.bit())) {
        let pair = formulary.pair(pair);
        let both = names::both(formulary, pair.first, pair.second);
        found.push(format!("{both} is flagged as {}", severity.name()));
    }
    if before.conflict && !after.conflict {
        found.push("the specialists agree now".to_owned());
    }
    let reactions = after.ade_history & !before.ade_history;
    found.extend(
        each_archetype(reactions).map(|id| format!("the patient does not tolerate {}", name(id))),
    );
    if let (Some(was), Some(now)) = (before.symptom, after.symptom) {
        let verb = match now - was {
            less if less < -CHANGED => "falls",
            more if more > CHANGED => "rises",
            _ => "stays",
        };
        found.push(match verb {
            "stays" => format!("the symptom stays at {now:.2}"),
            _ => format!("the symptom {verb} from {was:.2} to {now:.2}"),
        });
    }
    found
}

/// Returns sentences about everything that became visible about a medicine.
fn found_of(o: &Observation, old: &Medication, row: &Medication) -> Vec<String> {
    let name = names::in_sentence(o.formulary(), row.drug);
    let mut found = Vec::new();
    if let (None, Some(needed)) = (old.status, row.status) {
        let still = if needed { "still" } else { "no longer" };
        found.push(format!("{name} is {still} needed"));
    }
    if let Some(level) = row.level {
        let measured = old.level != row.level || old.level_is_old && !row.level_is_old;
        if measured {
            let place = level_in_words(o, row, level);
            found.push(format!("the level of {name} is {level:.2}, {place}"));
        }
    }
    found
}

/// Returns the position of a level relative to its window, in words.
pub(super) fn level_in_words(o: &Observation, row: &Medication, level: f64) -> String {
    let (low, high) = row.window(o.formulary());
    let place = if level < low {
        "below"
    } else if level > high {
        "above"
    } else {
        "within"
    };
    format!("{place} its window ({low:.2} to {high:.2})")
}

/// Returns one sentence about a step and its visible result.
pub(super) fn headline(step: &PublicStep) -> String {
    if let Some(why) = step.exploit {
        let what = capitalized(display_text::exploit(why).1);
        let end = match step.end {
            Some(_) => "; the episode ends",
            None => "",
        };
        return format!("{what} counts as cheating{end}.");
    }
    format!("{}: {}.", step.statement, result(step))
}

fn result(step: &PublicStep) -> String {
    if let Some(why) = step.violation {
        return format!("refused, because {}", display_text::violation(why));
    }
    let mut parts = Vec::new();
    let [was, now] = step.risk;
    if now < was - CHANGED {
        parts.push(format!("the visible risk falls from {was:.2} to {now:.2}"));
    } else if now > was + CHANGED {
        parts.push(format!("the visible risk rises from {was:.2} to {now:.2}"));
    }
    parts.extend(step.findings.iter().cloned());
    if parts.is_empty() {
        parts.push(match step.kind() {
            Some(kind) if kind.is_information() && !step.gained => "nothing is found".to_owned(),
            _ => format!("the visible risk stays at {now:.2}"),
        });
    }
    parts.join("; ")
}

/// Returns the line of a step in the list of actions.
pub(super) fn line(step: &PublicStep) -> StepLine {
    let (sign, result, tone, notable) = mark(step);
    StepLine {
        label: step.label.clone(),
        sign: sign.to_owned(),
        result: result.to_owned(),
        tone,
        notable,
        ..StepLine::default()
    }
}

/// Returns sign, words and color of a step's result, and whether a viewer may want to jump there.
fn mark(step: &PublicStep) -> (&'static str, &'static str, Tone, bool) {
    let [was, now] = step.risk;
    if step.exploit.is_some() {
        return ("!", "judged as cheating", Tone::Bad, true);
    }
    match step.end {
        Some(end) if end.is_success() => return ("◆", "the episode ends well", Tone::Good, true),
        Some(end) if !end.is_truncated() => {
            return ("!", "the episode ends badly", Tone::Bad, true);
        }
        _ => {}
    }
    if step.violation.is_some() {
        return ("✗", "refused", Tone::Bad, true);
    }
    match step.kind() {
        // What is found may be a risk that was not visible before: that is not a fault of the step.
        Some(kind) if kind.is_information() && step.gained => {
            ("?", "finds something out", Tone::Good, false)
        }
        Some(kind) if kind.is_information() => ("∅", "finds nothing", Tone::Quiet, true),
        _ if now < was - CHANGED => ("▾", "the visible risk falls", Tone::Good, false),
        _ if now > was + CHANGED => ("▴", "the visible risk rises", Tone::Bad, true),
        Some(ActKind::KeepRegimen) => ("–", "kept", Tone::Quiet, false),
        Some(kind) if kind.is_review() => ("…", "asks for a review", Tone::Neutral, false),
        _ => ("▸", "changed", Tone::Neutral, false),
    }
}
