//! The analysis of one episode, one rollout at a time.

use sentinel_env::Environment;
use sentinel_env::rng::derive_seed;

use super::comparison::{BeliefRollouts, CompareActions as _, distinct};
use super::report::{EpisodeReport, StepReport};
use super::statistics::Estimates;
use super::{Analyzable, ContinuationPolicy, Evidence, StateSource};

/// Number of rollouts of each action and source unless another one is chosen.
pub const DEFAULT_ROLLOUTS: u32 = 32;
/// Loss below which a step is not a mistake, unless another one is chosen.
const DEFAULT_MARGIN: f64 = 0.002;

/// An episode as it was played.
#[derive(Clone, Debug)]
pub struct Trajectory<E: Environment> {
    states: Vec<E>,
    actions: Vec<E::Action>,
}

impl<E: Environment> Trajectory<E> {
    /// Plays `actions` from the state `start`.
    ///
    /// # Errors
    /// Returns the position of the first action that the episode refuses, with its reason.
    pub fn new(
        start: E,
        actions: impl IntoIterator<Item = E::Action>,
    ) -> Result<Self, (usize, E::StepError)> {
        let (mut states, mut taken) = (vec![start], Vec::new());
        for action in actions {
            let mut next = states[taken.len()].clone();
            next.step(action).map_err(|error| (taken.len(), error))?;
            states.push(next);
            taken.push(action);
        }
        Ok(Self {
            states,
            actions: taken,
        })
    }

    /// Creates the trajectory of an episode whose states were kept: the start, and one after each
    /// action. What is left over on one side is dropped.
    #[must_use]
    pub fn from_states(mut states: Vec<E>, mut actions: Vec<E::Action>) -> Self {
        states.truncate(actions.len() + 1);
        actions.truncate(states.len().saturating_sub(1));
        Self { states, actions }
    }

    /// Returns the states: the start, and one after each action.
    #[must_use]
    pub fn states(&self) -> &[E] {
        &self.states
    }

    /// Returns the actions in order.
    #[must_use]
    pub fn actions(&self) -> &[E::Action] {
        &self.actions
    }

    /// Returns the final score; `None` if the episode has not ended.
    #[must_use]
    pub fn score(&self) -> Option<f64> {
        let last = self.states.last()?;
        E::is_done(last.observation()).then(|| last.score())
    }
}

/// The parameters of an analysis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnalysisConfig {
    /// Number of rollouts of each action from each source of states, at least 1.
    pub rollouts: u32,
    /// Seed of the sampled states and of the future draws.
    pub seed: u64,
    /// Loss that the lower end of a step's interval must exceed to make the step a mistake.
    pub margin: f64,
    /// `true` to compare the actions in the true hidden state too.
    pub hindsight: bool,
    /// The part of the steps that this analysis evaluates, as `(part, parts)`: those whose index
    /// leaves the remainder `part`. `(0, 1)` stands for all. [`Analysis::receive`] takes the results
    /// of the others.
    pub share: (usize, usize),
}

impl Default for AnalysisConfig {
    fn default() -> Self {
        Self {
            rollouts: DEFAULT_ROLLOUTS,
            seed: 0,
            margin: DEFAULT_MARGIN,
            hindsight: true,
            share: (0, 1),
        }
    }
}

/// The number of rollouts that were done and of all rollouts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of rollouts done.
    pub done: u64,
    /// Number of all rollouts.
    pub total: u64,
}

impl Progress {
    /// Returns `true` if nothing is left to do.
    #[must_use]
    pub const fn is_complete(self) -> bool {
        self.done >= self.total
    }
}

/// A step of the episode, and what is known of its actions so far.
struct Decision<W: Analyzable> {
    index: usize,
    state: W,
    rollouts: BeliefRollouts<W>,
    actions: Vec<W::Action>,
    chosen: usize,
    /// The action that the continuation policy would have chosen.
    own: usize,
    /// The estimates from each source of states, in the order of [`StateSource::ALL`].
    estimates: [Estimates; 2],
}

/// The sampled state in which the actions of a decision are being tried.
struct Trial<W> {
    state: W,
    scores: Vec<f64>,
}

/// The work on one source of states.
struct Passes<W> {
    /// The pass over the decisions of the share, and the decision in it.
    at: (u32, usize),
    trial: Option<Trial<W>>,
    progress: Progress,
}

/// The estimates of one step by one analysis, for another analysis of the same episode.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct StepEstimates {
    index: usize,
    source: StateSource,
    estimates: Estimates,
}

