//! Action values by look-ahead: the exact expectation over one step, then greedy play to the end of
//! the episode with the knowledge available by then (a knowledge-gradient look-ahead, Frazier et
//! al. 2008).

use sentinel_env::slot::{SLOTS, Slot};
use sentinel_env::trust::{
    Action, Answer, Behavior, Change, Domain, GradeInput, Observation, Outcome, TaskLayout,
    action_outcome, grade,
};

use super::belief::Belief;

/// Number of actions, the length of [`Action::ALL`].
pub(super) const ACTIONS: usize = Action::ALL.len();

/// Reward of an average event. The score is the mean over events, so an additional event below this
/// value lowers it.
const MEAN_EVENT_REWARD: f64 = 0.85;

/// Costs per step, in reward, that the thrifty continuation tries when budget is short.
const STEP_COSTS: [f64; 2] = [0.1, 0.3];

type Marginals = [[f64; SLOTS]; SLOTS];

/// The part of an observation that changes during look-ahead.
#[derive(Clone, Copy)]
struct LookaheadState<'a> {
    start: &'a Observation,
    node: usize,
    domain: Domain,
    stakes: f64,
    steps: u8,
    calls: [u16; SLOTS],
    trust: [f64; SLOTS],
}

/// One possible public result of a call, with its likelihood under each behavior.
struct Branch {
    likelihood: [f64; SLOTS],
    probability: f64,
    reward: f64,
    resolved: bool,
    cost: u8,
    success: bool,
}

/// Returns the value of each action of [`Action::ALL`], relative to [`MEAN_EVENT_REWARD`] per event.
pub(super) fn action_values(belief: &Belief, observation: &Observation) -> [f64; ACTIONS] {
    let Some(domain) = observation.domain else {
        return [0.0; ACTIONS];
    };
    let place = LookaheadState {
        start: observation,
        node: observation.progress.position(),
        domain,
        stakes: observation.stakes,
        steps: observation.step_count,
        calls: Slot::ALL.map(|slot| observation.ledger[slot].calls),
        trust: observation.ledger.trust(),
    };
    let marginals = belief.marginals();
    Action::ALL.map(|action| match action.slot() {
        None => {
            let (reward, cost) = place.alone(action);
            let rest = place
                .after(cost, true)
                .map_or_else(|end| end, |next| next.rest(&marginals));
            reward - MEAN_EVENT_REWARD + rest
        }
        Some(slot) => place
            .branches(action, slot, &marginals[slot.index()])
            .iter()
            .map(|branch| branch.probability * place.follow(belief, slot, branch))
            .sum(),
    })
}

