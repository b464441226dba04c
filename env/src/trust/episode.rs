//! The hot path: reset and step of one episode, without allocation (spec trust §7, §8).

use super::{
    Action, Adversary, Domain, GradeInput, Grades, Hidden, LastStep, Ledger, NodeState,
    Observation, Progress, Scenario, Status, Task, Terminal, TerminalInput, grade, terminal,
};
use crate::controller::DifficultyProfile;
use crate::ledger::Report;
use crate::num::clip01;
use crate::rng::Streams;
use crate::slot::Slot;

/// Stakes from which believed poison ends the episode.
const FATAL_STAKES: f64 = 0.85;

/// What an episode is made from. The same setup and actions give the same trajectory everywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    /// The task.
    pub task: Task,
    /// A fixed scenario instead of the one that the seed picks.
    pub scenario: Option<Scenario>,
    /// The seed.
    pub seed: u64,
    /// How the streams are seeded.
    pub streams: Streams,
    /// Difficulty, from a [`crate::controller::Controller`] or the default.
    pub profile: DifficultyProfile,
}

impl Setup {
    /// A setup with default difficulty and the scenario that the seed picks.
    #[must_use]
    pub fn new(task: Task, seed: u64, streams: Streams) -> Self {
        Self {
            task,
            scenario: None,
            seed,
            streams,
            profile: DifficultyProfile::default(),
        }
    }
}

/// A step was asked for after the end. The episode is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the episode has ended: reset before the next step")]
pub struct EpisodeOver;

/// Running totals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Sum of all reward events, terminal included.
    pub total_reward: f64,
    /// Number of reward events.
    pub reward_events: u16,
    /// Actions taken.
    pub actions: u16,
    /// Poisonings kept out.
    pub detections: u16,
    /// Poisonings let in.
    pub poisonings: u16,
}

impl Tally {
    /// Mean reward per event, 0..1: the episode's score (quirk Q3).
    #[must_use]
    pub fn score(&self) -> f64 {
        if self.reward_events == 0 {
            0.0
        } else {
            clip01(self.total_reward / f64::from(self.reward_events))
        }
    }
}

/// Everything that one step did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// What was done.
    pub action: Action,
    /// Index of the subtask.
    pub node: usize,
    /// Attempts at it so far.
    pub attempt: u8,
    /// Its domain.
    pub domain: Domain,
    /// Its stakes.
    pub stakes: f64,
    /// Components and reward of this step.
    pub grades: Grades,
    /// Whether the outcome stream was drawn from.
    pub drew: bool,
    /// Whether the adversary poisoned, caught or not.
    pub adversarial: bool,
    /// Stated confidence, when a specialist was called.
    pub confidence: Option<f64>,
    /// `Some` only when the domain-bound specialist was called.
    pub in_domain: Option<bool>,
    /// Calls to the slot before this one.
    pub calls_before: u16,
    /// Chance of success that luck was held against.
    pub success_chance: Option<f64>,
    /// Steps that the specialist itself took.
    pub specialist_cost: u8,
    /// What became of the subtask; `None` when it was skipped.
    pub success: Option<bool>,
    /// Trust in the called slot before this step.
    pub trust_before: Option<f64>,
    /// The end, when this step ended the episode.
    pub terminal: Option<Terminal>,
}

/// What calling a specialist led to.
struct Call {
    slot: Slot,
    raw_success: bool,
    confidence: f64,
}

/// One episode as a plain value: cheap to copy, so look-ahead and branching need no replay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Episode {
    observation: Observation,
    hidden: Hidden,
    scenario: Scenario,
    tally: Tally,
    setup: Setup,
}

impl Episode {
    /// Starts an episode.
    #[must_use]
    pub fn reset(setup: &Setup) -> Self {
        let profile = &setup.profile;
        let adversary = Adversary {
            threshold: profile.adversarial_threshold,
            benign_confidence: profile.adversary_benign_confidence,
            poison_confidence: profile.adversary_poison_confidence,
        };
        let (variant, hidden) = Hidden::from_seed(setup.seed, setup.streams, adversary);
        Self::start(setup, variant, hidden)
    }

