//! The reference's protocol: reset, JSON action, step, payload, report (spec cluster §10).

use super::breakdown::Breakdown;
use super::message::{ActionError, ActionMessage, ResetRequest, UnknownTask};
use super::payload::{
    GpuRow, JobRow, ObservationPayload, RewardPayload, StatePayload, StepInfo, StepResult,
    StreamPayload,
};
use super::report::{Event, RewardReport};
use super::summary::{ClusterSummary, FailureModes, JobsSummary, evidence_summaries};
use super::text;
use crate::adaptive_difficulty::{DifficultyController, DifficultyProfile};
use crate::cluster::Episode;
use crate::cluster::model::{Action, ActionType, Setup, Step, StepError};
use crate::environment::{AdaptiveDifficulty, Environment, PrivilegedState};
use crate::num::round_to;
use crate::protocol::{self, Protocol, derive_id};
use crate::slot::Slot;
use crate::task::Task;

/// A session of the cluster world.
pub type Session = protocol::Session<Episode>;

/// The reward events of an episode.
#[derive(Clone, Debug, Default)]
pub struct EventLog {
    events: Vec<Event>,
    /// The controller's profile after this episode was reported to it; only for adaptive episodes.
    learned: Option<DifficultyProfile>,
}

impl Protocol for Episode {
    type Request = ResetRequest;
    type ResetError = UnknownTask;
    type Message = ActionMessage;
    type ActionError = ActionError;
    type Reply = StepResult;
    type Log = EventLog;
    type Curriculum = DifficultyController;
    type MessageExtras = ();
    const EPISODE_OVER: StepError = StepError::Over;
    const ID_SALT: u64 = 21;

    fn id_key(&self) -> u64 {
        0xc1 << 8 | self.setup().task as u64
    }

    fn resolve_request(
        request: &ResetRequest,
        controller: &DifficultyController,
    ) -> Result<(Setup, EventLog), UnknownTask> {
        let name = request.task_type.as_deref().unwrap_or("task3");
        let task = Task::parse(name).ok_or_else(|| UnknownTask(name.to_owned()))?;
        let setup = Setup {
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
        let message = ActionMessage {
            session_id: Some(session.session_id().to_owned()),
            ..step.action.into()
        };
        let salt = 100 + session.steps().len() as u64;
        let (episode, log) = (&session.episode, &mut session.log);
        let attack_id = || derive_id(episode, salt);
        let event = Event::from_step(episode, step, message, attack_id);
        log.events.push(event);
        log.events.extend(Event::from_terminal(episode, step));
    }

    fn report_end(session: &mut Session, controller: &mut DifficultyController) {
        if session.episode.setup().profile.adaptive {
            session.episode.report_to(controller);
            session.log.learned = Some(controller.current_profile());
        }
    }

    fn reply(session: &Session) -> StepResult {
        // Building the coverage takes longer than cloning it.
        let coverage = FailureModes::from_episode(&session.episode);
        StepResult {
            observation: ObservationPayload {
                session_id: Some(session.session_id().to_owned()),
                episode_id: Some(session.episode_id().to_owned()),
                ai_failure_coverage: Some(coverage.clone()),
                ..session.agent_observation()
            },
            reward: session.reward_payload(),
            done: session.episode.observation().done(),
            info: session.info(coverage),
        }
    }
}

impl Session {
    /// Returns the difficulty that payloads show; after the end of an adaptive episode, the updated
    /// one.
    fn profile(&self) -> DifficultyProfile {
        self.log.learned.unwrap_or(self.episode.setup().profile)
    }

