//! Contextual bandits with linear models of the reward of a step (spec polyguard §10).
//!
//! [`ExplorationRule::LinUcb`] adds a confidence bound to the expected reward; [`ExplorationRule::Thompson`] samples
//! weights from the posterior. Both were fitted along their own episodes of the split `train`. They
//! do not learn while they play.

mod fit;
mod posterior;

use std::sync::LazyLock;

use sentinel_env::polyguard::{
    Action, Candidate, CandidateId, MAX_CANDIDATES, Observation, PolyguardEnv,
};
use sentinel_env::rng::PcgRandom;
use serde::{Deserialize, Serialize};

pub use fit::fit;
pub use posterior::SufficientStatistics;

use crate::policy::Policy;

use super::baselines::policy_stream;
use super::features::{Features, dot, features};
use super::fit_provenance::{Provenance, builtin};
use super::permitted_candidates::{argmax_permitted, permitted_candidates};
use crate::insertion_sort::sort;
use posterior::Posterior;

/// Weight of the confidence bound of LinUCB.
const ALPHA: f64 = 0.6;
/// Standard deviation of Thompson samples relative to `A⁻¹`: their covariance is `.25 A⁻¹`.
const SPREAD: f64 = 0.5;

/// The exploration rule of a bandit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExplorationRule {
    /// Upper confidence bounds, α = .6 (Li et al. 2010).
    LinUcb,
    /// Weights sampled from `N(A⁻¹b, .25 A⁻¹)` (Agrawal and Goyal 2013).
    Thompson,
}

/// A fitted bandit with its provenance, as stored in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FittedBandit {
    /// Data that the bandit was fitted on.
    pub provenance: Provenance,
    /// Exploration rule during fitting and play.
    pub rule: ExplorationRule,
    /// Description of the reward that the model predicts.
    pub target: String,
    /// Number of steps that the bandit learned from.
    pub steps: u64,
    /// Mean squared prediction error over the first and the second half of the episodes. Each
    /// prediction is made before its reward is observed.
    pub errors: [f64; 2],
    /// Sufficient statistics of the linear model.
    pub statistics: SufficientStatistics,
}

static LINUCB: LazyLock<FittedBandit> =
    LazyLock::new(|| builtin(include_str!("../../../data/polyguard/linucb.json")));
static THOMPSON: LazyLock<FittedBandit> =
    LazyLock::new(|| builtin(include_str!("../../../data/polyguard/thompson.json")));

impl FittedBandit {
    /// Returns the fitted bandit that is compiled into the program.
    #[must_use]
    pub fn builtin(rule: ExplorationRule) -> &'static Self {
        match rule {
            ExplorationRule::LinUcb => &LINUCB,
            ExplorationRule::Thompson => &THOMPSON,
        }
    }
}

/// A policy that plays a fitted bandit without further learning.
#[derive(Clone, Debug)]
pub struct Bandit {
    rule: ExplorationRule,
    posterior: Posterior,
    stream: PcgRandom,
    values: Option<[f64; MAX_CANDIDATES]>,
}

/// A way to compute the value of candidates for one step.
enum Valuation<'a> {
    Bound(&'a Posterior),
    Drawn(Features),
}

impl Valuation<'_> {
    fn value(&self, o: &Observation, candidate: &Candidate) -> f64 {
        let features = features(o, candidate);
        match self {
            Self::Bound(known) => dot(&known.mean, &features) + ALPHA * known.std_dev(&features),
            Self::Drawn(weights) => dot(weights, &features),
        }
    }
}

impl ExplorationRule {
    fn valuation<'a>(self, posterior: &'a Posterior, stream: &mut PcgRandom) -> Valuation<'a> {
        match self {
            Self::LinUcb => Valuation::Bound(posterior),
            Self::Thompson => Valuation::Drawn(posterior.sample_weights(SPREAD, stream)),
        }
    }
}

impl Bandit {
    /// Creates the compiled-in bandit, with the policy's own random stream of the episode `seed`.
    #[must_use]
    pub fn new(rule: ExplorationRule, seed: u64) -> Self {
        Self::from_fit(FittedBandit::builtin(rule), seed)
            .unwrap_or_else(|| Self::untrained(rule, seed))
    }