    pub(super) fn start(setup: &Setup, variant: u8, hidden: Hidden) -> Self {
        let mut scenario = setup
            .scenario
            .unwrap_or_else(|| Scenario::new(setup.task, variant));
        if setup.profile.adaptive && scenario.task == Task::Task3 {
            scenario = scenario.harden(&setup.profile);
        }
        let task = scenario.task;
        let mut progress = Progress::new(scenario.len());
        progress.offer();
        let budget = task
            .base_budget()
            .saturating_sub(setup.profile.verify_budget_penalty);
        let observation = Observation {
            task,
            variant: scenario.variant,
            stakes: scenario.stakes(0),
            domain: task.base_node(0).map(|(domain, _)| domain),
            progress,
            step_count: 0,
            max_steps: budget.max(scenario.len() as u8),
            adversary: hidden.adversary,
            ledger: Ledger::default(),
            last: None,
            status: Status::Active,
        };
        Self {
            observation,
            hidden,
            scenario,
            tally: Tally::default(),
            setup: *setup,
        }
    }

    /// Takes one action.
    ///
    /// # Errors
    /// [`EpisodeOver`] after the end; nothing changes then.
    pub fn step(&mut self, action: Action) -> Result<Step, EpisodeOver> {
        let node = self.observation.progress.position();
        let Some(domain) = self.observation.domain else {
            return Err(EpisodeOver);
        };
        let mut step = self.blank_step(action, node, domain);
        let called = action.slot().map(|slot| self.call(slot, &mut step));
        let verify = u8::from(matches!(action, Action::Verify(_)));
        let cost = match action {
            Action::Delegate(_) | Action::Verify(_) => step.specialist_cost + verify,
            Action::SolveIndependently => 2,
            Action::Skip => 1,
        };
        step.success = match &called {
            // Poison that is checked is caught, and the subtask is done.
            Some(call) => Some(if step.adversarial {
                verify == 1
            } else {
                call.raw_success
            }),
            None => (action == Action::SolveIndependently).then_some(true),
        };
        self.record(&mut step);
        if let Some(call) = &called {
            let (success, confidence) = (call.raw_success, call.confidence);
            let report = Report {
                success,
                stakes: step.stakes,
                confidence,
                domain: domain as usize,
            };
            self.observation.ledger.update(call.slot, report);
        }
        self.observation.step_count += cost;
        self.reward(&mut step, called.map(|call| call.raw_success), cost);
        step.terminal = self.finish(&step);
        self.offer_next();
        Ok(step)
    }

    fn blank_step(&self, action: Action, node: usize, domain: Domain) -> Step {
        Step {
            action,
            node,
            attempt: 0,
            domain,
            stakes: self.observation.stakes,
            grades: Grades {
                task_accuracy: 0.0,
                stakes_awareness: 0.0,
                efficiency: 0.0,
                confidence_alignment: 0.0,
                domain_routing: 0.0,
                verification_quality: 0.0,
                reward: 0.0,
                skipped: false,
            },
            drew: false,
            adversarial: false,
            confidence: None,
            in_domain: None,
            calls_before: 0,
            success_chance: None,
            specialist_cost: 0,
            success: None,
            trust_before: None,
            terminal: None,
        }
    }

    /// Has the specialist behind `slot` work on the current subtask.
    #[inline]
    fn call(&mut self, slot: Slot, step: &mut Step) -> Call {
        let evidence = &self.observation.ledger[slot];
        let behaviour = self.hidden.assignment[slot];
        let adversary = &self.hidden.adversary;
        let execution = behaviour.execute(step.domain, step.stakes, evidence.calls, adversary);
        step.trust_before = Some(evidence.trust());
        step.calls_before = evidence.calls;
        step.confidence = Some(execution.confidence);
        step.in_domain = execution.in_domain;
        step.specialist_cost = execution.cost;
        step.success_chance = execution.success_chance;
        step.adversarial = execution.success_chance.is_none();
        step.drew = !step.adversarial;
        let raw_success = execution
            .success_chance
            .is_some_and(|chance| self.hidden.draw() < chance);
        Call {
            slot,
            raw_success,
            confidence: execution.confidence,
        }
    }

