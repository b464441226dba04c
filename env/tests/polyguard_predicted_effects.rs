//! Tests that the predicted effects of an act match its real ones.
#![allow(clippy::expect_used, reason = "a test stops at the first surprise")]

use sentinel_env::Environment;
use sentinel_env::polyguard::{Action, Episode, Observation, Setup, TaskSpec};

#[test]
fn simulated_regimen_matches_executed_act() {
    let (mut acts, mut changes) = (0, 0);
    for case in TaskSpec::ALL {
        for seed in 0..20 {
            let first = Episode::reset(&Setup::new(case, seed));
            let o = first.observation();
            for candidate in o.candidates.iter() {
                assert_eq!(o.refusal(candidate.act), None, "what is shown is legal");
                assert_eq!(
                    o.predicted_exploit(candidate.act),
                    None,
                    "a first act is not a loop"
                );
                let supposed = o.predict(candidate.act);
                let mut episode = first.clone();
                let step = episode.step(Action::with_grounded_rationale(o, candidate.id));
                assert!(step.is_ok_and(|step| step.info.violation.is_none()));
                let then = episode.observation();
                let doses = |o: &Observation| -> Vec<_> {
                    o.regimen
                        .iter()
                        .map(|r| (r.drug, r.bucket, r.tapering))
                        .collect()
                };
                // Information acts are excluded, because they bring news that cannot be predicted.
                if !candidate.act.kind.is_information() {
                    assert_eq!(doses(&supposed), doses(then), "{case} {seed} {candidate:?}");
                    changes += usize::from(candidate.act.kind.is_change());
                }
                acts += 1;
            }
        }
    }
    assert!(acts > 3000 && changes > 1500, "{acts} {changes}");
}

#[test]
fn actual_exploits_are_predicted() {
    let (mut foreseen, mut steps) = (0, 0);
    for seed in 0..50 {
        let mut episode = Episode::reset(&Setup::new(TaskSpec::ALL[2], seed));
        let mut at = 0;
        while !episode.observation().done() {
            // Every third act is a different one; the others repeat the same act.
            at += 1;
            let o = episode.observation();
            let shown = o.candidates.iter().nth(if at % 3 == 0 { 1 } else { 0 });
            let Some(candidate) = shown.copied() else {
                break;
            };
            let expected = o.predicted_exploit(candidate.act);
            let action = Action::with_grounded_rationale(o, candidate.id);
            let step = episode.step(action).expect("not over");
            assert!(step.info.exploit.is_none() || step.info.exploit == expected);
            foreseen += usize::from(expected.is_some());
            steps += 1;
        }
    }
    assert!(foreseen > 5, "{foreseen} of {steps}");
}
