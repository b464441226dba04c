//! The results of an analysis: values, losses, luck, mistakes and accuracy.

use super::StateSource;
use super::statistics::Estimates;

/// The comparison of the actions of a step in states from one source.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct StateSourceReport {
    /// Number of states in which every action was tried.
    pub rollouts: u32,
    /// Mean final score after each action, in the order of [`StepReport::actions`].
    pub values: Vec<f64>,
    /// Standard error of each value; `None` for fewer than two rollouts.
    pub errors: Vec<Option<f64>>,
    /// Index of the action with the highest value: the chosen one on a tie.
    pub best: usize,
    /// Value of the best action minus that of the chosen one, at least 0.
    pub loss: f64,
    /// Interval that contains the loss in 95 % of cases; `None` for too few rollouts.
    pub interval: Option<[f64; 2]>,
    /// `true` if the lower end of the interval exceeds the margin.
    pub mistake: bool,
    /// Highest value minus lowest value: what was at stake.
    pub spread: f64,
    /// Final score of the episode minus the value of the chosen action; `None` if the episode has
    /// not ended.
    pub luck: Option<f64>,
}

impl StateSourceReport {
    fn new(estimates: &Estimates, chosen: usize, score: Option<f64>, margin: f64) -> Option<Self> {
        let rollouts = estimates.rollouts();
        if rollouts == 0 {
            return None;
        }
        let values: Vec<f64> = estimates.scores.iter().map(|all| all.mean()).collect();
        let best = estimates.best(chosen);
        let interval = estimates.loss_interval();
        let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
        Some(Self {
            rollouts,
            errors: (estimates.scores.iter())
                .map(|all| all.standard_error())
                .collect(),
            best,
            loss: estimates.gains[best].mean(),
            interval,
            mistake: interval.is_some_and(|[low, _]| low > margin),
            spread: highest - lowest,
            luck: score.map(|score| score - values[chosen]),
            values,
        })
    }

    /// Returns the loss if the noise supports it: if the lower end of its interval is above 0.
    #[must_use]
    pub fn supported_loss(&self) -> f64 {
        match self.interval {
            Some([low, _]) if low > 0.0 => self.loss,
            _ => 0.0,
        }
    }
}

/// The analysis of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepReport<A> {
    /// Number of actions taken before.
    pub index: usize,
    /// Steps of the budget used before.
    pub step_count: u32,
    /// The actions that were compared.
    pub actions: Vec<A>,
    /// Index of the action that was chosen.
    pub chosen: usize,
    /// Index of the action that the continuation policy would have chosen.
    pub policy: usize,
    /// The comparison in sampled hidden states; `None` before its first rollouts.
    pub belief: Option<StateSourceReport>,
    /// The comparison in the true hidden state; `None` before its first rollouts.
    pub hindsight: Option<StateSourceReport>,
}

impl<A> StepReport<A> {
    /// Returns the comparison in states from one source; `None` before its first rollouts.
    #[must_use]
    pub const fn of(&self, source: StateSource) -> Option<&StateSourceReport> {
        match source {
            StateSource::Belief => self.belief.as_ref(),
            StateSource::Hindsight => self.hindsight.as_ref(),
        }
    }
}

impl<A: Clone> StepReport<A> {
    pub(super) fn new(
        (index, step_count): (usize, u32),
        (actions, chosen, policy): (&[A], usize, usize),
        [belief, hindsight]: &[Estimates; 2],
        score: Option<f64>,
        margin: f64,
    ) -> Self {
        Self {
            index,
            step_count,
            actions: actions.to_vec(),
            chosen,
            policy,
            belief: StateSourceReport::new(belief, chosen, score, margin),
            hindsight: StateSourceReport::new(hindsight, chosen, score, margin),
        }
    }
}

/// The analysis of an episode.
#[derive(Clone, Debug, PartialEq)]
pub struct EpisodeReport<A> {
    /// Final score; `None` if the episode has not ended.
    pub score: Option<f64>,
    /// 1 minus the sum of supported losses over the sum of spreads, from sampled hidden states:
    /// 1 if no loss is supported by the noise, 0 if the worst action was chosen at every step.
    /// `None` if no step has an interval yet.
    pub accuracy: Option<f64>,
    /// Mean supported loss of a step, from sampled hidden states; `None` as for the accuracy.
    pub mean_loss: Option<f64>,
    /// Sum of the supported losses, from sampled hidden states; `None` as for the accuracy.
    pub lost: Option<f64>,
    /// Expected final score of the continuation policy: the value of its own first action. `None`
    /// if the first step was not evaluated.
    pub expected: Option<f64>,
    /// Sum over the steps of the value of the chosen action minus that of the continuation policy's
    /// own action: what the player's decisions added to the expected score. `None` if a step was
    /// not evaluated.
    pub decisions: Option<f64>,
    /// Final score minus `expected` minus `decisions`: the part that comes from chance, with mean 0
    /// if the sampled states have the right distribution. `None` if the episode has not ended, or a
    /// step was not evaluated.
    pub luck: Option<f64>,
    /// Indices of the steps that were mistakes, as far as public evidence could tell.
    pub mistakes: Vec<usize>,
    /// The steps in order.
    pub steps: Vec<StepReport<A>>,
}

impl<A> EpisodeReport<A> {
    /// Summarizes the steps of an episode.
    pub(super) fn new(score: Option<f64>, steps: Vec<StepReport<A>>) -> Self {
        let (mut supported, mut spread, mut count) = (0.0, 0.0, 0);
        let mut mistakes = Vec::new();
        for step in &steps {
            let Some(belief) = step
                .belief
                .as_ref()
                .filter(|belief| belief.interval.is_some())
            else {
                continue;
            };
            supported += belief.supported_loss();
            spread += belief.spread;
            count += 1;
            if belief.mistake {
                mistakes.push(step.index);
            }
        }
        let evaluated = |step: &StepReport<A>| {
            let values = &step.belief.as_ref()?.values;
            Some((values[step.policy], values[step.chosen]))
        };
        let first = steps.first().filter(|step| step.index == 0);
        let expected = first.and_then(evaluated).map(|(own, _)| own);
        let added = steps
            .iter()
            .map(|step| evaluated(step).map(|(own, chosen)| chosen - own));
        let decisions = added.sum::<Option<f64>>();
        let known = score.zip(expected).zip(decisions);
        let luck = known.map(|((score, expected), decisions)| score - expected - decisions);
        let accuracy = if spread > 0.0 {
            1.0 - supported / spread
        } else {
            1.0
        };
        Self {
            score,
            accuracy: (count > 0).then_some(accuracy),
            mean_loss: (count > 0).then(|| supported / count as f64),
            lost: (count > 0).then_some(supported),
            expected,
            decisions,
            luck,
            mistakes,
            steps,
        }
    }
}
