//! The rollout algorithm (Tesauro & Galperin 1996): tries each candidate action in copies of the
//! episode, lets the planner play on to the end, and takes the action with the best average score.
//!
//! [`Lookahead`] samples the hidden state from what it observed; [`LookaheadOracle`] copies the true one.

mod belief;
mod candidates;

use sentinel_env::Environment;
use sentinel_env::cluster::{Action, ClusterEnv, Episode, Observation, Tally};
use sentinel_env::rng::derive_seed;

use super::planner::Planner;
use super::{Policy, PrivilegedPolicy};
use crate::rollout::play_out;
pub(crate) use belief::Belief;
use candidates::candidates;

/// Number of sampled states in which each action is tried.
const SAMPLED_STATES: usize = 8;
/// Score differences up to this count as equal, in which case the planner's own action is taken.
const TIE: f64 = 1e-9;

/// The state that both policies keep over the observations so far.
#[derive(Clone, Debug, Default)]
struct LookaheadTracker {
    planner: Planner,
    tally: Tally,
}

impl LookaheadTracker {
    fn observe_all(&mut self, o: &Observation) {
        self.planner.observe(o);
        self.tally.record_observation(o);
    }

    /// Returns the candidate with the best average final score over `worlds`. It differs from the
    /// planner's own action only if its gain exceeds the standard error of so few samples, see
    /// [`lower_bound`].
    fn best(&self, o: &Observation, worlds: &[Episode]) -> Action {
        let planned = self.planner.clone().choose(o);
        let play_out = |world: &Episode, action: Action| {
            play_out(world.clone(), &mut self.planner.clone(), action)
        };
        let ends = |action: Action| worlds.iter().map(move |world| play_out(world, action));
        let base: Vec<f64> = ends(planned).collect();
        let (mut best, mut highest) = (planned, TIE);
        for action in candidates(o, planned) {
            let gains: Vec<f64> = ends(action)
                .zip(&base)
                .map(|(end, base)| end - base)
                .collect();
            let gain = lower_bound(&gains);
            if gain > highest {
                (best, highest) = (action, gain);
            }
        }
        best
    }
}

/// Returns the mean minus two standard errors.
fn lower_bound(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    mean - 2.0 * (squares / (count * (count - 1.0).max(1.0))).sqrt()
}

/// A policy that looks ahead in sampled states that agree with its observations.
#[derive(Clone, Debug, Default)]
pub struct Lookahead {
    watch: LookaheadTracker,
    belief: Belief,
}

impl Lookahead {
    /// Creates the policy without any observation.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Samples an episode that agrees with the observations so far, of which `o` is the latest.
    pub(super) fn sample_episode(&self, o: &Observation, seed: u64) -> Episode {
        let hypothesis = self.belief.sample_hypothesis(o, seed);
        Episode::from_belief(o, &self.watch.tally, &hypothesis)
    }

    /// Returns the planner's action at the latest observation, and its alternatives. May contain
    /// duplicates.
    pub(super) fn compared_actions(&self, o: &Observation) -> Vec<Action> {
        let planned = self.watch.planner.clone().choose(o);
        let mut all = vec![planned];
        all.extend(candidates(o, planned));
        all
    }
}

impl Policy<ClusterEnv> for Lookahead {
    fn observe(&mut self, o: &Observation) {
        self.watch.observe_all(o);
        self.belief.observe(o);
    }

    fn choose(&mut self, o: &Observation) -> Action {
        let sample_hypothesis = |index| {
            let seed = derive_seed(u64::from(o.step_count), index + 1);
            self.sample_episode(o, seed)
        };
        let worlds: Vec<Episode> = (0..SAMPLED_STATES as u64).map(sample_hypothesis).collect();
        self.watch.best(o, &worlds)
    }
}

/// A privileged policy that looks ahead in the true state, including future random draws. No policy
/// can know these, so it is an upper bound.
#[derive(Clone, Debug, Default)]
pub struct LookaheadOracle {
    watch: LookaheadTracker,
}

impl LookaheadOracle {
    /// Creates the policy without any observation.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl PrivilegedPolicy<ClusterEnv> for LookaheadOracle {
    fn observe(&mut self, episode: &Episode) {
        self.watch.observe_all(episode.observation());
    }

    fn choose(&mut self, episode: &Episode) -> Action {
        let o = episode.observation();
        self.watch.best(o, std::slice::from_ref(episode))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::PolicyName;
    use sentinel_env::cluster::{Setup, Task};
    use sentinel_env::rng::Streams;

    /// The oracle keeps the same state whether it acted itself or another player did.
    #[test]
    fn oracle_tracks_observations_while_other_policy_acts() {
        let setup = Setup::new(Task::Task2, 5, Streams::Independent);
        let mut episode = Episode::reset(&setup);
        let mut acting = PolicyName::Trust.player(5, Streams::Independent);
        let (mut oracle, mut lookahead) = (LookaheadOracle::new(), Lookahead::new());
        for _ in 0..12 {
            let action = acting.act(&episode).expect("not over");
            oracle.observe(&episode);
            lookahead.observe(episode.observation());
            episode.step(action).expect("a valid action");
        }
        oracle.observe(&episode);
        lookahead.observe(episode.observation());
        let kept = |watch: &LookaheadTracker| format!("{watch:?}");
        assert_eq!(kept(&oracle.watch), kept(&lookahead.watch));
        let mut late = LookaheadOracle::new();
        late.observe(&episode);
        assert_ne!(kept(&oracle.watch), kept(&late.watch), "memory matters");
    }
}
