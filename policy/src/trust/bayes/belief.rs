//! The exact posterior over the assignment of behaviors to slots.

use sentinel_env::slot::SLOTS;
use sentinel_env::trust::{Answer, Behavior, GradeInput, Observation, action_outcome, grade};

/// Number of assignments of five behaviors to five slots, `5!`.
const ASSIGNMENTS: usize = 120;

/// Behavior index of each slot, for every assignment, in lexicographic order.
const PERMUTATIONS: [[u8; SLOTS]; ASSIGNMENTS] = permutations();

const fn permutations() -> [[u8; SLOTS]; ASSIGNMENTS] {
    let mut out = [[0; SLOTS]; ASSIGNMENTS];
    let mut n = 0;
    while n < ASSIGNMENTS {
        // The digits of `n` in the factorial number system select from the behaviors that remain.
        let (mut rest, mut radix, mut left) = (n, 24, [0u8, 1, 2, 3, 4]);
        let mut slot = 0;
        while slot < SLOTS {
            let mut pick = rest / radix;
            rest %= radix;
            out[n][slot] = left[pick];
            while pick + 1 < SLOTS {
                left[pick] = left[pick + 1];
                pick += 1;
            }
            slot += 1;
            if slot < SLOTS {
                radix /= SLOTS - slot;
            }
        }
        n += 1;
    }
    out
}

/// Probability of each assignment given the observations so far. Uniform by default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Belief {
    weights: [f64; ASSIGNMENTS],
}

impl Default for Belief {
    fn default() -> Self {
        Self {
            weights: [1.0 / ASSIGNMENTS as f64; ASSIGNMENTS],
        }
    }
}

impl Belief {
    /// Creates the posterior that is certain of one assignment.
    #[must_use]
    pub fn certain(assignment: &[Behavior; SLOTS]) -> Self {
        let ids = assignment.map(|behavior| behavior as u8);
        let weights = PERMUTATIONS.map(|p| f64::from(u8::from(p == ids)));
        Self { weights }
    }

    /// Updates the posterior with the public result of the last step: cost, outcome and reward of
    /// the called slot.
    pub fn update(&mut self, before: &Observation, after: &Observation) {
        let Some(last) = &after.last else { return };
        let (Some(slot), Some(success)) = (last.action.slot(), last.success) else {
            return;
        };
        let evidence = &before.ledger[slot];
        let likelihood = Behavior::ALL.map(|behavior| {
            let e = behavior.execution_params(
                last.domain,
                last.stakes,
                evidence.calls,
                &before.adversary,
            );
            let poison = e.success_chance.is_none();
            let chance = e.success_chance.unwrap_or(0.0);
            let answer = Answer::new(poison, success);
            let outcome = action_outcome(before.rules, last.action, e.cost, answer);
            let input = GradeInput {
                task: before.task,
                action: last.action,
                success: outcome.success,
                own_work: outcome.own_work,
                stakes: last.stakes,
                adversarial: poison,
                confidence: Some(e.confidence),
                in_domain: e.in_domain,
                trust_before: Some(evidence.trust()),
                step_count: after.step_count,
                max_steps: before.max_steps,
            };
            // Rewards are rounded to four decimals; those of different behaviors differ by far
            // more.
            let fits =
                outcome.cost == last.cost && (grade(&input).reward - last.reward).abs() < 1e-4;
            if !fits {
                0.0
            } else if success {
                chance
            } else {
                1.0 - chance
            }
        });
        self.multiply_likelihood(slot.index(), &likelihood);
    }

    /// Multiplies the posterior by the likelihood of one slot's report under each behavior, and
    /// normalizes it. A report that has no probability under any assignment is ignored, to avoid a
    /// division by zero.
    pub(super) fn multiply_likelihood(&mut self, slot: usize, likelihood: &[f64; SLOTS]) {
        let mut weights = self.weights;
        let mut total = 0.0;
        for (weight, assignment) in weights.iter_mut().zip(&PERMUTATIONS) {
            *weight *= likelihood[usize::from(assignment[slot])];
            total += *weight;
        }
        if total > 0.0 {
            self.weights = weights.map(|weight| weight / total);
        }
    }

    /// Iterates over all assignments with their probabilities.
    pub fn iter(&self) -> impl Iterator<Item = ([Behavior; SLOTS], f64)> {
        let behaviors = |ids: &[u8; SLOTS]| ids.map(|id| Behavior::ALL[usize::from(id)]);
        PERMUTATIONS.iter().map(behaviors).zip(self.weights)
    }

    /// Returns the assignment at which the cumulative probability exceeds `u`, a uniform number in
    /// `[0, 1)`.
    #[must_use]
    pub fn sample(&self, u: f64) -> [Behavior; SLOTS] {
        let (mut left, mut found) = (u, Behavior::ALL);
        for (assignment, weight) in self.iter().filter(|(_, weight)| *weight > 0.0) {
            found = assignment;
            if left < weight {
                break;
            }
            left -= weight;
        }
        found
    }

    /// Returns the probability of each behavior for each slot, `[slots, behaviors]`.
    #[must_use]
    pub fn marginals(&self) -> [[f64; SLOTS]; SLOTS] {
        let mut marginals = [[0.0; SLOTS]; SLOTS];
        for (weight, assignment) in self.weights.iter().zip(&PERMUTATIONS) {
            for (slot, behavior) in assignment.iter().enumerate() {
                marginals[slot][usize::from(*behavior)] += weight;
            }
        }
        marginals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_env::Environment;
    use sentinel_env::PrivilegedState;
    use sentinel_env::rng::Streams;
    use sentinel_env::trust::{Action, Episode, Rules, Setup, Task};

    #[test]
    fn assignment_permutations_are_distinct() {
        for (i, a) in PERMUTATIONS.iter().enumerate() {
            let mut sorted = *a;
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
            assert!(!PERMUTATIONS[i + 1..].contains(a), "{a:?} twice");
        }
    }

    #[test]
    fn certain_belief_has_one_hot_marginals() {
        let mut behaviors = Behavior::ALL;
        behaviors.swap(1, 4);
        let marginals = Belief::certain(&behaviors).marginals();
        for (row, behavior) in marginals.iter().zip(behaviors) {
            assert_eq!(row[behavior as usize], 1.0);
            assert_eq!(row.iter().sum::<f64>(), 1.0);
        }
    }

    /// The true assignment never gets probability 0, for any actions under any rules.
    #[test]
    fn posterior_never_excludes_true_assignment() {
        for (seed, task) in (0..600).zip(Task::ALL.into_iter().cycle()) {
            let rules = if seed % 2 == 0 {
                Rules::REFERENCE
            } else {
                Rules::HARDENED
            };
            let setup = Setup::new(task, seed, Streams::Independent).with_rules(rules);
            let mut episode = Episode::reset(&setup);
            let mut belief = Belief::default();
            let mut n = seed as usize;
            while !episode.observation().done() {
                let before = *episode.observation();
                n = n.wrapping_mul(31).wrapping_add(7);
                episode
                    .step(Action::ALL[n % Action::ALL.len()])
                    .expect("not over");
                belief.update(&before, episode.observation());
            }
            let marginals = belief.marginals();
            for (slot, behavior) in episode.hidden().assignment.0.iter().enumerate() {
                assert!(
                    marginals[slot][*behavior as usize] > 0.0,
                    "{task} seed {seed} slot {slot}"
                );
            }
        }
    }
}
