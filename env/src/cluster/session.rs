//! A session speaks the reference's protocol: reset, JSON action, step, payload, report.

use super::log::AuditLog;
use super::payload::{GpuRow, JobRow};
use super::{
    Action, ActionMessage, ActionType, Agent, AuditSnapshot, Breakdown, ClusterSummary, Coverage,
    Episode, Event, Investigation, JobsSummary, MessageError, ObservationPayload, ResetRequest,
    RewardPayload, RewardReport, Setup, StatePayload, Step, StepError, StepInfo, StepResult,
    StreamPayload, Task, UnknownTask, fingerprints, text,
};
use crate::controller::{Controller, DifficultyProfile};
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
    /// The difficulty that payloads show: after an adaptive episode, what was learned from it.
    profile: DifficultyProfile,
    events: Vec<Event>,
    steps: Vec<Step>,
    log: AuditLog,
}

impl Session {
    /// Wraps a fresh episode. Ids are derived from its setup, so that equal runs have equal ids.
    #[must_use]
    pub fn new(setup: &Setup) -> Self {
        Self {
            episode: Episode::reset(setup),
            episode_id: id(setup, 21),
            session_id: id(setup, 22),
            profile: setup.profile,
            events: Vec::new(),
            steps: Vec::new(),
            log: AuditLog::default(),
        }
    }

    /// Starts what a request asks for.
    ///
    /// # Errors
    /// If the task does not exist.
    pub fn reset(request: &ResetRequest, controller: &Controller) -> Result<Self, UnknownTask> {
        let name = request.task_type.as_deref().unwrap_or("task3");
        let task = Task::parse(name).ok_or_else(|| UnknownTask(name.to_owned()))?;
        Ok(Self::new(&Setup {
            profile: controller.profile(request.adaptive),
            ..Setup::new(task, request.seed, request.streams)
        }))
    }

    /// Takes a typed action and records it.
    ///
    /// # Errors
    /// See [`StepError`]; nothing changes then.
    pub fn act(&mut self, action: Action) -> Result<Step, StepError> {
        let step = self.episode.step(action)?;
        let message = ActionMessage {
            session_id: Some(self.session_id.clone()),
            ..action.into()
        };
        let attack_id = id(self.episode.setup(), 100 + self.steps.len() as u64);
        let event = Event::of_step(&self.episode, &step, message, attack_id);
        self.events.push(event);
        self.events.extend(Event::of_terminal(&self.episode, &step));
        self.log.push(&self.episode, &step);
        self.steps.push(step);
        Ok(step)
    }

    /// Takes a JSON action. At the end of an adaptive episode the caller's controller learns of it.
    ///
    /// # Errors
    /// See [`MessageError`]; nothing changes then.
    pub fn step(
        &mut self,
        message: &ActionMessage,
        controller: &mut Controller,
    ) -> Result<StepResult, MessageError> {
        if self.episode.observation().done() {
            return Err(StepError::Over.into());
        }
        if let Some(given) = message.session_id.as_deref().filter(|id| !id.is_empty())
            && given != self.session_id
        {
            return Err(MessageError::OtherSession {
                given: given.to_owned(),
                own: self.session_id.clone(),
            });
        }
        let step = self.act(message.parse()?)?;
        if step.terminal.is_some() && self.profile.adaptive {
            let counters = &self.episode.observation().counters;
            controller.update(counters.detections, counters.attempts);
            self.profile = controller.state();
        }
        Ok(self.result())
    }

    /// The payload of the last reset or step.
    #[must_use]
    pub fn result(&self) -> StepResult {
        StepResult {
            observation: self.observation_payload(),
            reward: self.reward_payload(),
            done: self.episode.observation().done(),
            info: self.info(),
        }
    }

    fn reward_payload(&self) -> RewardPayload {
        match self.events.last() {
            None => RewardPayload {
                value: 0.0,
                reason: "Episode started.".to_owned(),
                signal_breakdown: Breakdown::Empty,
            },
            Some(event) => RewardPayload {
                value: event.reward,
                reason: event.reason.clone(),
                signal_breakdown: event.signal_breakdown.clone(),
            },
        }
    }

    fn observation_payload(&self) -> ObservationPayload {
        let o = self.episode.observation();
        ObservationPayload {
            session_id: self.session_id.clone(),
            episode_id: self.episode_id.clone(),
            task_type: o.task,
            step_count: o.step_count,
            max_steps: o.max_steps,
            cluster_goal: text::goal(o.task),
            gpu_pool: GpuRow::all(o),
            job_queue_summary: JobRow::all(o),
            deadline_pressure: o.jobs.pressing(o.step_count).collect(),
            cluster_health: o.health,
            utilization_rate: o.utilization,
            trust_snapshot: o.ledger.snapshot(),
            behavioral_fingerprints: fingerprints(&o.ledger),
            audit_anomaly_scores: o.anomalies,
            ai_failure_coverage: Coverage::of(&self.episode),
            difficulty_profile: self.profile,
            available_workers: Slot::ALL,
            last_action_summary: self.steps.last().map(text::summary),
            allowed_actions: ActionType::ALL.map(ActionType::name),
        }
    }

