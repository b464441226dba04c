//! A session speaks the reference's protocol: reset, JSON action, step, payload, report.

use super::payload::EndInfo;
use super::report::{FORMULAS, component_averages};
use super::{
    ActionMessage, Breakdown, Episode, EpisodeOver, Event, Fingerprint, Fingerprints, Observation,
    ObservationPayload, ResetError, ResetRequest, RewardPayload, RewardReport, Scenario, Setup,
    StatePayload, Step, StepError, StepInfo, StepResult, StreamPayload, Task, text,
};
use crate::controller::Controller;
use crate::digest::uuid;
use crate::num::round_to;
use crate::rng::derive_seed;
use crate::slot::Slot;

/// One episode with its trace.
#[derive(Clone, Debug)]
pub struct Session {
    episode: Episode,
    episode_id: String,
    session_id: String,
    events: Vec<Event>,
    steps: Vec<Step>,
    fingerprints: Fingerprints,
}

impl Session {
    /// Wraps a fresh episode. Ids are derived from its setup, so that equal runs have equal ids.
    #[must_use]
    pub fn new(setup: &Setup) -> Self {
        let episode = Episode::reset(setup);
        let scenario = episode.scenario();
        let place = u64::from(scenario.variant) << 8 | scenario.task as u64;
        let id = |salt| uuid(derive_seed(setup.seed, salt), derive_seed(place, salt));
        Self {
            episode,
            episode_id: id(11),
            session_id: id(12),
            events: Vec::with_capacity(48),
            steps: Vec::with_capacity(48),
            fingerprints: Fingerprints::default(),
        }
    }

    /// Starts what a request asks for.
    ///
    /// # Errors
    /// If the task or the scenario does not exist.
    pub fn reset(request: &ResetRequest, controller: &Controller) -> Result<Self, ResetError> {
        let name = request.task_type.as_deref().unwrap_or("task3");
        let scenario = request
            .scenario_id
            .as_deref()
            .map(Scenario::by_id)
            .transpose()?;
        let task = match scenario {
            Some(scenario) => scenario.task,
            None => Task::parse(name).ok_or_else(|| ResetError::UnknownTask(name.to_owned()))?,
        };
        let profile = controller.profile(request.adaptive);
        Ok(Self::new(&Setup {
            scenario,
            profile,
            ..Setup::new(task, request.seed, request.streams)
        }))
    }

    /// Takes a typed action and records it.
    ///
    /// # Errors
    /// [`EpisodeOver`] after the end; nothing changes then.
    pub fn act(&mut self, action: super::Action) -> Result<Step, EpisodeOver> {
        let step = self.episode.step(action)?;
        self.events.push(Event::of_step(&self.episode, &step));
        self.events.extend(Event::of_terminal(&self.episode, &step));
        self.fingerprints.push(&self.episode, &step);
        self.steps.push(step);
        Ok(step)
    }

    /// Takes a JSON action. At the end of an adaptive episode the caller's controller learns of it.
    ///
    /// # Errors
    /// See [`StepError`]; nothing changes then.
    pub fn step(
        &mut self,
        message: &ActionMessage,
        controller: &mut Controller,
    ) -> Result<StepResult, StepError> {
        if self.episode.observation().done() {
            return Err(EpisodeOver.into());
        }
        if let Some(given) = message.session_id.as_deref().filter(|id| !id.is_empty())
            && given != self.session_id
        {
            return Err(StepError::OtherSession {
                given: given.to_owned(),
                own: self.session_id.clone(),
            });
        }
        let step = self.act(message.parse()?)?;
        if step.terminal.is_some() && self.episode.setup().profile.adaptive {
            self.episode.report_to(controller);
        }
        Ok(self.result())
    }

    /// The payload of the last reset or step.
    #[must_use]
    pub fn result(&self) -> StepResult {
        let observation = self.episode.observation();
        StepResult {
            observation: self.observation_payload(),
            reward: self.reward_payload(),
            done: observation.done(),
            info: self.info(),
        }
    }

    fn reward_payload(&self) -> RewardPayload {
        match self.events.last() {
            None => RewardPayload {
                value: 0.0,
                reason: "Episode started.".to_owned(),
                signal_breakdown: Breakdown::default(),
            },
            Some(event) => RewardPayload {
                value: event.reward,
                reason: event.reason.clone(),
                signal_breakdown: event.signal_breakdown,
            },
        }
    }

