//! What each of the thirteen components says of a step: its number, and the reason for it. The reasons are read off
//! the step and the observation that it answered, by the rules that the environment grades by (spec polyguard §8).

use sentinel_env::polyguard::{Action, Component, Kind, Observation, Violation};

use super::turn::Turn;
use super::words;

/// How far from .5 a gain or a loss begins.
const CHANGED: f64 = 0.004;

/// Whether something speaks for a step or against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Good,
    Bad,
    Neither,
}

/// What a component says of a step.
pub(super) struct Judged {
    pub(super) component: Component,
    pub(super) value: f64,
    pub(super) verdict: Verdict,
    pub(super) reason: String,
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

/// All components, in order. `after` is what can be seen then.
pub(super) fn judge(turn: &Turn, after: &Observation) -> Vec<Judged> {
    let all = Component::ALL.iter();
    let one = |component: &Component| {
        let value = turn.step.reward.component(*component);
        let (verdict, reason) = reason(turn, after, *component, value);
        Judged {
            component: *component,
            value,
            verdict,
            reason,
        }
    };
    all.map(one).collect()
}

fn reason(turn: &Turn, after: &Observation, which: Component, value: f64) -> (Verdict, String) {
    let step = &turn.step;
    match which {
        Component::FormatCompliance => match value {
            v if v > 0.9 => neither("the answer had the asked form"),
            v if v > 0.1 => bad("the answer had to be repaired"),
            _ => bad("the answer named nothing that is shown"),
        },
        Component::CandidateAlignment if turn.done().is_some() => {
            neither("the candidate is shown, and nothing else was stated of it")
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
        Component::DiseaseStability => control(turn, value),
        Component::DosingQuality => dosing(after, value),
        Component::AbstentionQuality => asking(turn, value),
        Component::Efficiency => neither("each step costs a little"),
        Component::ProcessFidelity => process(turn, value),
        Component::ExplanationGrounding => match value {
            v if v > 0.99 => neither("the rationale speaks of what stands on the chart"),
            v if v > 0.01 => {
                bad("the rationale speaks of other things too, or does not name the medicine")
            }
            _ => bad("there is no rationale that speaks of the chart"),
        },
        Component::AntiCheat => step.exploit.map_or_else(
            || neither("no rule of the anti-cheat was hit"),
            |why| (Verdict::Bad, format!("cheating: {}", words::exploit(why))),
        ),
        Component::UncertaintyCalibration => calibration(turn, value),
    }
}

fn refused(why: Option<Violation>) -> String {
    why.map_or_else(
        || "the anti-cheat stopped it".to_owned(),
        |why| format!("refused: {}", words::violation(why)),
    )
}

fn kind(turn: &Turn) -> Option<Kind> {
    turn.done().map(|act| act.kind)
}

/// What a gain, a loss or neither means.
fn moved(value: f64, less: &str, more: &str, same: &str) -> (Verdict, String) {
    if value > 0.5 + CHANGED {
        good(less)
    } else if value < 0.5 - CHANGED {
        bad(more)
    } else {
        neither(same)
    }
}

fn safety(turn: &Turn, value: f64) -> (Verdict, String) {
    if kind(turn) == Some(Kind::KeepRegimen) && turn.before.has_serious_flag() {
        return bad("a serious pair is flagged, and nothing was done about it");
    }
    moved(
        value,
        "the true risk fell below its lowest so far",
        "the true risk rose",
        "the true risk did not fall below its lowest so far",
    )
}

fn control(turn: &Turn, value: f64) -> (Verdict, String) {
    let [was, now] = turn.step.stability;
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

/// Whether a medicine's dose is judged.
fn has_delicate(o: &Observation) -> bool {
    let narrow = |id| o.formulary().get(id).narrow;
    let mut taken = o.regimen.iter().filter(|row| row.is_active());
    taken.any(|row| row.questioned || row.drug.known().is_some_and(narrow))
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

fn asking(turn: &Turn, value: f64) -> (Verdict, String) {
    let unsure = turn.before.uncertainty >= 0.6;
    match kind(turn) {
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
        Some(Kind::KeepRegimen) if unsure => bad("kept although too much is unknown"),
        Some(Kind::KeepRegimen) => neither("kept"),
        Some(_) if unsure => bad("changed something although too much is unknown"),
        Some(_) => good("enough is known to change something"),
    }
}

fn process(turn: &Turn, value: f64) -> (Verdict, String) {
    let o = &turn.before;
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
        bad("changed something while nobody knew what the product is made of")
    } else {
        bad("the medicine hangs on the eGFR, and that is missing")
    }
}

fn calibration(turn: &Turn, value: f64) -> (Verdict, String) {
    let said = match turn.step.action {
        Action::Choose(choice) => choice.confidence.map(|c| c.value()),
        Action::Invalid(_) | Action::Exploit => None,
    };
    let fits = 1.0 - turn.before.uncertainty;
    let said = said.map_or(
        "no confidence was stated, which counts as .5".to_owned(),
        |said| format!("confidence {said:.2} was stated"),
    );
    let verdict = if value < 0.75 {
        Verdict::Bad
    } else {
        Verdict::Neither
    };
    (
        verdict,
        format!("{said}; {fits:.2} fits the shown uncertainty"),
    )
}

#[cfg(test)]
mod tests {
    use super::super::Polyguard;
    use super::*;
    use crate::play::play;
    use crate::state::{Source, View};
    use crate::world::Files;
    use sentinel_env::Environment;
    use sentinel_env::PrivilegedState;
    use sentinel_env::polyguard::TaskSpec;
    use sentinel_policy::polyguard::PolicyName;

    /// Reasons are not invented: each holds of the hidden state that the page may look up here.
    #[test]
    fn what_is_said_of_a_step_is_so() {
        let mut seen = std::collections::BTreeMap::<String, usize>::new();
        for case in TaskSpec::ALL {
            for policy in [
                PolicyName::Random,
                PolicyName::RulesOnly,
                PolicyName::NoChange,
            ] {
                let view = View::<Polyguard> {
                    task: case,
                    seed: 4,
                    ..View::default()
                };
                let run = play(&view, &Source::Policy(policy), None, Files::default());
                for (index, frame, turn) in run.steps() {
                    let best = run.frames[..index].iter().map(|f| f.episode.hidden().risk);
                    let best = best.fold(1.0, f64::min);
                    let now = frame.episode.hidden().risk;
                    for judged in judge(turn, frame.episode.observation()) {
                        let at = format!("{case} {policy:?} {index}: {}", judged.reason);
                        *seen.entry(judged.reason.clone()).or_default() += 1;
                        match judged.reason.as_str() {
                            "the true risk fell below its lowest so far" => {
                                assert!(now < best, "{at}");
                            }
                            "the true risk rose" => assert!(now > turn.step.risk[0], "{at}"),
                            "something was found out" => assert!(turn.step.gained, "{at}"),
                            "the medicine hangs on the eGFR, and that is missing" => {
                                assert!(turn.before.egfr().is_none(), "{at}");
                            }
                            _ => {}
                        }
                        let extreme =
                            judged.value < 0.3 && judged.component != Component::Efficiency;
                        assert!(
                            !extreme || judged.verdict != Verdict::Good,
                            "{at} {}",
                            judged.value
                        );
                        assert!(
                            judged.value < 0.999 || judged.verdict != Verdict::Bad,
                            "{at}"
                        );
                    }
                }
            }
        }
        for reason in [
            "the true risk rose",
            "something was found out",
            "nothing was found out",
        ] {
            assert!(
                seen.contains_key(reason),
                "{reason} was never met: {seen:?}"
            );
        }
    }
}