    fn info(&self) -> StepInfo {
        let (o, tally) = (self.episode.observation(), self.episode.tally());
        StepInfo {
            episode_id: self.episode_id.clone(),
            session_id: self.session_id.clone(),
            score: round_to(tally.score(), 4),
            total_reward: round_to(tally.total_reward, 4),
            step_count: o.step_count,
            max_steps: o.max_steps,
            cluster: ClusterSummary::of(&self.episode),
            jobs: JobsSummary::of(&self.episode),
            attack_attempts: o.counters.attempts,
            attack_detections: o.counters.detections,
            attack_poisonings: o.counters.poisonings,
            ai_failure_coverage: Coverage::of(&self.episode),
            difficulty_profile: self.profile,
            reward_report: o.done().then(|| self.reward_report()),
        }
    }

    /// The report over the episode so far.
    #[must_use]
    pub fn reward_report(&self) -> RewardReport {
        let (o, tally) = (self.episode.observation(), self.episode.tally());
        RewardReport {
            episode_id: self.episode_id.clone(),
            session_id: self.session_id.clone(),
            task_type: o.task,
            score: round_to(tally.score(), 4),
            reward_events: tally.reward_events,
            events: self.events.clone(),
            trust_snapshot: o.ledger.snapshot(),
            cluster: ClusterSummary::of(&self.episode),
            jobs: JobsSummary::of(&self.episode),
            ai_failure_coverage: Coverage::of(&self.episode),
            difficulty_profile: self.profile,
        }
    }

    /// The whole state.
    #[must_use]
    pub fn state(&self) -> StatePayload {
        let (o, tally) = (self.episode.observation(), self.episode.tally());
        StatePayload {
            episode_id: self.episode_id.clone(),
            session_id: self.session_id.clone(),
            task_type: o.task,
            step_count: o.step_count,
            max_steps: o.max_steps,
            done: o.done(),
            score: round_to(tally.score(), 4),
            total_reward: round_to(tally.total_reward, 4),
            cluster: ClusterSummary::of(&self.episode),
            jobs: JobsSummary::of(&self.episode),
            trust_snapshot: o.ledger.snapshot(),
            behavioral_fingerprints: fingerprints(&o.ledger),
            audit_anomaly_scores: o.anomalies,
            attack_attempts: o.counters.attempts,
            attack_detections: o.counters.detections,
            attack_poisonings: o.counters.poisonings,
            ai_failure_coverage: Coverage::of(&self.episode),
            difficulty_profile: self.profile,
            worker_profile_hidden: self.episode.hidden().assignment,
        }
    }

    /// The short form for a live view.
    #[must_use]
    pub fn stream(&self) -> StreamPayload {
        let o = self.episode.observation();
        StreamPayload {
            session_id: self.session_id.clone(),
            environment_mode: "cluster",
            step_count: o.step_count,
            max_steps: o.max_steps,
            done: o.done(),
            trust_snapshot: o.ledger.snapshot(),
            behavioral_fingerprints: fingerprints(&o.ledger),
            cluster: ClusterSummary::of(&self.episode),
            jobs: JobsSummary::of(&self.episode),
            audit_anomaly_scores: o.anomalies,
            attack_attempts: o.counters.attempts,
            attack_detections: o.counters.detections,
            attack_poisonings: o.counters.poisonings,
            ai_failure_coverage: Coverage::of(&self.episode),
            difficulty_profile: self.profile,
            last_action_summary: self.steps.last().map(text::summary),
            last_reward: self.events.last().map_or(0.0, |event| event.reward),
        }
    }

    /// What the audit log says of an agent in the last `window` steps (the reference's default
    /// is 10).
    #[must_use]
    pub fn investigate(&self, agent: Agent, window: u8) -> Investigation {
        let scores = &self.episode.observation().anomalies;
        self.log.investigate(agent, window, scores)
    }

    /// The whole audit log.
    #[must_use]
    pub fn audit(&self) -> AuditSnapshot {
        self.log.snapshot(&self.episode.observation().anomalies)
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

    /// All steps taken.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
}

/// An id that depends on the setup and `salt` alone.
fn id(setup: &Setup, salt: u64) -> String {
    let place = 0xc1 << 8 | setup.task as u64;
    uuid(derive_seed(setup.seed, salt), derive_seed(place, salt))
}
