//! Fits a bandit online, along its own episodes. Its target is the gated total reward of each step.

use sentinel_env::{Environment, Transition};
use std::ops::Range;

use sentinel_env::polyguard::{Action, Episode};

use super::super::baselines::policy_stream;
use super::super::features::{dot, features};
use super::super::fit_provenance::{Provenance, setups};
use super::{Bandit, ExplorationRule, FittedBandit, SufficientStatistics};

impl Bandit {
    /// Creates a bandit that has not learned anything yet.
    pub(super) fn untrained(rule: ExplorationRule, seed: u64) -> Self {
        let nothing = SufficientStatistics::prior();
        let Some(posterior) = nothing.posterior() else {
            unreachable!("the identity is positive definite");
        };
        Self {
            rule,
            posterior,
            stream: policy_stream(seed),
            values: None,
        }
    }
}

/// Fits a bandit on one episode per seed.
#[must_use]
pub fn fit(rule: ExplorationRule, seeds: Range<u64>) -> FittedBandit {
    let mut bandit = Bandit::untrained(rule, seeds.start);
    let mut statistics = SufficientStatistics::prior();
    let half = (seeds.end - seeds.start) / 2;
    let (mut squares, mut counts) = ([0.0; 2], [0u64; 2]);
    for (played, setup) in setups(seeds.clone()).enumerate() {
        let at = usize::from(played as u64 >= half);
        bandit.stream = policy_stream(setup.seed);
        let mut episode = Episode::reset(&setup);
        while !episode.observation().done() {
            let o = episode.observation();
            let (id, _) = bandit.pick(o);
            let Some(candidate) = o.candidates.get(id).copied() else {
                break;
            };
            let features = features(o, &candidate);
            let Ok(Transition { info: step, .. }) =
                episode.step(Action::with_grounded_rationale(o, id))
            else {
                break;
            };
            let error = step.reward.gated - dot(&bandit.posterior.mean, &features);
            squares[at] += error * error;
            counts[at] += 1;
            statistics.update(&features, step.reward.gated);
            if let Some(posterior) = statistics.posterior() {
                bandit.posterior = posterior;
            }
        }
    }
    let mean = |at: usize| squares[at] / (counts[at].max(1)) as f64;
    FittedBandit {
        provenance: Provenance::from_seeds(&seeds),
        rule,
        target: "gated total of the step".to_owned(),
        steps: counts[0] + counts[1],
        errors: [mean(0), mean(1)],
        statistics,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandit_fit_lowers_error_and_is_deterministic() {
        for rule in [ExplorationRule::LinUcb, ExplorationRule::Thompson] {
            let learned = fit(rule, 0..240);
            assert!(learned.steps > 700);
            assert!(
                learned.errors[1] < learned.errors[0],
                "{:?}",
                learned.errors
            );
            assert_eq!(learned, fit(rule, 0..240));
        }
    }
}
