//! Runs of GRPO with the credit of look-ahead.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::runs::{curve, logged_completions, succeeds};

/// A task of trust, which has twelve legal actions.
const TRUST: &str =
    "--world trust --task task1 --continuation-policy heuristic --max-completion-length 96";

/// Trains with two optimizer steps on three states of `task`. Returns the logged completions of the last
/// step, each group apart, and the metrics of both steps.
fn train(task: &str, options: &str) -> (Vec<Vec<Value>>, Vec<BTreeMap<String, Value>>) {
    let folder = tempfile::tempdir().unwrap();
    let model = crate::common::lm::model_naming_actions(folder.path());
    let out = folder.path().join("out");
    succeeds(&format!(
        "lm grpo --model {model} --full {task} --episodes 2 --episodes-per-update 2 --credit lookahead \
         --lookahead-rollouts 2 --lookahead-exploration 0.5 --groups-per-update 3 \
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
    let (groups, steps) = train(TRUST, "");
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
    let (groups, _) = train(TRUST, "--lookahead-actions 5");
    assert_eq!(groups.len(), 3);
    for group in &groups {
        let sum = sum_of_advantages(group);
        assert!(sum.abs() < 1e-9, "{sum}");
    }
}

/// Checks that completions of PolyGuard end with the candidate's id where all candidates are compared: the
/// confidence after it is no choice among actions. Where some are, completions are whole.
#[test]
fn lookahead_credit_leaves_out_what_follows_the_action() {
    let task = "--world polyguard --task DDI-easy --continuation-policy rules_only --prompt detailed \
                --max-length 2048 --max-completion-length 256";
    let completions = |options| {
        let (groups, _) = train(task, options);
        let rows = groups.into_iter().flatten();
        let texts = rows.map(|row| row["completion"].as_str().unwrap().to_owned());
        let texts: Vec<String> = texts.collect();
        assert!(!texts.is_empty());
        texts
    };
    for text in completions("") {
        let id = text.rsplit_once(r#""candidate_id":"cand_"#).unwrap().1;
        assert!(id.len() == 2 && id.parse::<u8>().is_ok(), "{text}");
    }
    let some = completions("--lookahead-actions 2");
    let whole = some.iter().filter(|text| text.ends_with("}<|im_end|>"));
    assert!(whole.count() >= 2, "{some:?}");
}