    fn reward_payload(&self) -> RewardPayload {
        match self.log.events.last() {
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

    /// Builds the observation for an agent: the payload without ids and without the coverage, which
    /// names every worker's hidden behavior.
    #[must_use]
    pub fn agent_observation(&self) -> ObservationPayload {
        let o = self.episode.observation();
        ObservationPayload {
            session_id: None,
            episode_id: None,
            task_type: o.task,
            step_count: o.step_count,
            max_steps: o.max_steps,
            cluster_goal: text::task_goal(o.task),
            gpu_pool: GpuRow::all(o),
            job_queue_summary: JobRow::all(o),
            deadline_pressure: o.jobs.near_deadline(o.step_count).collect(),
            cluster_health: o.health,
            utilization_rate: o.utilization,
            trust_snapshot: o.ledger.rounded_trust(),
            behavioral_fingerprints: evidence_summaries(&o.ledger),
            audit_anomaly_scores: o.anomalies,
            ai_failure_coverage: None,
            difficulty_profile: self.profile(),
            available_workers: Slot::ALL,
            last_action_summary: self.last_step().map(text::step_summary),
            allowed_actions: ActionType::ALL.map(ActionType::name),
            rules: o.rules,
        }
    }

    fn info(&self, coverage: FailureModes) -> StepInfo {
        let (o, tally) = (self.episode.observation(), self.episode.tally());
        StepInfo {
            episode_id: self.episode_id().to_owned(),
            session_id: self.session_id().to_owned(),
            score: round_to(tally.score(), 4),
            total_reward: round_to(tally.total_reward, 4),
            step_count: o.step_count,
            max_steps: o.max_steps,
            cluster: ClusterSummary::from_episode(&self.episode),
            jobs: JobsSummary::from_episode(&self.episode),
            attack_attempts: o.counters.attempts,
            attack_detections: o.counters.detections,
            attack_poisonings: o.counters.poisonings,
            ai_failure_coverage: coverage,
            difficulty_profile: self.profile(),
            reward_report: o.done().then(|| self.reward_report()),
        }
    }

    /// Builds the report on the episode so far.
    #[must_use]
    pub fn reward_report(&self) -> RewardReport {
        let (o, tally) = (self.episode.observation(), self.episode.tally());
        RewardReport {
            episode_id: self.episode_id().to_owned(),
            session_id: self.session_id().to_owned(),
            task_type: o.task,
            score: round_to(tally.score(), 4),
            reward_events: tally.reward_events,
            events: self.log.events.clone(),
            trust_snapshot: o.ledger.rounded_trust(),
            cluster: ClusterSummary::from_episode(&self.episode),
            jobs: JobsSummary::from_episode(&self.episode),
            ai_failure_coverage: FailureModes::from_episode(&self.episode),
            difficulty_profile: self.profile(),
        }
    }

    /// Builds the payload with the state of the episode.
    #[must_use]
    pub fn state(&self) -> StatePayload {
        let (o, tally) = (self.episode.observation(), self.episode.tally());
        StatePayload {
            episode_id: self.episode_id().to_owned(),
            session_id: self.session_id().to_owned(),
            task_type: o.task,
            step_count: o.step_count,
            max_steps: o.max_steps,
            done: o.done(),
            score: round_to(tally.score(), 4),
            total_reward: round_to(tally.total_reward, 4),
            cluster: ClusterSummary::from_episode(&self.episode),
            jobs: JobsSummary::from_episode(&self.episode),
            trust_snapshot: o.ledger.rounded_trust(),
            behavioral_fingerprints: evidence_summaries(&o.ledger),
            audit_anomaly_scores: o.anomalies,
            attack_attempts: o.counters.attempts,
            attack_detections: o.counters.detections,
            attack_poisonings: o.counters.poisonings,
            ai_failure_coverage: FailureModes::from_episode(&self.episode),
            difficulty_profile: self.profile(),
            worker_profile_hidden: self.episode.hidden().assignment,
        }
    }

    /// Builds the short form of the state for a live view.
    #[must_use]
    pub fn stream(&self) -> StreamPayload {
        let o = self.episode.observation();
        StreamPayload {
            session_id: self.session_id().to_owned(),
            environment_mode: "cluster",
            step_count: o.step_count,
            max_steps: o.max_steps,
            done: o.done(),
            trust_snapshot: o.ledger.rounded_trust(),
            behavioral_fingerprints: evidence_summaries(&o.ledger),
            cluster: ClusterSummary::from_episode(&self.episode),
            jobs: JobsSummary::from_episode(&self.episode),
            audit_anomaly_scores: o.anomalies,
            attack_attempts: o.counters.attempts,
            attack_detections: o.counters.detections,
            attack_poisonings: o.counters.poisonings,
            ai_failure_coverage: FailureModes::from_episode(&self.episode),
            difficulty_profile: self.profile(),
            last_action_summary: self.last_step().map(text::step_summary),
            last_reward: self.log.events.last().map_or(0.0, |event| event.reward),
        }
    }

    /// Returns all reward events so far, in order.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.log.events
    }
}