/// An analysis in progress: [`Analysis::advance`] does the next rollout, and results can be read at
/// any time. Several analyses of the same episode can divide its steps (see
/// [`AnalysisConfig::share`]).
///
/// ```
/// use sentinel_env::{Environment, rng::Streams, trust::{Action, Setup, Task, TrustEnv}};
/// use sentinel_policy::analysis::{Analysis, AnalysisConfig, Trajectory};
/// use sentinel_policy::trust::Bayes;
///
/// let start = TrustEnv::reset(&Setup::new(Task::Task1, 7, Streams::Independent));
/// let played = Trajectory::new(start, [Action::Skip; 3]).expect("three subtasks are open");
/// let config = AnalysisConfig { rollouts: 2, ..AnalysisConfig::default() };
/// let mut analysis = Analysis::new(&played, &Bayes::new(), config);
/// while analysis.advance() {}
/// let report = analysis.report();
/// assert!(report.steps[0].belief.as_ref().is_some_and(|belief| belief.loss > 0.0));
/// ```
pub struct Analysis<W: Analyzable> {
    config: AnalysisConfig,
    decisions: Vec<Decision<W>>,
    score: Option<f64>,
    /// The work on each source of states, in the order of [`StateSource::ALL`].
    passes: [Passes<W>; 2],
}

impl<W: Analyzable> Analysis<W> {
    /// Starts the analysis of an episode. `policy` continues it after the action that is judged; it
    /// must not have observed anything yet.
    #[must_use]
    pub fn new(
        played: &Trajectory<W>,
        policy: &dyn ContinuationPolicy<W>,
        config: AnalysisConfig,
    ) -> Self {
        let mut decisions = Vec::new();
        let mut memory = None;
        let mut led_here = None;
        let each = played.states.iter().zip(&played.actions).enumerate();
        for (index, (state, action)) in each {
            let observation = state.observation();
            let rollouts = memory.get_or_insert_with(|| BeliefRollouts::new(policy, state.setup()));
            rollouts.observe(led_here, observation);
            led_here = Some(*action);
            let own = rollouts.own_action(observation);
            let candidates = rollouts.evidence.candidates(observation);
            let actions = distinct(candidates.into_iter().chain([own, *action]));
            let [chosen, own] = [*action, own].map(|wanted| {
                let found = actions.iter().position(|known| *known == wanted);
                found.unwrap_or(0)
            });
            let estimates = Estimates::new(actions.len());
            decisions.push(Decision {
                index,
                state: state.clone(),
                rollouts: rollouts.clone(),
                chosen,
                own,
                actions,
                estimates: [estimates.clone(), estimates],
            });
        }
        let actions = |decision: &Decision<W>| decision.actions.len() as u64;
        let all: u64 = decisions.iter().map(actions).sum();
        let total = all * u64::from(config.rollouts.max(1));
        let passes = || Passes {
            at: (0, config.share.0),
            trial: None,
            progress: Progress { done: 0, total },
        };
        Self {
            config,
            decisions,
            score: played.score(),
            passes: [passes(), passes()],
        }
    }

    /// Chooses whether the actions are compared in the true hidden state too. What was already
    /// compared there stays.
    pub const fn set_hindsight(&mut self, on: bool) {
        self.config.hindsight = on;
    }

    /// Does the next rollout; returns `false` if none is left in this share of the steps. Those from
    /// public evidence come first, and every step gets its first rollouts before any step gets its
    /// second ones.
    pub fn advance(&mut self) -> bool {
        let next = StateSource::ALL
            .into_iter()
            .find(|source| self.has_work_on(*source));
        if let Some(source) = next {
            self.advance_source(source);
        }
        next.is_some()
    }

    /// Returns `true` if a rollout is left in this share of the steps.
    #[must_use]
    pub fn has_work(&self) -> bool {
        StateSource::ALL
            .into_iter()
            .any(|source| self.has_work_on(source))
    }

    /// Returns `true` if a rollout from one source of states is left in this share of the steps.
    #[must_use]
    pub fn has_work_on(&self, source: StateSource) -> bool {
        let (pass, at) = self.passes[source as usize].at;
        self.is_wanted(source) && pass < self.config.rollouts.max(1) && at < self.decisions.len()
    }

    fn is_wanted(&self, source: StateSource) -> bool {
        source == StateSource::Belief || self.config.hindsight
    }

