//! Scores of players in the PolyGuard world, with confidence intervals, for tests.
#![allow(dead_code, reason = "not every test uses everything")]

use sentinel_env::Environment;
use sentinel_env::polyguard::{
    Action, CandidateId, EndReason, Episode, Observation, PolyguardEnv, Rules, Setup, TaskSpec,
};
use sentinel_env::rng::Streams;
use sentinel_policy::policy::{Player, Policy};
use sentinel_policy::polyguard::PolicyName;
use sentinel_policy::rollout::run_steps;

/// A policy defined by a function of the observation; `None` keeps the regimen.
pub(crate) struct By<F>(pub(crate) F);

impl<F: FnMut(&Observation) -> Option<CandidateId>> Policy<PolyguardEnv> for By<F> {
    fn choose(&mut self, o: &Observation) -> Action {
        Action::with_grounded_rationale(o, (self.0)(o).unwrap_or(CandidateId::FIRST))
    }
}

/// Plays the episodes of a case under the hardened rules.
pub(crate) fn play(
    case: TaskSpec,
    seeds: std::ops::Range<u64>,
    mut player: impl FnMut(u64) -> Player<PolyguardEnv>,
) -> Vec<Episode> {
    seeds
        .map(|seed| {
            let mut player = player(seed);
            let setup = Setup::new(case, seed).with_rules(Rules::HARDENED);
            run_steps::<PolyguardEnv>(&setup, |episode| player.act(episode), |_, _| ())
        })
        .collect()
}

/// Plays the episodes of a case with a scripted policy, under the hardened rules.
pub(crate) fn named(
    case: TaskSpec,
    seeds: std::ops::Range<u64>,
    policy: PolicyName,
) -> Vec<Episode> {
    play(case, seeds, |seed| {
        policy.player(seed, Streams::Independent)
    })
}

/// A mean and half the width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub(crate) mean: f64,
    pub(crate) half: f64,
}

impl Interval {
    pub(crate) fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        Self {
            mean,
            half: 1.96 * (squares / (count - 1.0) / count).sqrt(),
        }
    }

    pub(crate) fn low(self) -> f64 {
        self.mean - self.half
    }

    pub(crate) fn high(self) -> f64 {
        self.mean + self.half
    }
}

pub(crate) fn scores(episodes: &[Episode]) -> Vec<f64> {
    episodes.iter().map(Episode::score).collect()
}

/// Returns the share of episodes that ended for this reason.
pub(crate) fn share(episodes: &[Episode], end: EndReason) -> f64 {
    let with = episodes.iter().filter(|e| e.observation().end == Some(end));
    with.count() as f64 / episodes.len() as f64
}
