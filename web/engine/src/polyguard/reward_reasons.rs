//! Reasons for the value of each reward component.
//!
//! They are derived from the step and the observations around it, by the rules that the environment
//! grades by (spec polyguard §8), and depend on hidden state.

use sentinel_env::polyguard::{
    Act, ActKind, Action, Component, Observation, REVIEW_UNCERTAINTY, Step, Violation,
};

use super::display_text;

/// Distance from .5 at which a component counts as a gain or a loss.
const CHANGED: f64 = 0.004;

/// Direction in which a component speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Speaks for the step.
    Good,
    /// Speaks against the step.
    Bad,
    /// Speaks neither for nor against the step.
    Neither,
}

/// A reward component with the reason for its value.
pub(super) struct ComponentReason {
    /// Component of the step's reward.
    pub(super) component: Component,
    /// Value of the component, `0..=1`.
    pub(super) value: f64,
    /// The direction in which it speaks.
    pub(super) verdict: Verdict,
    /// The reason, as a sentence without a full stop.
    pub(super) reason: String,
}

impl ComponentReason {
    /// Returns how much of the reward is gained or lost compared with a value of .5.
    pub(super) fn stake(&self) -> f64 {
        self.component.weight() * (self.value - 0.5).abs()
    }
}

fn good(reason: &str) -> (Verdict, String) {
    (Verdict::Good, reason.to_owned())
}

fn bad(reason: &str) -> (Verdict, String) {
    (Verdict::Bad, reason.to_owned())
}

fn neither(reason: &str) -> (Verdict, String) {
    (Verdict::Neither, reason.to_owned())
}

/// A step with the observations around it.
struct Turn<'a> {
    step: &'a Step,
    before: &'a Observation,
    after: &'a Observation,
}

impl Turn<'_> {
    /// Returns the act that was carried out; `None` if the answer was refused or cheating.
    fn done(&self) -> Option<Act> {
        let honest = self.step.violation.is_none() && self.step.exploit.is_none();
        self.step.act.filter(|_| honest)
    }

    fn kind(&self) -> Option<ActKind> {
        self.done().map(|act| act.kind)
    }
}

/// Returns the judgments of all components of a step, in order. `before` and `after` are the
/// observations around it.
pub(super) fn reward_reasons(
    step: &Step,
    before: &Observation,
    after: &Observation,
) -> Vec<ComponentReason> {
    let turn = Turn {
        step,
        before,
        after,
    };
    let one = |component: &Component| {
        let value = step.reward.component(*component);
        let (verdict, reason) = reason(&turn, *component, value);
        ComponentReason {
            component: *component,
            value,
            verdict,
            reason,
        }
    };
    Component::ALL.iter().map(one).collect()
}

fn reason(turn: &Turn<'_>, which: Component, value: f64) -> (Verdict, String) {
    let step = turn.step;
    match which {
        Component::FormatCompliance => match value {
            v if v > 0.9 => neither("the answer had the requested form"),
            v if v > 0.1 => bad("the answer had to be repaired"),
            _ => bad("the answer named nothing that is shown"),
        },
        Component::CandidateAlignment if turn.done().is_some() => {
            neither("the candidate is shown, and the answer does not contradict it")
        }
        Component::Legality if turn.done().is_some() => neither("the verifier allows it"),
        Component::CandidateAlignment => bad("it was not carried out"),
        Component::Legality => (Verdict::Bad, refused(step.violation)),
        Component::SafetyDelta => safety(turn, value),
        Component::BurdenImprovement => moved(
            value,
            "the regimen is lighter than it ever was",
            "the regimen became heavier",
            "the regimen is no lighter than it was",
        ),
        Component::DiseaseStability => control(step, value),
        Component::DosingQuality => dosing(turn.after, value),
        Component::AbstentionQuality => asking(turn, value),
        Component::Efficiency => neither("each step costs a little"),
        Component::ProcessFidelity => process(turn, value),
        Component::ExplanationGrounding => match value {
            v if v > 0.99 => neither("the rationale refers to the chart"),
            v if v > 0.01 => {
                bad("the rationale also refers to other things, or does not name the medicine")
            }
            _ => bad("no rationale refers to the chart"),
        },
        Component::AntiCheat => step.exploit.map_or_else(
            || neither("no rule against cheating was broken"),
            |why| {
                (
                    Verdict::Bad,
                    format!("cheating: {}", display_text::exploit(why).1),
                )
            },
        ),
        Component::UncertaintyCalibration => calibration(turn, value),
    }
}

fn refused(why: Option<Violation>) -> String {
    why.map_or_else(
        || "a rule against cheating stopped it".to_owned(),
        |why| format!("refused: {}", display_text::violation(why)),
    )
}

/// Returns the reason for a gain, a loss or neither.
fn moved(value: f64, less: &str, more: &str, same: &str) -> (Verdict, String) {
    if value > 0.5 + CHANGED {
        good(less)
    } else if value < 0.5 - CHANGED {
        bad(more)
    } else {
        neither(same)
    }
}

fn safety(turn: &Turn<'_>, value: f64) -> (Verdict, String) {
    if turn.kind() == Some(ActKind::KeepRegimen) && turn.before.has_serious_flag() {
        return bad("a serious pair is flagged, and nothing was done about it");
    }
    moved(
        value,
        "the true risk fell below its lowest so far",
        "the true risk rose",
        "the true risk did not fall below its lowest so far",
    )
}

fn control(step: &Step, value: f64) -> (Verdict, String) {
    let [was, now] = step.stability;
    if now < was - 0.02 {
        bad("the conditions are less well controlled than before")
    } else if value >= 0.75 {
        good("the conditions are under control")
    } else if value < 0.5 {
        bad("the conditions are poorly controlled")
    } else {
        neither("the conditions are partly controlled")
    }
}