    fn observation_payload(&self) -> ObservationPayload {
        let (o, scenario) = (self.episode.observation(), self.episode.scenario());
        let current = (!o.done())
            .then(|| scenario.nodes().nth(o.progress.position()))
            .flatten();
        ObservationPayload {
            session_id: self.session_id.clone(),
            scenario_id: scenario.id(),
            task_type: o.task,
            difficulty: o.task.difficulty(),
            task_description: text::describe_scenario(scenario),
            current_subtask: current.map_or_else(
                || text::ALL_DONE.to_owned(),
                |node| text::describe_node(&node),
            ),
            subtask_index: subtask_index(o),
            subtasks_total: scenario.len(),
            subtasks_remaining: o.progress.remaining(),
            available_specialists: Slot::ALL,
            trust_snapshot: o.ledger.snapshot(),
            behavioral_fingerprints: Fingerprint::of(&o.ledger),
            difficulty_profile: self.episode.setup().profile,
            stakes_level: o.stakes,
            step_count: o.step_count,
            max_steps: o.max_steps,
            last_action_summary: self.steps.last().map(text::summary),
            last_reward: self.last_reward(),
            episode_status: o.status,
            rules: o.rules,
        }
    }

    /// Reward of the last event: on the last step the terminal one (quirk Q1).
    fn last_reward(&self) -> f64 {
        self.events.last().map_or(0.0, |event| event.reward)
    }

    fn info(&self) -> StepInfo {
        let (o, tally) = (self.episode.observation(), self.episode.tally());
        StepInfo {
            episode_id: self.episode_id.clone(),
            session_id: self.session_id.clone(),
            step_count: o.step_count,
            max_steps: o.max_steps,
            total_reward: round_to(tally.total_reward, 4),
            score: round_to(tally.score(), 4),
            end: self
                .steps
                .last()
                .and_then(|step| step.terminal)
                .map(|end| self.end_info(end.forced)),
        }
    }

    fn end_info(&self, forced_end: bool) -> EndInfo {
        let (o, tally) = (self.episode.observation(), self.episode.tally());
        EndInfo {
            scenario_id: self.episode.scenario().id(),
            task_type: o.task,
            subtasks_total: self.episode.scenario().len(),
            subtasks_completed: o.progress.completed(),
            subtasks_failed: o.progress.failed(),
            subtasks_remaining: o.progress.remaining(),
            completion_rate: round_to(o.progress.completion(), 3),
            adversarial_detections: tally.detections,
            adversarial_poisonings: tally.poisonings,
            is_done: o.progress.is_done(),
            trust_snapshot: o.ledger.snapshot(),
            forced_end,
            difficulty_profile: self.episode.setup().profile,
            reward_report: self.reward_report(),
        }
    }

    /// The report over the episode so far.
    #[must_use]
    pub fn reward_report(&self) -> RewardReport {
        let tally = self.episode.tally();
        RewardReport {
            episode_id: self.episode_id.clone(),
            session_id: self.session_id.clone(),
            task_type: self.episode.observation().task,
            score: round_to(tally.score(), 4),
            total_reward: round_to(tally.total_reward, 4),
            reward_events: tally.reward_events,
            component_averages: component_averages(&self.events),
            events: self.events.clone(),
            formula: FORMULAS,
        }
    }

    /// The whole state.
    #[must_use]
    pub fn state(&self) -> StatePayload {
        let (o, tally) = (self.episode.observation(), self.episode.tally());
        StatePayload {
            episode_id: self.episode_id.clone(),
            session_id: self.session_id.clone(),
            step_count: o.step_count,
            max_steps: o.max_steps,
            total_reward: round_to(tally.total_reward, 4),
            score: round_to(tally.score(), 4),
            done: o.done(),
            scenario_id: self.episode.scenario().id(),
            task_type: o.task,
            difficulty: o.task.difficulty(),
            status: o.status,
            last_reward: self.last_reward(),
            subtasks_completed: o.progress.completed(),
            subtasks_total: self.episode.scenario().len(),
            trust_snapshot: o.ledger.snapshot(),
            adversarial_detections: tally.detections,
            adversarial_poisonings: tally.poisonings,
            behavioral_fingerprints: Fingerprint::of(&o.ledger),
            difficulty_profile: self.episode.setup().profile,
        }
    }

    /// The short form for a live view.
    #[must_use]
    pub fn stream(&self) -> StreamPayload {
        let o = self.episode.observation();
        StreamPayload {
            session_id: self.session_id.clone(),
            step_count: o.step_count,
            max_steps: o.max_steps,
            done: o.done(),
            trust_snapshot: o.ledger.snapshot(),
            behavioral_fingerprints: Fingerprint::of(&o.ledger),
            difficulty_profile: self.episode.setup().profile,
            last_action_summary: self.steps.last().map(text::summary),
            last_reward: self.last_reward(),
        }
    }

    /// The episode inside.
    #[must_use]
    pub const fn episode(&self) -> &Episode {
        &self.episode
    }

    /// All reward events so far.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The last step taken.
    #[must_use]
    pub fn last_step(&self) -> Option<&Step> {
        self.steps.last()
    }

    /// All steps taken.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The digest of the trajectory so far.
    #[must_use]
    pub const fn fingerprints(&self) -> &Fingerprints {
        &self.fingerprints
    }
}

/// 0-based index of the current subtask; the number of subtasks once the episode has ended.
pub(super) fn subtask_index(o: &Observation) -> usize {
    if o.done() {
        o.task.nodes()
    } else {
        o.progress.position()
    }
}