    fn advance_source(&mut self, source: StateSource) {
        let passes = &mut self.passes[source as usize];
        let (pass, at) = passes.at;
        let Some(decision) = self.decisions.get_mut(at) else {
            return;
        };
        let trial = passes.trial.get_or_insert_with(|| Trial {
            state: decision.sample(source, trial_seed(&self.config, decision.index, pass)),
            scores: Vec::with_capacity(decision.actions.len()),
        });
        let action = decision.actions[trial.scores.len()];
        let score = decision.rollouts.play_out(&trial.state, action);
        trial.scores.push(score);
        passes.progress.done += 1;
        if trial.scores.len() == decision.actions.len() {
            decision.estimates[source as usize].push(&trial.scores, decision.chosen);
            passes.trial = None;
            let (part, parts) = self.config.share;
            let next = at + parts.max(1);
            passes.at = if next < self.decisions.len() {
                (pass, next)
            } else {
                (pass + 1, part)
            };
        }
    }

    /// Returns what this analysis has found so far in its share of the steps, from one source of
    /// states.
    pub fn estimates(&self, source: StateSource) -> impl Iterator<Item = StepEstimates> {
        self.found(source, true)
    }

    /// Returns what other analyses have found about their shares of the steps, as far as it was
    /// received.
    pub fn received(&self) -> impl Iterator<Item = StepEstimates> {
        let sources = StateSource::ALL.into_iter();
        sources.flat_map(|source| self.found(source, false))
    }

    /// Returns the estimates of the steps of the own share, or of those of others.
    fn found(&self, source: StateSource, own: bool) -> impl Iterator<Item = StepEstimates> {
        let steps = self.decisions.iter();
        let steps = steps.filter(move |decision| self.is_own(decision.index) == own);
        let found = steps.map(move |decision| StepEstimates {
            index: decision.index,
            source,
            estimates: decision.estimates[source as usize].clone(),
        });
        found.filter(|step| step.estimates.rollouts() > 0)
    }

    /// Takes what another analysis of the same episode, with the same policy and configuration but
    /// another share, has found about a step. Fewer rollouts than are known are the beginning of a
    /// repetition, and change nothing. Returns `false` if the step is not of another share, or has other
    /// actions.
    pub fn receive(&mut self, step: StepEstimates) -> bool {
        let is_own = self.is_own(step.index);
        let Some(decision) = self.decisions.get_mut(step.index).filter(|_| !is_own) else {
            return false;
        };
        if !step.estimates.has_actions(decision.actions.len()) {
            return false;
        }
        let known = &mut decision.estimates[step.source as usize];
        let rollouts = |estimates: &Estimates| u64::from(estimates.rollouts());
        let (old, new) = (rollouts(known), rollouts(&step.estimates));
        if new < old {
            return true;
        }
        let done = &mut self.passes[step.source as usize].progress.done;
        let actions = decision.actions.len() as u64;
        *done += (new - old) * actions;
        *known = step.estimates;
        true
    }

    const fn is_own(&self, index: usize) -> bool {
        let (part, parts) = self.config.share;
        parts <= 1 || index % parts == part
    }

    /// Returns the number of rollouts that were done or received, and of all rollouts of the
    /// episode.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let mut sum = Progress::default();
        for source in StateSource::ALL {
            if self.is_wanted(source) {
                let progress = self.progress_of(source);
                sum.done += progress.done;
                sum.total += progress.total;
            }
        }
        sum
    }

    /// Returns the number of rollouts from one source of states, done or received, and of all.
    #[must_use]
    pub const fn progress_of(&self, source: StateSource) -> Progress {
        self.passes[source as usize].progress
    }

    /// Returns the results so far.
    #[must_use]
    pub fn report(&self) -> EpisodeReport<W::Action> {
        let steps = self.decisions.iter().map(|decision| {
            let observation = decision.state.observation();
            StepReport::new(
                (decision.index, W::step_count(observation)),
                (&decision.actions, decision.chosen, decision.own),
                &decision.estimates,
                self.score,
                self.config.margin,
            )
        });
        EpisodeReport::new(self.score, steps.collect())
    }
}

/// Returns the seed of the state in which the actions of a step are compared for the `pass`-th
/// time. It does not depend on the episode, apart from the position of the step.
const fn trial_seed(config: &AnalysisConfig, step: usize, pass: u32) -> u64 {
    let step_seed = derive_seed(config.seed, step as u64 + 1);
    derive_seed(step_seed, pass as u64 + 1)
}

impl<W: Analyzable> Decision<W> {
    fn sample(&self, source: StateSource, seed: u64) -> W {
        match source {
            StateSource::Belief => {
                let evidence = &self.rollouts.evidence;
                evidence.sample(self.state.observation(), seed)
            }
            StateSource::Hindsight => self.state.with_outcome_seed(seed),
        }
    }
}
