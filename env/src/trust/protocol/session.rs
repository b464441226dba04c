//! The reference's protocol: reset, JSON action, step, payload, report (spec trust §11).

use super::breakdown::{Breakdown, EvidenceSummary};
use super::message::{ActionError, ActionMessage, ResetError, ResetRequest};
use super::payload::{
    EndInfo, ObservationPayload, RewardPayload, StatePayload, StepInfo, StepResult, StreamPayload,
};
use super::report::{Event, FORMULAS, RewardReport, component_averages};
use super::text;
use crate::adaptive_difficulty::DifficultyController;
use crate::environment::{AdaptiveDifficulty, Environment};
use crate::num::round_to;
use crate::protocol::{self, Protocol};
use crate::slot::Slot;
use crate::task::Task;
use crate::trust::Episode;
use crate::trust::model::{Action, EpisodeOver, Observation, Scenario, Setup, Step, TaskLayout};

/// A session of the trust world.
pub type Session = protocol::Session<Episode>;

/// The reward events of an episode.
#[derive(Clone, Debug, Default)]
pub struct EventLog(Vec<Event>);

impl Protocol for Episode {
    type Request = ResetRequest;
    type ResetError = ResetError;
    type Message = ActionMessage;
    type ActionError = ActionError;
    type Reply = StepResult;
    type Log = EventLog;
    type Curriculum = DifficultyController;
    type MessageExtras = ();
    const EPISODE_OVER: EpisodeOver = EpisodeOver;
    const ID_SALT: u64 = 11;

    fn id_key(&self) -> u64 {
        let scenario = self.scenario();
        u64::from(scenario.variant) << 8 | scenario.task as u64
    }

    fn resolve_request(
        request: &ResetRequest,
        controller: &DifficultyController,
    ) -> Result<(Setup, EventLog), ResetError> {
        let name = request.task_type.as_deref().unwrap_or("task3");
        let scenario = request
            .scenario_id
            .as_deref()
            .map(Scenario::from_id)
            .transpose()?;
        let task = match scenario {
            Some(scenario) => scenario.task,
            None => Task::parse(name).ok_or_else(|| ResetError::UnknownTask(name.to_owned()))?,
        };
        let setup = Setup {
            variant: scenario.map(|scenario| scenario.variant),
            profile: controller.profile(request.adaptive),
            ..Setup::new(task, request.seed, request.streams)
        };
        Ok((setup, EventLog::default()))
    }

    fn session_id(message: &ActionMessage) -> Option<&str> {
        message.session_id.as_deref()
    }

    fn parse_message(&self, message: &ActionMessage) -> Result<(Action, ()), ActionError> {
        Ok((message.parse()?, ()))
    }

    fn record(session: &mut Session, step: &Step, (): ()) {
        let events = &mut session.log.0;
        events.push(Event::from_step(&session.episode, step));
        events.extend(Event::from_terminal(&session.episode, step));
    }

    fn report_end(session: &mut Session, controller: &mut DifficultyController) {
        if session.episode.setup().profile.adaptive {
            session.episode.report_to(controller);
        }
    }

    fn reply(session: &Session) -> StepResult {
        StepResult {
            observation: session.observation_payload(),
            reward: session.reward_payload(),
            done: session.episode.observation().done(),
            info: session.info(),
        }
    }
}