impl LookaheadState<'_> {
    /// Returns the reward and cost of an action without a specialist.
    #[inline]
    fn alone(&self, action: Action) -> (f64, u8) {
        // The answer has no effect because no specialist is called.
        let outcome = action_outcome(self.start.rules, action, 0, Answer::Wrong);
        (self.grade(action, None, &outcome), outcome.cost)
    }

    /// Returns the reward of `action` on the current subtask for a given outcome.
    #[inline]
    fn grade(&self, action: Action, called: Option<Behavior>, outcome: &Outcome) -> f64 {
        let slot = action.slot().map(Slot::index);
        let execution = called.zip(slot).map(|(behavior, slot)| {
            behavior.execution_params(
                self.domain,
                self.stakes,
                self.calls[slot],
                &self.start.adversary,
            )
        });
        let input = GradeInput {
            task: self.start.task,
            action,
            success: outcome.success,
            own_work: outcome.own_work,
            stakes: self.stakes,
            adversarial: execution.is_some_and(|e| e.success_chance.is_none()),
            confidence: execution.map(|e| e.confidence),
            in_domain: execution.and_then(|e| e.in_domain),
            trust_before: slot.map(|slot| self.trust[slot]),
            step_count: self.steps + outcome.cost,
            max_steps: self.start.max_steps,
        };
        grade(&input).reward
    }

    /// Returns the possible results of calling `slot`, given the probability of each behavior for
    /// it.
    fn branches(&self, action: Action, slot: Slot, marginal: &[f64; SLOTS]) -> Vec<Branch> {
        let mut branches: Vec<Branch> = Vec::with_capacity(2 * SLOTS);
        for (index, behavior) in Behavior::ALL.into_iter().enumerate() {
            let calls = self.calls[slot.index()];
            let e =
                behavior.execution_params(self.domain, self.stakes, calls, &self.start.adversary);
            for (chance, answer) in e.answers() {
                if chance * marginal[index] <= 0.0 {
                    continue;
                }
                let outcome = action_outcome(self.start.rules, action, e.cost, answer);
                let reward = self.grade(action, Some(behavior), &outcome);
                let (cost, resolved) = (outcome.cost, outcome.success);
                let success = answer == Answer::Right;
                // Results that cannot be told apart share one branch.
                let same = branches.iter_mut().find(|b| {
                    b.cost == cost && b.success == success && (b.reward - reward).abs() < 1e-4
                });
                let probability = chance * marginal[index];
                if let Some(branch) = same {
                    branch.likelihood[index] += chance;
                    branch.probability += probability;
                } else {
                    let mut likelihood = [0.0; SLOTS];
                    likelihood[index] = chance;
                    branches.push(Branch {
                        likelihood,
                        probability,
                        reward,
                        resolved,
                        cost,
                        success,
                    });
                }
            }
        }
        branches
    }

    /// Returns the reward of a branch plus the value of the rest of the episode after learning from
    /// it.
    fn follow(&self, belief: &Belief, slot: Slot, branch: &Branch) -> f64 {
        let value = branch.reward - MEAN_EVENT_REWARD;
        let mut next = match self.after(branch.cost, branch.resolved) {
            Ok(next) => next,
            Err(end) => return value + end,
        };
        let mut learned = *belief;
        learned.multiply_likelihood(slot.index(), &branch.likelihood);
        next.calls[slot.index()] += 1;
        value + next.rest(&learned.marginals())
    }

    /// Returns the state after a step, or the value of the end of the episode without the terminal
    /// reward.
    #[inline]
    fn after(&self, cost: u8, resolved: bool) -> Result<Self, f64> {
        let mut next = *self;
        next.steps += cost;
        let retried = self.node == self.start.progress.position()
            && self.start.progress.failed_attempts() == 1;
        if resolved || retried {
            next.node += 1;
            let node = TaskLayout::for_task(self.start.task).node(next.node);
            (next.domain, next.stakes) = node.ok_or(0.0)?;
        }
        if next.steps < self.start.max_steps {
            return Ok(next);
        }
        let open = if self.start.rules.has(Change::Unfinished) {
            TaskLayout::for_task(self.start.task).len() - next.node
        } else {
            0
        };
        Err(-MEAN_EVENT_REWARD * open as f64)
    }

    /// Returns the value of playing to the end without learning more: greedily, or thriftily if
    /// greedy play would leave subtasks open and the rules penalize that.
    fn rest(self, marginals: &Marginals) -> f64 {
        match self.play_on(marginals, 0.0) {
            (value, false) => value,
            (greedy, true) => STEP_COSTS
                .iter()
                .map(|price| self.play_on(marginals, *price).0)
                .fold(greedy, f64::max),
        }
    }

    /// Returns the value of always taking the best immediate action at a cost of `price` per step,
    /// and `true` if open subtasks are penalized at the end.
    fn play_on(mut self, marginals: &Marginals, price: f64) -> (f64, bool) {
        let mut total = 0.0;
        loop {
            let (value, action, cost) = self.best(marginals, price);
            total += value;
            if let Some(slot) = action.slot() {
                self.calls[slot.index()] += 1;
            }
            match self.after(cost, true) {
                Ok(next) => self = next,
                Err(end) => return (total + end, end < 0.0),
            }
        }
    }

    /// Returns the action with the highest expected reward after the cost of its steps, as its
    /// value relative to [`MEAN_EVENT_REWARD`] without that cost, the action, and its expected cost in steps.
    #[inline]
    fn best(&self, marginals: &Marginals, price: f64) -> (f64, Action, u8) {
        let (reward, cost) = self.alone(Action::SolveIndependently);
        let mut best = (reward - MEAN_EVENT_REWARD, Action::SolveIndependently, cost);
        let net = |(value, _, cost): (f64, Action, u8)| value - price * f64::from(cost);
        for action in Action::ALL {
            let Some(slot) = action.slot() else { continue };
            let (value, cost) = self.expected(action, slot, &marginals[slot.index()]);
            if net((value, action, cost)) > net(best) {
                best = (value, action, cost);
            }
        }
        best
    }

    /// Returns the expected reward relative to [`MEAN_EVENT_REWARD`], and the expected cost in steps, rounded.
    #[inline]
    fn expected(&self, action: Action, slot: Slot, marginal: &[f64; SLOTS]) -> (f64, u8) {
        let (mut value, mut steps) = (-MEAN_EVENT_REWARD, 0.0);
        for (behavior, weight) in Behavior::ALL.into_iter().zip(marginal) {
            if *weight <= 0.0 {
                continue;
            }
            let calls = self.calls[slot.index()];
            let e =
                behavior.execution_params(self.domain, self.stakes, calls, &self.start.adversary);
            let worth = |(chance, answer)| {
                let outcome = action_outcome(self.start.rules, action, e.cost, answer);
                let reward = self.grade(action, Some(behavior), &outcome);
                (chance * reward, chance, f64::from(outcome.cost))
            };
            let [first, second] = e.answers().map(worth);
            value += weight * (first.0 + second.0);
            // If both outcomes cost the same, the difference is 0 and the sum is exact. The
            // rounding at .5 below depends on that.
            steps += weight * (first.2 + second.1 * (second.2 - first.2));
        }
        (value, (steps + 0.5) as u8)
    }
}
