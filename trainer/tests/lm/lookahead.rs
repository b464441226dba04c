//! Runs of GRPO with the credit of look-ahead.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::runs::{curve, logged_completions, succeeds};

/// Trains with two optimizer steps on three states of trust, which has twelve legal actions. Returns the
/// logged completions of the last step, each group apart, and the metrics of both steps.
fn train(options: &str) -> (Vec<Vec<Value>>, Vec<BTreeMap<String, Value>>) {
    let folder = tempfile::tempdir().unwrap();
    let model = crate::common::lm::model_naming_actions(folder.path());
    let out = folder.path().join("out");
    succeeds(&format!(
        "lm grpo --model {model} --full --world trust --task task1 --episodes 2 --episodes-per-update 2 \
         --credit lookahead --continuation-policy heuristic --lookahead-rollouts 2 \
         --lookahead-exploration 0.5 --groups-per-update 3 --max-completion-length 96 \
         --learning-rate 1e-3 --num-iterations 2 {options} --output-dir {}",
        out.display()
    ));
    let rows = logged_completions(&out, 2);
    let groups = rows.chunk_by(|a, b| a["group"] == b["group"]);
    (groups.map(<[Value]>::to_vec).collect(), curve(&out))
}

/// Returns the sum of the advantages of a group, in which some action has a gain.
fn sum_of_advantages(group: &[Value]) -> f64 {
    // A completion that is not an action has no gain.
    let uneven = (group.iter()).any(|row| row["gain"].as_f64().is_some_and(|gain| gain != 0.0));
    assert!(uneven, "no action was tried");
    let advantages = group.iter().map(|row| row["advantage"].as_f64().unwrap());
    advantages.sum()
}

/// Checks that a group holds all legal actions, and that their advantages move probability to actions
/// with gains: every legal action together gains what other texts lose.
#[test]
fn lookahead_credit_compares_all_legal_actions() {
    let (groups, steps) = train("");
    let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
    assert_eq!(sizes, [12, 12, 12]);
    for group in &groups {
        let sum = sum_of_advantages(group);
        assert!((-1e-6..1.0).contains(&sum), "{sum}");
    }
    let losses: Vec<f64> = steps.iter().map(|s| s["loss"].as_f64().unwrap()).collect();
    assert!(losses.len() == 2 && losses[1] < losses[0], "{losses:?}");
    let gain = steps[0]["lookahead/gain"].as_f64().unwrap();
    assert!(gain.is_finite() && steps[0]["lookahead/standard_error"].as_f64().unwrap() > 0.0);
}

/// Checks that with more legal actions than the option allows the candidates of the world are compared,
/// and that probability moves among those and the sampled completion only.
#[test]
fn lookahead_credit_compares_some_of_many_actions() {
    let (groups, _) = train("--lookahead-actions 5");
    assert_eq!(groups.len(), 3);
    for group in &groups {
        let sum = sum_of_advantages(group);
        assert!(sum.abs() < 1e-9, "{sum}");
    }
}
