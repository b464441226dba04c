//! Contextual bandits: linear models of what a step earns (spec polyguard §10).
//!
//! [`Rule::LinUcb`] adds to the expected reward how little is known; [`Rule::Thompson`] draws weights
//! from what is believed. Both learned along their own episodes of the split `train`, and play with
//! what they know: they do not go on learning.

mod fit;
mod posterior;

use std::sync::LazyLock;

use sentinel_env::polyguard::{
    Action, CANDIDATES, Candidate, CandidateId, Observation, PolyguardEnv,
};
use sentinel_env::rng::PcgRandom;
use serde::{Deserialize, Serialize};

pub use fit::fit;
pub use posterior::Statistics;

use crate::policy::Policy;

use super::features::{Features, dot, features};
use super::fitted::{Provenance, shipped};
use super::permitted::{argmax, permitted};
use super::simple::policy_stream;
use crate::order::sort;
use posterior::Posterior;

/// Weight of how little is known.
const ALPHA: f64 = 0.6;
/// Draws have a variance of .25 A⁻¹.
const SPREAD: f64 = 0.5;

/// How a bandit explores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// Upper confidence bounds, α = .6 (Li et al. 2010).
    LinUcb,
    /// Weights drawn from `N(A⁻¹b, .25 A⁻¹)` (Agrawal and Goyal 2013).
    Thompson,
}

/// A bandit that has learned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Learned {
    /// What it learned from.
    pub provenance: Provenance,
    /// How it explores.
    pub rule: Rule,
    /// What it learned to predict.
    pub target: String,
    /// Steps that it learned from.
    pub steps: u64,
    /// Mean squared error of its predictions, made before each reward was seen: of the first and the
    /// second half of the episodes.
    pub errors: [f64; 2],
    /// What it remembers.
    pub statistics: Statistics,
}

static LINUCB: LazyLock<Learned> =
    LazyLock::new(|| shipped(include_str!("../../../data/polyguard/linucb.json")));
static THOMPSON: LazyLock<Learned> =
    LazyLock::new(|| shipped(include_str!("../../../data/polyguard/thompson.json")));

impl Learned {
    /// Returns the bandit that is part of the program.
    #[must_use]
    pub fn shipped(rule: Rule) -> &'static Self {
        match rule {
            Rule::LinUcb => &LINUCB,
            Rule::Thompson => &THOMPSON,
        }
    }
}

/// Plays as a bandit that no longer learns.
#[derive(Clone, Debug)]
pub struct Bandit {
    rule: Rule,
    posterior: Posterior,
    stream: PcgRandom,
    values: Option<[f64; CANDIDATES]>,
}

/// A way to value candidates for one step.
enum Valuation<'a> {
    Bound(&'a Posterior),
    Drawn(Features),
}

impl Valuation<'_> {
    fn of(&self, o: &Observation, candidate: &Candidate) -> f64 {
        let features = features(o, candidate);
        match self {
            Self::Bound(known) => dot(&known.mean, &features) + ALPHA * known.width(&features),
            Self::Drawn(weights) => dot(weights, &features),
        }
    }
}

impl Rule {
    fn valuation<'a>(self, posterior: &'a Posterior, stream: &mut PcgRandom) -> Valuation<'a> {
        match self {
            Self::LinUcb => Valuation::Bound(posterior),
            Self::Thompson => Valuation::Drawn(posterior.draw(SPREAD, stream)),
        }
    }
}

impl Bandit {
    /// Returns the bandit of the program, with the policy's own stream of the episode `seed`.
    #[must_use]
    pub fn new(rule: Rule, seed: u64) -> Self {
        Self::of(Learned::shipped(rule), seed).unwrap_or_else(|| Self::ignorant(rule, seed))
    }

    /// Returns one that has learned; `None` if its statistics are impossible.
    #[must_use]
    pub fn of(learned: &Learned, seed: u64) -> Option<Self> {
        Some(Self {
            rule: learned.rule,
            posterior: learned.statistics.posterior()?,
            stream: policy_stream(seed),
            values: None,
        })
    }

    /// Returns the candidates with most worth, the best first; at most `k`.
    pub fn top_k(&mut self, o: &Observation, k: usize) -> Vec<CandidateId> {
        let valuation = self.rule.valuation(&self.posterior, &mut self.stream);
        let mut all: Vec<(f64, CandidateId)> = permitted(o)
            .map(|candidate| (valuation.of(o, candidate), candidate.id))
            .collect();
        // Stable: of equals the lower candidate comes first.
        sort(&mut all, |a, b| b.0.total_cmp(&a.0).is_lt());
        all.into_iter().take(k).map(|(_, id)| id).collect()
    }

    /// Returns the candidate with most worth, and the worth of all that were considered.
    fn pick(&mut self, o: &Observation) -> (CandidateId, [f64; CANDIDATES]) {
        let valuation = self.rule.valuation(&self.posterior, &mut self.stream);
        let mut values = [f64::NEG_INFINITY; CANDIDATES];
        let id = argmax(o, |candidate| {
            let value = valuation.of(o, candidate);
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
        Action::explained(o, id)
    }

    /// Bounds or drawn rewards; none of what was not considered.
    fn action_values(&self) -> Option<Vec<f64>> {
        self.values.map(Vec::from)
    }

    fn peek_draw(&self) -> Option<f64> {
        match self.rule {
            Rule::LinUcb => None,
            Rule::Thompson => Some(self.stream.clone().unit()),
        }
    }
}

#[cfg(test)]
mod tests {
    use sentinel_env::Environment;
    use sentinel_env::polyguard::{Case, Episode, Setup};

    use super::super::fitted::{FIT_SEEDS, assert_clean};
    use super::*;

    #[test]
    fn the_shipped_bandits_are_what_the_command_makes() {
        for rule in [Rule::LinUcb, Rule::Thompson] {
            let learned = Learned::shipped(rule);
            assert_clean(&learned.provenance);
            assert!(Bandit::of(learned, 0).is_some());
            // Nothing but basic arithmetic: the same bits everywhere.
            // Not assert_eq: a mismatch would print pages of numbers.
            assert!(*learned == fit(rule, FIT_SEEDS), "fit the policies again");
        }
    }

    #[test]
    fn the_best_candidates_come_in_order_and_begin_with_the_choice() {
        for seed in 0..50 {
            let episode = Episode::reset(&Setup::new(Case::ALL[seed as usize % 24], seed));
            let o = episode.observation();
            let mut bandit = Bandit::new(Rule::LinUcb, seed);
            let top = bandit.top_k(o, 3);
            let chosen = bandit.choose(o).id();
            assert_eq!(top.len(), 3);
            assert_eq!(top.first().copied(), chosen);
            let values = bandit.action_values().expect("it values");
            let of = |id: &CandidateId| values[id.index()];
            assert!(top.windows(2).all(|w| of(&w[0]) >= of(&w[1])));
            let rest = permitted(o).filter(|c| !top.contains(&c.id));
            assert!(rest.into_iter().all(|c| of(&c.id) <= of(&top[2])));
        }
    }

    #[test]
    fn thompson_draws_from_its_own_stream_and_repeats() {
        let episode = Episode::reset(&Setup::new(Case::ALL[1], 5));
        let values = |seed| {
            let mut bandit = Bandit::new(Rule::Thompson, seed);
            bandit.choose(episode.observation());
            bandit.action_values()
        };
        assert_eq!(values(1), values(1));
        assert_ne!(values(1), values(2));
    }
}