/// Returns `true` if the dose of a taken medicine is graded.
fn has_delicate(o: &Observation) -> bool {
    let narrow = |id| o.formulary().get(id).narrow;
    let mut taken = o.regimen.iter().filter(|row| row.is_active());
    taken.any(|row| row.questioned || row.drug.archetype().is_some_and(narrow))
}

fn dosing(after: &Observation, value: f64) -> (Verdict, String) {
    if !has_delicate(after) {
        neither("no dose is delicate or in question")
    } else if value >= 0.9 {
        good("delicate doses act as they should")
    } else if value < 0.6 {
        bad("a delicate dose acts too much or too little")
    } else {
        neither("delicate doses act nearly as they should")
    }
}

fn asking(turn: &Turn<'_>, value: f64) -> (Verdict, String) {
    let unsure = turn.before.uncertainty >= REVIEW_UNCERTAINTY;
    match turn.kind() {
        None => bad("nothing was carried out"),
        Some(kind) if kind.is_review() => match value {
            v if v > 0.8 => good("handing over was right: too much is unknown"),
            v if v > 0.15 => {
                bad("handing over was not justified: enough is known, or evidence was not tried")
            }
            _ => bad("a review was asked for before"),
        },
        Some(kind) if kind.is_information() && turn.step.gained => good("something was found out"),
        Some(kind) if kind.is_information() => bad("nothing was found out"),
        Some(ActKind::KeepRegimen) if unsure => bad("kept although too much is unknown"),
        Some(ActKind::KeepRegimen) => neither("kept"),
        Some(_) if unsure => bad("changed something although too much is unknown"),
        Some(_) => good("enough is known to change something"),
    }
}

fn process(turn: &Turn<'_>, value: f64) -> (Verdict, String) {
    let o = turn.before;
    let Some(act) = turn.done() else {
        return bad("nothing was carried out");
    };
    if act.kind.is_information() {
        return if value > 0.5 {
            good("a step to find something out found it")
        } else {
            bad("a step to find something out found nothing")
        };
    }
    if !act.kind.is_change() {
        return if value > 0.5 {
            neither("nothing was changed")
        } else {
            bad("nothing was done about a serious pair that is flagged")
        };
    }
    if value > 0.9 {
        return good("what had to be known first was known");
    }
    if value > 0.25 {
        let row = act.drug.and_then(|drug| o.regimen.find(drug));
        return if row.is_some_and(|row| row.is_unrevealed()) {
            bad("whether the medicine is still needed was not found out first")
        } else {
            bad("the dose was moved without a measured level")
        };
    }
    if o.has_unknown_product() {
        bad("changed something before the components of the product were known")
    } else {
        bad("the medicine depends on the eGFR, and that is missing")
    }
}

fn calibration(turn: &Turn<'_>, value: f64) -> (Verdict, String) {
    let stated = match turn.step.action {
        Action::Choose(choice) => choice.confidence.map(|c| c.value()),
        Action::Invalid(_) | Action::Exploit => None,
    };
    let fits = 1.0 - turn.before.uncertainty;
    let stated = stated.map_or_else(
        || "no confidence was stated, which counts as .5".to_owned(),
        |stated| format!("confidence {stated:.2} was stated"),
    );
    let verdict = if value < 0.75 {
        Verdict::Bad
    } else {
        Verdict::Neither
    };
    (
        verdict,
        format!("{stated}; {fits:.2} fits the shown uncertainty"),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use sentinel_env::polyguard::{Episode, Setup, TaskSpec};
    use sentinel_env::rng::Streams;
    use sentinel_env::{Environment as _, PrivilegedState as _};
    use sentinel_policy::polyguard::PolicyName;

    /// Reasons are not invented: each holds of the hidden state.
    #[test]
    fn reasons_hold_of_the_hidden_state() {
        let mut seen = BTreeSet::new();
        for case in TaskSpec::ALL {
            for policy in [
                PolicyName::Random,
                PolicyName::RulesOnly,
                PolicyName::KeepRegimen,
            ] {
                let mut episode = Episode::reset(&Setup::new(case, 4));
                let mut player = policy.player(4, Streams::Independent);
                let mut best = episode.hidden().risk;
                while let Some(action) = player.act(&episode) {
                    let before = episode.clone();
                    let step = episode.step(action).expect("not over").info;
                    let (was, now) = (before.hidden().risk, episode.hidden().risk);
                    let all = reward_reasons(&step, before.observation(), episode.observation());
                    for judged in all {
                        let at = format!("{case} {policy:?}: {}", judged.reason);
                        match judged.reason.as_str() {
                            "the true risk fell below its lowest so far" => {
                                assert!(now < best, "{at}");
                            }
                            "the true risk rose" => assert!(now > was, "{at}"),
                            "something was found out" => assert!(step.gained, "{at}"),
                            "the medicine depends on the eGFR, and that is missing" => {
                                assert!(before.observation().egfr().is_none(), "{at}");
                            }
                            _ => {}
                        }
                        let low = judged.value < 0.3 && judged.component != Component::Efficiency;
                        assert!(!low || judged.verdict != Verdict::Good, "{at}");
                        let full = judged.value >= 0.999;
                        assert!(!full || judged.verdict != Verdict::Bad, "{at}");
                        seen.insert(judged.reason);
                    }
                    best = best.min(now);
                }
            }
        }
        for reason in [
            "the true risk rose",
            "something was found out",
            "nothing was found out",
        ] {
            assert!(seen.contains(reason), "{reason} never occurred: {seen:?}");
        }
    }
}
