//! The sampled steps of played episodes, where look-ahead compares actions.

use rayon::prelude::*;
use sentinel_base::rng::Rng;
use sentinel_play::analyze::{Analyzed, PolicySource};
use sentinel_play::rollout::Trajectory;
use sentinel_policy::analysis::{BeliefRollouts, CompareActions as _};
use sentinel_policy::text::{PromptState, TextWorld};

/// A sampled step of a played episode, with what look-ahead knows there.
pub(super) struct Visit<'a, W: TextWorld + Analyzed> {
    pub(super) state: &'a PromptState<W>,
    /// The belief from the observations until then, and the policy that plays on.
    pub(super) rollouts: &'a BeliefRollouts<W>,
    /// Seed of the sampled hidden states.
    pub(super) seed: u64,
}

/// Calls `visit` at all `places`, pairs of an episode and a step in ascending order, each episode on one
/// core. Returns the results in that order.
pub(super) fn visit_places<W: TextWorld + Analyzed, T: Send>(
    continuation: &PolicySource<W>,
    played: &[Trajectory<W>],
    places: &[(usize, usize)],
    seed: u64,
    visit: impl Fn(usize, &Visit<'_, W>) -> T + Sync,
) -> Vec<T> {
    let mut by_episode: Vec<Vec<(usize, usize)>> = played.iter().map(|_| Vec::new()).collect();
    for (at, (episode, step)) in places.iter().enumerate() {
        by_episode[*episode].push((at, *step));
    }
    let episode = |(index, places): (usize, &Vec<(usize, usize)>)| {
        let (trajectory, mut state) = (&played[index], played[index].state(0));
        let setup = *state.episode().setup();
        let policy = continuation.start(&setup);
        let mut rollouts = BeliefRollouts::<W>::new(policy.as_ref(), &setup);
        let mut waiting = places.iter().peekable();
        let mut found = Vec::with_capacity(places.len());
        let mut last = None;
        for (step, row) in trajectory.rows.iter().enumerate() {
            if waiting.peek().is_none() {
                break;
            }
            rollouts.observe(last, state.observation());
            if let Some((at, _)) = waiting.next_if(|(_, place)| *place == step) {
                let here = Visit {
                    state: &state,
                    rollouts: &rollouts,
                    seed: Rng::new(seed, &[index as u64, step as u64]).next(),
                };
                found.push(visit(*at, &here));
            }
            last = row.action;
            // The same state accepted the same action before; the last row may have none.
            if row.action.is_none_or(|action| state.step(action).is_err()) {
                break;
            }
        }
        found
    };
    let episodes = by_episode.par_iter().enumerate().map(episode);
    let all: Vec<Vec<T>> = episodes.collect();
    let all: Vec<T> = all.into_iter().flatten().collect();
    debug_assert_eq!(
        all.len(),
        places.len(),
        "every place is a step of its episode"
    );
    all
}