    /// Creates a policy from a fitted bandit; `None` if its precision matrix is not positive
    /// definite.
    #[must_use]
    pub fn from_fit(learned: &FittedBandit, seed: u64) -> Option<Self> {
        Some(Self {
            rule: learned.rule,
            posterior: learned.statistics.posterior()?,
            stream: policy_stream(seed),
            values: None,
        })
    }

    /// Returns at most `k` candidates with the highest values, best first.
    pub fn top_k(&mut self, o: &Observation, k: usize) -> Vec<CandidateId> {
        let valuation = self.rule.valuation(&self.posterior, &mut self.stream);
        let mut all: Vec<(f64, CandidateId)> = permitted_candidates(o)
            .map(|candidate| (valuation.value(o, candidate), candidate.id))
            .collect();
        // The sort is stable: on a tie the lower candidate comes first.
        sort(&mut all, |a, b| b.0.total_cmp(&a.0).is_lt());
        all.into_iter().take(k).map(|(_, id)| id).collect()
    }

    /// Returns the candidate with the highest value, and the values of all permitted candidates.
    fn pick(&mut self, o: &Observation) -> (CandidateId, [f64; MAX_CANDIDATES]) {
        let valuation = self.rule.valuation(&self.posterior, &mut self.stream);
        let mut values = [f64::NEG_INFINITY; MAX_CANDIDATES];
        let id = argmax_permitted(o, |candidate| {
            let value = valuation.value(o, candidate);
            values[candidate.id.index()] = value;
            value
        });
        (id, values)
    }
}

impl Policy<PolyguardEnv> for Bandit {
    fn choose(&mut self, o: &Observation) -> Action {
        let (id, values) = self.pick(o);
        self.values = Some(values);
        Action::with_grounded_rationale(o, id)
    }

    /// Returns the confidence bounds or sampled rewards, `-inf` for candidates that are not
    /// permitted.
    fn action_values(&self) -> Option<Vec<f64>> {
        self.values.map(Vec::from)
    }

    fn peek_draw(&self) -> Option<f64> {
        match self.rule {
            ExplorationRule::LinUcb => None,
            ExplorationRule::Thompson => Some(self.stream.clone().unit()),
        }
    }
}

#[cfg(test)]
mod tests {
    use sentinel_env::Environment;
    use sentinel_env::polyguard::{Episode, Setup, TaskSpec};

    use super::super::fit_provenance::{FIT_SEEDS, assert_training_data_only};
    use super::*;

    #[test]
    fn builtin_bandits_match_fresh_fit() {
        for rule in [ExplorationRule::LinUcb, ExplorationRule::Thompson] {
            let learned = FittedBandit::builtin(rule);
            assert_training_data_only(&learned.provenance);
            assert!(Bandit::from_fit(learned, 0).is_some());
            // The fit uses basic arithmetic only, so every target computes the same bits. Not
            // `assert_eq!`, because a mismatch would print pages of numbers.
            assert!(*learned == fit(rule, FIT_SEEDS), "fit the policies again");
        }
    }

    #[test]
    fn top_k_is_sorted_and_starts_with_chosen_candidate() {
        for seed in 0..50 {
            let episode = Episode::reset(&Setup::new(TaskSpec::ALL[seed as usize % 24], seed));
            let o = episode.observation();
            let mut bandit = Bandit::new(ExplorationRule::LinUcb, seed);
            let top = bandit.top_k(o, 3);
            let chosen = bandit.choose(o).id();
            assert_eq!(top.len(), 3);
            assert_eq!(top.first().copied(), chosen);
            let values = bandit.action_values().expect("it values");
            let of = |id: &CandidateId| values[id.index()];
            assert!(top.windows(2).all(|w| of(&w[0]) >= of(&w[1])));
            let rest = permitted_candidates(o).filter(|c| !top.contains(&c.id));
            assert!(rest.into_iter().all(|c| of(&c.id) <= of(&top[2])));
        }
    }

    #[test]
    fn thompson_values_depend_only_on_seed() {
        let episode = Episode::reset(&Setup::new(TaskSpec::ALL[1], 5));
        let values = |seed| {
            let mut bandit = Bandit::new(ExplorationRule::Thompson, seed);
            bandit.choose(episode.observation());
            bandit.action_values()
        };
        assert_eq!(values(1), values(1));
        assert_ne!(values(1), values(2));
    }
}