impl Session {
    fn reward_payload(&self) -> RewardPayload {
        match self.log.0.last() {
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

    /// Builds the observation for an agent: the payload without the session's id.
    #[must_use]
    pub fn agent_observation(&self) -> ObservationPayload {
        ObservationPayload {
            session_id: None,
            ..self.observation_payload()
        }
    }

    fn observation_payload(&self) -> ObservationPayload {
        let (o, scenario) = (self.episode.observation(), self.episode.scenario());
        ObservationPayload {
            session_id: Some(self.session_id().to_owned()),
            scenario_id: scenario.id(),
            task_type: o.task,
            difficulty: o.task.difficulty(),
            task_description: text::describe_scenario(scenario),
            current_subtask: text::describe_current_subtask(&self.episode),
            subtask_index: subtask_index(o),
            subtasks_total: scenario.len(),
            subtasks_remaining: o.progress.remaining(),
            available_specialists: Slot::ALL,
            trust_snapshot: o.ledger.rounded_trust(),
            behavioral_fingerprints: EvidenceSummary::from_ledger(&o.ledger),
            difficulty_profile: self.episode.setup().profile,
            stakes_level: o.stakes,
            step_count: o.step_count,
            max_steps: o.max_steps,
            last_action_summary: self.last_step().map(text::step_summary),
            last_reward: self.last_reward(),
            episode_status: o.status,
            rules: o.rules,
        }
    }

    /// Returns the reward of the last event, which on the last step is the terminal one (quirk Q1).
    fn last_reward(&self) -> f64 {
        self.log.0.last().map_or(0.0, |event| event.reward)
    }

    fn info(&self) -> StepInfo {
        let (o, tally) = (self.episode.observation(), self.episode.tally());
        StepInfo {
            episode_id: self.episode_id().to_owned(),
            session_id: self.session_id().to_owned(),
            step_count: o.step_count,
            max_steps: o.max_steps,
            total_reward: round_to(tally.total_reward, 4),
            score: round_to(tally.score(), 4),
            end: self
                .last_step()
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
            completion_rate: round_to(o.progress.completion_rate(), 3),
            adversarial_detections: tally.detections,
            adversarial_poisonings: tally.poisonings,
            is_done: o.progress.is_done(),
            trust_snapshot: o.ledger.rounded_trust(),
            forced_end,
            difficulty_profile: self.episode.setup().profile,
            reward_report: self.reward_report(),
        }
    }

    /// Builds the report on the episode so far.
    #[must_use]
    pub fn reward_report(&self) -> RewardReport {
        let tally = self.episode.tally();
        RewardReport {
            episode_id: self.episode_id().to_owned(),
            session_id: self.session_id().to_owned(),
            task_type: self.episode.observation().task,
            score: round_to(tally.score(), 4),
            total_reward: round_to(tally.total_reward, 4),
            reward_events: tally.reward_events,
            component_averages: component_averages(&self.log.0),
            events: self.log.0.clone(),
            formula: FORMULAS,
        }
    }

    /// Builds the payload with the state of the episode.
    #[must_use]
    pub fn state(&self) -> StatePayload {
        let (o, tally) = (self.episode.observation(), self.episode.tally());
        StatePayload {
            episode_id: self.episode_id().to_owned(),
            session_id: self.session_id().to_owned(),
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
            trust_snapshot: o.ledger.rounded_trust(),
            adversarial_detections: tally.detections,
            adversarial_poisonings: tally.poisonings,
            behavioral_fingerprints: EvidenceSummary::from_ledger(&o.ledger),
            difficulty_profile: self.episode.setup().profile,
        }
    }

    /// Builds the short form of the state for a live view.
    #[must_use]
    pub fn stream(&self) -> StreamPayload {
        let o = self.episode.observation();
        StreamPayload {
            session_id: self.session_id().to_owned(),
            step_count: o.step_count,
            max_steps: o.max_steps,
            done: o.done(),
            trust_snapshot: o.ledger.rounded_trust(),
            behavioral_fingerprints: EvidenceSummary::from_ledger(&o.ledger),
            difficulty_profile: self.episode.setup().profile,
            last_action_summary: self.last_step().map(text::step_summary),
            last_reward: self.last_reward(),
        }
    }

    /// Returns all reward events so far, in order.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.log.0
    }
}

/// Returns the index of the current subtask, from 0, or the number of subtasks once the episode has
/// ended.
pub(super) fn subtask_index(o: &Observation) -> usize {
    if o.done() {
        TaskLayout::for_task(o.task).len()
    } else {
        o.progress.position()
    }
}
