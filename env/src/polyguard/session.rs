//! A session: an episode with ids, replies and limits of time (spec polyguard §9).

use super::ending::End;
use super::parse::Reading;
use super::reply::{Info, Last, Reply};
use super::{
    Action, CandidateRow, Episode, Message, MessageError, ObservationPayload, ResetError,
    ResetRequest, Setup, Step, StepError, patient_id, scenario_id,
};
use crate::digest::uuid;
use crate::rng::derive_seed;

/// Milliseconds that an answer may take.
pub const STEP_LIMIT_MS: u64 = 2_500;
/// Milliseconds that an episode may take.
pub const EPISODE_LIMIT_MS: u64 = 45_000;
/// What a step returns that came too late.
const TOO_LATE: f64 = 0.001;

/// What the caller's clock says: this world has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elapsed {
    /// Milliseconds since the observation was given out.
    pub step_ms: u64,
    /// Milliseconds since the reset.
    pub episode_ms: u64,
}

impl Elapsed {
    /// Which limit is passed; that of the episode counts first.
    #[must_use]
    pub const fn too_late(self) -> Option<End> {
        if self.episode_ms > EPISODE_LIMIT_MS {
            Some(End::WallClockTimeout)
        } else if self.step_ms > STEP_LIMIT_MS {
            Some(End::StepTimeout)
        } else {
            None
        }
    }
}

/// One episode with what was said in it.
#[derive(Clone, Debug)]
pub struct Session {
    episode: Episode,
    session_id: String,
    debug: bool,
    steps: Vec<Step>,
    /// What was said with each step.
    answers: Vec<Answer>,
}

/// What was said with a step.
#[derive(Clone, Debug, Default)]
struct Answer {
    /// The completion, no longer than is needed to read it again; none for an action from code.
    said: Option<String>,
    /// What is wrong with it, where it could not be read.
    detail: Option<String>,
}

impl Session {
    /// Wraps a fresh episode. Ids are derived from its setup, so that equal runs have equal ids.
    #[must_use]
    pub fn new(setup: &Setup) -> Self {
        let place = 0x90 << 16 | u64::from(setup.case.number());
        Self {
            episode: Episode::reset(setup),
            session_id: uuid(derive_seed(setup.seed, 31), derive_seed(place, 31)),
            debug: false,
            steps: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// The same, with replies that tell what is true: for evaluators.
    #[must_use]
    pub fn debugging(self) -> Self {
        Self {
            debug: true,
            ..self
        }
    }

    /// The same with another episode.
    #[cfg(test)]
    pub(super) fn with(self, episode: Episode) -> Self {
        Self { episode, ..self }
    }

    /// Starts what a request asks for.
    ///
    /// # Errors
    /// If there is no such thing; names the field.
    pub fn reset(request: &ResetRequest) -> Result<Self, ResetError> {
        Ok(Self {
            debug: request.debug,
            ..Self::new(&request.setup()?)
        })
    }

    /// Takes a typed action and records it.
    ///
    /// # Errors
    /// See [`StepError`]; nothing changes then.
    pub fn act(&mut self, action: Action) -> Result<Step, StepError> {
        self.take(action, Answer::default())
    }

    fn take(&mut self, action: Action, answer: Answer) -> Result<Step, StepError> {
        let step = self.episode.step(action)?;
        self.steps.push(step);
        self.answers.push(answer);
        Ok(step)
    }

    /// Takes a message, with no regard to time. What cannot be read is a wasted step.
    ///
    /// # Errors
    /// See [`MessageError`]; nothing changes then.
    pub fn step(&mut self, message: &Message) -> Result<Reply, MessageError> {
        self.step_within(message, Elapsed::default())
    }

    /// Takes a message that came after so much time. If it is too late, it is not looked at and
    /// the episode ends.
    ///
    /// # Errors
    /// See [`MessageError`]; nothing changes then.
    pub fn step_within(
        &mut self,
        message: &Message,
        elapsed: Elapsed,
    ) -> Result<Reply, MessageError> {
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
        match elapsed.too_late() {
            Some(end) => {
                self.episode.time_out(end == End::StepTimeout);
            }
            None => {
                let formulary = self.episode.observation().formulary();
                let Reading { action, detail } = message.read(formulary);
                let said = message.text().map(str::to_owned);
                self.take(action, Answer { said, detail })?;
            }
        }
        Ok(self.reply())
    }

    /// The reply to the last reset or step.
    #[must_use]
    pub fn reply(&self) -> Reply {
        let o = self.episode.observation();
        let end = o.end;
        let timed_out = end.filter(|end| matches!(end, End::StepTimeout | End::WallClockTimeout));
        let last = match (timed_out, self.steps.last()) {
            (Some(end), _) => Last::TimedOut(end),
            (None, Some(step)) => Last::Step(step),
            (None, None) => Last::Reset,
        };
        Reply {
            observation: ObservationPayload::of(o),
            reward: match last {
                Last::Reset => 0.0,
                Last::TimedOut(_) => TOO_LATE,
                Last::Step(step) => step.total,
            },
            done: end.is_some(),
            truncated: end.is_some_and(End::is_truncated),
            info: Info::of(self, last),
        }
    }

    /// What can be chosen, as it is shown.
    #[must_use]
    pub fn get_candidate_actions(&self) -> Vec<CandidateRow> {
        CandidateRow::all(self.episode.observation())
    }

    /// What the verifier allows: the shown list, since nothing illegal is shown.
    #[must_use]
    pub fn get_legal_actions(&self) -> Vec<CandidateRow> {
        self.get_candidate_actions()
    }

    /// The episode inside.
    #[must_use]
    pub const fn episode(&self) -> &Episode {
        &self.episode
    }

    /// All steps taken.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// What was wrong with the last answer, where it could not be read.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        self.answers.last()?.detail.as_deref()
    }

    /// The completion of the last step; `None` for an action from code.
    #[must_use]
    pub fn said(&self) -> Option<&str> {
        self.answers.last()?.said.as_deref()
    }

    /// The id that messages may name.
    #[must_use]
    pub fn session_id(&self) -> &str {
        &self.session_id
    }

    /// Whether replies tell what is true.
    #[must_use]
    pub const fn is_debugging(&self) -> bool {
        self.debug
    }

    /// What the episode goes by.
    #[must_use]
    pub fn scenario_id(&self) -> String {
        scenario_id(self.episode.setup())
    }

    /// What the patient goes by.
    #[must_use]
    pub fn patient_id(&self) -> String {
        patient_id(self.episode.setup())
    }
}
