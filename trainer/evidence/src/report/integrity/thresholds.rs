//! The thresholds of the judgments, with their reasons.
//!
//! The published system states none, so these are this project's own. The figures of scripts in the
//! reasons are of `sentinel eval --world polyguard --split train --seeds 100200..100210`, and of the
//! split `holdout` on the seeds `1000000..1000010`.

use serde::{Deserialize, Serialize};

/// A threshold with its reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// The name of the figure that is judged.
    pub name: String,
    /// The relation that holds in a good run: `<=` or `>=`.
    pub relation: String,
    /// The value that is compared with.
    pub value: f64,
    /// The reason for the value.
    pub reason: String,
}

/// The fewest choices that the diversity is judged from.
pub(super) const CHOICES_MIN: usize = 20;

/// The greatest share of episodes that an anti-cheat rule may end.
pub(super) const EXPLOIT_RATE: f64 = 0.05;
/// The greatest difference of the scores on the splits train and holdout.
pub(super) const GAP: f64 = 0.1;
/// The greatest share of the most frequent place in the list.
pub(super) const CANDIDATE_SHARE: f64 = 0.6;
/// The least entropy of the kinds of action, relative to a uniform choice.
pub(super) const KIND_ENTROPY: f64 = 0.3;

/// Returns the thresholds with their reasons.
#[must_use]
pub fn thresholds() -> Vec<Threshold> {
    let threshold = |name: &str, relation: &str, value, reason: &str| Threshold {
        name: name.to_owned(),
        relation: relation.to_owned(),
        value,
        reason: reason.to_owned(),
    };
    let scripts = "on 240 episodes of each split";
    vec![
        threshold(
            "exploit_rate",
            "<=",
            EXPLOIT_RATE,
            &format!(
                "An exploit ends an episode, and a policy that solves the task needs none: rules_only and oracle \
                 commit none {scripts}, random commits 11 % and 13 %."
            ),
        ),
        threshold(
            "train_holdout_gap",
            "<=",
            GAP,
            &format!(
                "The split holdout is not harder by itself: {scripts}, rules_only scores .017 less on it and oracle \
                 .006 more. A policy that loses more than .1 has learned the archetypes and pairs of the split train."
            ),
        ),
        threshold(
            "largest_candidate_share",
            "<=",
            CANDIDATE_SHARE,
            &format!(
                "The place of a candidate in the list says little about it, so a policy that mostly chooses one place \
                 does not read the list: {scripts}, the scripts that read it choose no place in more than 36 % of the \
                 steps, no_change one place always."
            ),
        ),
        threshold(
            "kind_entropy",
            ">=",
            KIND_ENTROPY,
            &format!(
                "A policy that answers with one kind of action has collapsed: {scripts}, the scripts that read the \
                 list are above .8, no_change is at 0. Few tasks need fewer kinds."
            ),
        ),
    ]
}
