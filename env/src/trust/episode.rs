//! The hot path: reset and step of one episode, without allocation (spec trust §7, §8).

use super::{
    Action, Adversary, Answer, Change, EpisodeOver, GradeInput, Hidden, LastStep, Ledger,
    NodeState, Observation, Progress, Scenario, Setup, Status, Step, Tally, Task, Terminal,
    TerminalInput, grade, outcome, terminal,
};
use crate::controller::Controller;
use crate::ledger::Report;
use crate::slot::{PerSlot, Slot};

/// Stakes from which believed poison ends the episode.
const FATAL_STAKES: f64 = 0.85;

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
    /// Chances of success that the calls to each slot had, summed; kept under [`Change::Calibration`].
    promised: PerSlot<f64>,
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
            rules: setup.rules,
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
            promised: PerSlot::default(),
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
        let mut step = Step::new(action, node, domain, self.observation.stakes);
        let called = action.slot().map(|slot| self.call(slot, &mut step));
        let right = called.as_ref().is_some_and(|call| call.raw_success);
        let answer = Answer::of(step.adversarial, right);
        let outcome = outcome(self.setup.rules, action, step.specialist_cost, answer);
        step.success = (action != Action::Skip).then_some(outcome.success);
        step.own_work = outcome.own_work;
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
        self.observation.step_count += outcome.cost;
        self.reward(&mut step, called.map(|call| call.raw_success), outcome.cost);
        step.terminal = self.finish(&step);
        self.offer_next();
        Ok(step)
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
        if self.setup.rules.has(Change::Calibration) {
            self.promised.0[slot.index()] += execution.success_chance.unwrap_or(0.0);
        }
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
            own_work: step.own_work,
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
            rules: self.setup.rules,
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
        if self.setup.rules.has(Change::Unfinished) {
            // The score is a mean over events: what was left open belongs into it.
            self.tally.reward_events += u16::from(self.observation.progress.remaining());
        }
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

    /// Calibration of the ledger against the hidden reliabilities; under [`Change::Calibration`],
    /// of the slots that were called against the mean chance of success of those calls.
    #[must_use]
    pub fn calibration(&self) -> f64 {
        let ledger = &self.observation.ledger;
        if self.setup.rules.has(Change::Calibration) {
            ledger.calibration_of_calls(&self.promised)
        } else {
            ledger.calibration(&self.hidden.reliability())
        }
    }

    /// Tells a controller how this ended episode went. Under [`Change::Detection`] an episode without
    /// encounters tells nothing; in the reference it counts as if all were missed (quirk Q17).
    pub fn report_to(&self, controller: &mut Controller) {
        let encounters = self.tally.detections + self.tally.poisonings;
        if encounters > 0 || !self.setup.rules.has(Change::Detection) {
            controller.update(self.tally.detections, encounters);
        }
    }

    /// The same episode with another hidden state: what would be seen from here on had others sat
    /// behind the slots. Luck stands where it stood. For tests and for look-ahead from beliefs.
    #[must_use]
    pub fn with_hidden(mut self, hidden: Hidden) -> Self {
        self.hidden = hidden.drawn_as_far_as(&self.hidden);
        self.observation.adversary = hidden.adversary;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;
    use crate::trust::Behaviour;

    /// Who sits behind the slots does not show at reset.
    #[test]
    fn reset_betrays_nothing() {
        let setup = Setup::new(Task::Task3, 5, Streams::Independent);
        let (variant, hidden) = Hidden::from_seed(5, setup.streams, Adversary::default());
        let plain = Episode::start(&setup, variant, hidden);
        for turn in 0..5 {
            let mut behaviours = Behaviour::ALL;
            behaviours.rotate_left(turn);
            let other = Episode::start(&setup, variant, hidden.with_assignment(behaviours));
            assert_eq!(other.observation(), plain.observation());
            assert_eq!(other.scenario(), plain.scenario());
        }
    }

    /// Hidden state of an episode that has drawn much does not run a fresh one out of luck.
    #[test]
    fn luck_stands_where_it_stood() {
        let setup = Setup::new(Task::Task3, 5, Streams::Independent);
        let mut ended = Episode::reset(&setup);
        while ended.step(Action::Delegate(Slot::ALL[1])).is_ok() {}
        let mut fresh = Episode::reset(&setup).with_hidden(*ended.hidden());
        assert_eq!(fresh.hidden().draws(), 0);
        while fresh.step(Action::Delegate(Slot::ALL[1])).is_ok() {}
        assert_eq!(fresh, ended);
    }
}