    fn record(&mut self, step: &mut Step) {
        let outcome = match step.success {
            None => NodeState::Skipped,
            Some(true) => NodeState::Completed,
            Some(false) => NodeState::Failed,
        };
        step.attempt = self.observation.progress.record(outcome);
        if step.adversarial {
            self.tally.detections += u16::from(step.success == Some(true));
            self.tally.poisonings += u16::from(step.success == Some(false));
        }
    }

    fn reward(&mut self, step: &mut Step, reported: Option<bool>, cost: u8) {
        let observation = &mut self.observation;
        step.grades = grade(&GradeInput {
            task: observation.task,
            action: step.action,
            success: step.success == Some(true),
            stakes: step.stakes,
            adversarial: step.adversarial,
            confidence: step.confidence,
            in_domain: step.in_domain,
            trust_before: step.trust_before,
            step_count: observation.step_count,
            max_steps: observation.max_steps,
        });
        self.tally.total_reward += step.grades.reward;
        self.tally.reward_events += 1;
        self.tally.actions += 1;
        observation.last = Some(LastStep {
            action: step.action,
            cost,
            success: reported,
            reward: step.grades.reward,
            stakes: step.stakes,
            domain: step.domain,
        });
    }

    /// The terminal reward, when this step was the last.
    fn finish(&mut self, step: &Step) -> Option<Terminal> {
        let observation = &self.observation;
        let believed_poison = step.adversarial && matches!(step.action, Action::Delegate(_));
        let forced = believed_poison && step.stakes >= FATAL_STAKES;
        let spent = observation.step_count >= observation.max_steps;
        if !(forced || spent || observation.progress.is_done()) {
            return None;
        }
        let end = terminal(&TerminalInput {
            task: observation.task,
            completion: observation.progress.completion(),
            calibration: self.calibration(),
            detections: self.tally.detections,
            poisonings: self.tally.poisonings,
            step_count: observation.step_count,
            max_steps: observation.max_steps,
            last_reward: step.grades.reward,
            forced,
        });
        self.tally.total_reward += end.reward;
        self.tally.reward_events += 1;
        self.observation.status = if forced {
            Status::Failed
        } else {
            Status::Completed
        };
        Some(end)
    }

    /// Shows the next subtask, or none after the end.
    #[inline]
    fn offer_next(&mut self) {
        let observation = &mut self.observation;
        if observation.status == Status::Active {
            observation.progress.offer();
            let position = observation.progress.position();
            observation.stakes = self.scenario.stakes(position);
            observation.domain = observation
                .task
                .base_node(position)
                .map(|(domain, _)| domain);
        } else {
            observation.stakes = 0.0;
            observation.domain = None;
        }
    }

    /// What a policy may see.
    #[must_use]
    pub const fn observation(&self) -> &Observation {
        &self.observation
    }

    /// What only an oracle, a test or the page's "truth" switch may see.
    #[must_use]
    pub const fn hidden(&self) -> &Hidden {
        &self.hidden
    }

    /// Running totals.
    #[must_use]
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The scenario with the stakes that are played.
    #[must_use]
    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// What the episode was made from.
    #[must_use]
    pub const fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Calibration of the ledger against the hidden reliabilities.
    #[must_use]
    pub fn calibration(&self) -> f64 {
        self.observation
            .ledger
            .calibration(&self.hidden.reliability())
    }

    /// The same episode with another hidden state: what would have been seen had others sat behind
    /// the slots. For tests and for look-ahead from beliefs.
    #[must_use]
    pub fn with_hidden(mut self, hidden: Hidden) -> Self {
        self.hidden = hidden;
        self
    }
}
