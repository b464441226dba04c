//! The session: an episode with ids, replies and time limits (spec polyguard §9).

use std::convert::Infallible;

use super::message::{Message, MessageError};
use super::parse::ParsedCompletion;
use super::payload::ObservationPayload;
use super::reply::{LastEvent, Reply, ReplyContext, ReplyInfo};
use super::request::{ResetError, ResetRequest, patient_id, scenario_id};
use crate::environment::Environment;
use crate::polyguard::episode::Episode;
use crate::polyguard::model::action::Action;
use crate::polyguard::model::history::EndReason;
use crate::polyguard::model::setup::Setup;
use crate::polyguard::model::step::{Step, StepError};
use crate::protocol::{self, Protocol};

/// Maximum time for an answer, in milliseconds.
pub const STEP_LIMIT_MS: u64 = 2_500;
/// Maximum time for an episode, in milliseconds.
pub const EPISODE_LIMIT_MS: u64 = 45_000;
/// Reward of an answer that came too late.
const TIMEOUT_REWARD: f64 = 0.001;

/// The time that has passed by the caller's clock; the world itself has no clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elapsed {
    /// Time since the observation was sent, in milliseconds.
    pub step_ms: u64,
    /// Time since the reset, in milliseconds.
    pub episode_ms: u64,
}

impl Elapsed {
    /// Returns the limit that was exceeded, if any; that of the episode takes precedence.
    #[must_use]
    pub const fn exceeded_limit(self) -> Option<EndReason> {
        if self.episode_ms > EPISODE_LIMIT_MS {
            Some(EndReason::WallClockTimeout)
        } else if self.step_ms > STEP_LIMIT_MS {
            Some(EndReason::StepTimeout)
        } else {
            None
        }
    }
}

/// A session of the PolyGuard world.
pub type Session = protocol::Session<Episode>;

/// The answers given in an episode, and a setting for its replies.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    debug: bool,
    /// The answers, one per step.
    answers: Vec<Answer>,
}

impl Transcript {
    const fn new(debug: bool) -> Self {
        Self {
            debug,
            answers: Vec::new(),
        }
    }
}

/// The answer given in a step.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The completion, truncated to the length needed to parse it again; `None` for an action from
    /// code.
    said: Option<String>,
    /// Explanation of why the answer could not be read, if it could not.
    detail: Option<String>,
}

impl Session {
    /// Returns the same session with another episode.
    #[cfg(test)]
    pub(super) fn with_episode(mut self, episode: Episode) -> Self {
        self.episode = episode;
        self
    }

    /// Applies a message that arrived after the given time. If it is too late, it is not parsed and
    /// the episode ends.
    ///
    /// This method is meant for servers with slow clients. The crate has no clock, so the caller
    /// measures the time. [`Session::step`](protocol::Session::step) has no time limits.
    ///
    /// ```
    /// use sentinel_env::polyguard::{TaskSpec, Elapsed, Message, STEP_LIMIT_MS, Session, Setup};
    ///
    /// let mut session = Session::new(&Setup::new(TaskSpec::ALL[0], 1));
    /// let message: Message =
    ///     serde_json::from_str(r#"{"candidate_id": "cand_01", "rationale": "egfr"}"#)?;
    /// let mut elapsed = Elapsed { step_ms: 300, episode_ms: 300 };
    /// let reply = session.step_within(&message, elapsed)?;
    /// assert!(!reply.done);
    ///
    /// elapsed = Elapsed { step_ms: STEP_LIMIT_MS + 1, episode_ms: 2_900 };
    /// let reply = session.step_within(&message, elapsed)?;
    /// assert!(reply.truncated && reply.info.step_timeout);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// See [`MessageError`]; nothing changes then.
    pub fn step_within(
        &mut self,
        message: &Message,
        elapsed: Elapsed,
    ) -> Result<Reply, MessageError> {
        self.check_message(message)?;
        match elapsed.exceeded_limit() {
            Some(end) => {
                self.episode.time_out(end == EndReason::StepTimeout);
            }
            None => {
                let parsed = self.episode.parse_message(message);
                let (action, answer) = parsed.map_err(MessageError::Action)?;
                self.act_with_extras(action, answer)
                    .map_err(MessageError::Step)?;
            }
        }
        Ok(self.reply())
    }

    fn build_reply(&self) -> Reply {
        let o = self.episode.observation();
        let end = o.end;
        let timed_out =
            end.filter(|end| matches!(end, EndReason::StepTimeout | EndReason::WallClockTimeout));
        let last = match (timed_out, self.last_step()) {
            (Some(end), _) => LastEvent::TimedOut(end),
            (None, Some(step)) => LastEvent::Step(step),
            (None, None) => LastEvent::Reset,
        };
        Reply {
            observation: ObservationPayload::from_observation(o),
            reward: match last {
                LastEvent::Reset => 0.0,
                LastEvent::TimedOut(_) => TIMEOUT_REWARD,
                LastEvent::Step(step) => step.total,
            },
            done: end.is_some(),
            truncated: end.is_some_and(EndReason::is_truncated),
            info: ReplyInfo::new(
                &ReplyContext {
                    episode: &self.episode,
                    session_id: self.session_id(),
                    detail: self.parse_error_detail(),
                    debug: self.log.debug,
                },
                last,
            ),
        }
    }

    /// Builds the observation for an agent.
    #[must_use]
    pub fn agent_observation(&self) -> ObservationPayload {
        ObservationPayload::from_observation(self.episode.observation())
    }

    /// Returns the explanation of why the last answer could not be read, if it could not.
    #[must_use]
    pub fn parse_error_detail(&self) -> Option<&str> {
        self.log.answers.last()?.detail.as_deref()
    }

    /// Returns the completion of the last step, or `None` for an action from code.
    #[must_use]
    pub fn last_completion(&self) -> Option<&str> {
        self.log.answers.last()?.said.as_deref()
    }

    /// Returns the id of the episode, derived from its setup.
    #[must_use]
    pub fn scenario_id(&self) -> String {
        scenario_id(self.episode.setup())
    }

    /// Returns the id of the patient.
    #[must_use]
    pub fn patient_id(&self) -> String {
        patient_id(self.episode.setup())
    }
}

impl Protocol for Episode {
    type Request = ResetRequest;
    type ResetError = ResetError;
    type Message = Message;
    /// Never an error, because an unreadable message is a wasted step.
    type ActionError = Infallible;
    type Reply = Reply;
    type Log = Transcript;
    /// Not used, because the difficulty is part of the request.
    type Curriculum = ();
    type MessageExtras = Answer;
    const EPISODE_OVER: StepError = StepError::Over;
    const ID_SALT: u64 = 30;

    fn id_key(&self) -> u64 {
        0x90 << 16 | u64::from(self.setup().task.number())
    }

    fn resolve_request(request: &ResetRequest, (): &()) -> Result<(Setup, Transcript), ResetError> {
        Ok((request.setup()?, Transcript::new(request.debug)))
    }

    fn session_id(message: &Message) -> Option<&str> {
        message.session_id.as_deref()
    }

    fn parse_message(&self, message: &Message) -> Result<(Action, Answer), Infallible> {
        let ParsedCompletion { action, detail } = message.parse(self.observation().formulary());
        let said = message.text().map(str::to_owned);
        Ok((action, Answer { said, detail }))
    }

    fn record(session: &mut Session, _step: &Step, answer: Answer) {
        session.log.answers.push(answer);
    }

    fn reply(session: &Session) -> Reply {
        session.build_reply()
    }
}
