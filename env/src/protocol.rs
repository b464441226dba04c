//! JSON sessions for episodes, shared by all worlds.
//!
//! [`Session`] holds an episode with its ids, its steps and its digest, and refuses invalid
//! messages. A world supplies the differences through [`Protocol`]: how a message becomes an
//! action, what to record of a step, and how a reply is built. [`JsonEnv`] is for callers that need
//! an environment object before the first episode starts.

use std::error::Error;
use std::fmt::Debug;

use crate::digest::{Digest, format_uuid};
use crate::environment::{Environment, Seeded, Transition, World};
use crate::message::{ParseError, parse_message};
use crate::rng::derive_seed;

/// A world with a JSON interface that takes actions and returns replies.
pub trait Protocol: World {
    /// A request to start an episode.
    type Request;
    /// The error for a request that starts no episode.
    type ResetError: Error;
    /// An action as it arrives in JSON.
    type Message: serde::de::DeserializeOwned + From<Self::Action>;
    /// The error for a message that is not a valid action.
    type ActionError: Error + 'static;
    /// The reply to a reset or a step.
    type Reply: serde::Serialize;
    /// Data that replies need besides the episode and its steps, such as events or a transcript.
    type Log: Clone + Debug + Default + Send + Sync;
    /// The state, owned by the caller, that adaptive episodes learn their difficulty from; `()` if
    /// the world has none.
    type Curriculum: Default;
    /// The content of a message besides its action; the default stands for an action from code.
    type MessageExtras: Default;
    /// The error of a step after the end of the episode.
    const EPISODE_OVER: Self::StepError;
    /// Salt of the episode id; the session id uses the next number. Both numbers belong to one world
    /// alone, and are at least 10, because smaller ones number random streams.
    const ID_SALT: u64;

    /// Returns a number that distinguishes the ids of episodes with equal seeds, for example by
    /// task.
    fn id_key(&self) -> u64;

    /// Returns the setup that a request asks for, and the initial log of its session.
    ///
    /// # Errors
    /// Returns an error if the request names something that does not exist.
    fn resolve_request(
        request: &Self::Request,
        curriculum: &Self::Curriculum,
    ) -> Result<(Self::Setup, Self::Log), Self::ResetError>;

    /// Returns the session id that a message names, if any.
    fn session_id(message: &Self::Message) -> Option<&str>;

    /// Parses a message into an action and the rest of its content.
    ///
    /// # Errors
    /// Returns an error if the message is not a valid action.
    fn parse_message(
        &self,
        message: &Self::Message,
    ) -> Result<(Self::Action, Self::MessageExtras), Self::ActionError>;

    /// Records the step that the session's episode has just taken. The step is not yet in
    /// [`Session::steps`].
    fn record(session: &mut Session<Self>, step: &Self::Info, remark: Self::MessageExtras);

    /// Reports the result of the ended episode to the curriculum if the episode took part in it.
    fn report_end(_session: &mut Session<Self>, _curriculum: &mut Self::Curriculum) {}

    /// Builds the reply to the last reset or step.
    fn reply(session: &Session<Self>) -> Self::Reply;
}

/// The reason why a message was refused. The episode is then unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError<A: Error + 'static, S: Error + 'static> {
    /// No episode has been started yet.
    #[error("no episode: reset before the first step")]
    NotReset,
    /// The text is not a message of the world.
    #[error(transparent)]
    Parse(ParseError),
    /// The message names another session.
    #[error("session_id {given:?} is not this session's {own:?}")]
    OtherSession {
        /// The session id in the message.
        given: String,
        /// The id of this session, which messages must name or leave out.
        own: String,
    },
    /// The message is not a valid action.
    #[error(transparent)]
    Action(A),
    /// The episode refused the action.
    #[error(transparent)]
    Step(S),
}

/// The [`MessageError`] of world `W`.
pub type MessageErrorOf<W> =
    MessageError<<W as Protocol>::ActionError, <W as Environment>::StepError>;

/// An episode with its ids, its steps, its digest and the world's log.
#[derive(Clone, Debug)]
pub struct Session<W: Protocol> {
    pub(crate) episode: W,
    pub(crate) log: W::Log,
    episode_id: String,
    session_id: String,
    steps: Vec<W::Info>,
    actions: Vec<W::Action>,
    digest: TrajectoryDigest,
}

impl<W: Protocol> Session<W> {
    /// Starts an episode. Its ids are derived from the setup, so equal runs have equal ids.
    #[must_use]
    pub fn new(setup: &W::Setup) -> Self {
        Self::with_log(setup, W::Log::default())
    }

    /// Starts the episode that a request asks for.
    ///
    /// # Errors
    /// As [`Protocol::resolve_request`].
    pub fn from_request(
        request: &W::Request,
        curriculum: &W::Curriculum,
    ) -> Result<Self, W::ResetError> {
        let (setup, log) = W::resolve_request(request, curriculum)?;
        Ok(Self::with_log(&setup, log))
    }

    fn with_log(setup: &W::Setup, log: W::Log) -> Self {
        let episode = W::reset(setup);
        let (episode_id, session_id) = (
            derive_id(&episode, W::ID_SALT),
            derive_id(&episode, W::ID_SALT + 1),
        );
        Self {
            episode,
            log,
            episode_id,
            session_id,
            // Grows with the episode: a server holds many sessions that take few steps.
            steps: Vec::new(),
            actions: Vec::new(),
            digest: TrajectoryDigest::default(),
        }
    }

    /// Returns the same session with another session id, for servers that number their sessions
    /// themselves: the derived ids of equal setups are equal.
    #[must_use]
    pub fn with_session_id(mut self, session_id: String) -> Self {
        self.session_id = session_id;
        self
    }

    /// Applies a typed action and records the step.
    ///
    /// # Errors
    /// As [`Environment::step`]; nothing changes then.
    pub fn act(&mut self, action: W::Action) -> Result<Transition<W::Info>, W::StepError> {
        self.act_with_extras(action, W::MessageExtras::default())
    }

    /// Applies an action and records it together with the rest of its message.
    pub(crate) fn act_with_extras(
        &mut self,
        action: W::Action,
        remark: W::MessageExtras,
    ) -> Result<Transition<W::Info>, W::StepError> {
        let transition = self.episode.step(action)?;
        W::record(self, &transition.info, remark);
        self.digest.push(&self.episode, &transition.info);
        self.steps.push(transition.info);
        self.actions.push(action);
        Ok(transition)
    }

    /// Applies a JSON action and builds the reply. At the end of an adaptive episode, the result is
    /// reported to the caller's curriculum.
    ///
    /// # Errors
    /// As [`Session::apply`]; nothing changes then.
    pub fn step(
        &mut self,
        message: &W::Message,
        curriculum: &mut W::Curriculum,
    ) -> Result<W::Reply, MessageErrorOf<W>> {
        self.apply(message, curriculum)?;
        Ok(self.reply())
    }

    /// Applies the text of a JSON action without building the reply. This is how every interface
    /// reads an action.
    ///
    /// # Errors
    /// As [`Session::apply`], and also if the text is not a message. Nothing changes then.
    pub fn apply_json(
        &mut self,
        text: &str,
        curriculum: &mut W::Curriculum,
    ) -> Result<Transition<W::Info>, MessageErrorOf<W>> {
        self.check_running()?;
        let message = parse_message(text).map_err(MessageError::Parse)?;
        self.apply(&message, curriculum)
    }

    /// Applies a JSON action without building the reply, which takes longer than the step itself.
    ///
    /// # Errors
    /// Returns an error if the episode has ended, if the message names another session or is not a
    /// valid action, or if the episode refuses the action. Nothing changes then.
    pub fn apply(
        &mut self,
        message: &W::Message,
        curriculum: &mut W::Curriculum,
    ) -> Result<Transition<W::Info>, MessageErrorOf<W>> {
        self.check_message(message)?;
        let parsed = self.episode.parse_message(message);
        let (action, remark) = parsed.map_err(MessageError::Action)?;
        let transition = self
            .act_with_extras(action, remark)
            .map_err(MessageError::Step)?;
        if transition.is_last() {
            W::report_end(self, curriculum);
        }
        Ok(transition)
    }

    fn check_running(&self) -> Result<(), MessageErrorOf<W>> {
        if W::is_done(self.episode.observation()) {
            return Err(MessageError::Step(W::EPISODE_OVER));
        }
        Ok(())
    }

    /// Returns an error if the episode has ended or the message names another session.
    pub(crate) fn check_message(&self, message: &W::Message) -> Result<(), MessageErrorOf<W>> {
        self.check_running()?;
        match W::session_id(message) {
            Some(given) if !given.is_empty() && given != self.session_id => {
                Err(MessageError::OtherSession {
                    given: given.to_owned(),
                    own: self.session_id.clone(),
                })
            }
            _ => Ok(()),
        }
    }

    /// Returns the reply to the last reset or step.
    #[must_use]
    pub fn reply(&self) -> W::Reply {
        W::reply(self)
    }

    /// Returns the episode of the session.
    #[must_use]
    pub const fn episode(&self) -> &W {
        &self.episode
    }

    /// Returns all steps taken so far, in order.
    #[must_use]
    pub fn steps(&self) -> &[W::Info] {
        &self.steps
    }

    /// Returns all actions taken so far, in order.
    #[must_use]
    pub fn actions(&self) -> &[W::Action] {
        &self.actions
    }

    /// Returns the last step taken, or `None` before the first one.
    #[must_use]
    pub fn last_step(&self) -> Option<&W::Info> {
        self.steps.last()
    }

    /// Returns the digest of the trajectory so far.
    #[must_use]
    pub const fn digest(&self) -> &TrajectoryDigest {
        &self.digest
    }

    /// Returns the id of the episode.
    #[must_use]
    pub fn episode_id(&self) -> &str {
        &self.episode_id
    }

    /// Returns the session id that messages may name.
    #[must_use]
    pub fn session_id(&self) -> &str {
        &self.session_id
    }
}

/// Returns an id that depends only on the episode's seed, [`Protocol::id_key`] and `salt`.
pub(crate) fn derive_id<W: Protocol>(episode: &W, salt: u64) -> String {
    let seed = episode.setup().seed();
    format_uuid(derive_seed(seed, salt), derive_seed(episode.id_key(), salt))
}

/// A digest of a trajectory that also keeps a mark after each step, so that the first step at which
/// two trajectories differ can be found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrajectoryDigest {
    digest: Digest,
    trail: Vec<u32>,
}

impl TrajectoryDigest {
    /// Adds the step that `episode` has just taken.
    pub fn push<W: World>(&mut self, episode: &W, info: &W::Info) {
        episode.write_digest(info, &mut self.digest);
        self.trail.push(self.digest.hash as u32);
    }

    /// Returns the size and hash of all steps so far.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the low 32 bits of the running hash after each step.
    #[must_use]
    pub fn trail(&self) -> &[u32] {
        &self.trail
    }
}

/// An environment with `reset` and `step` in JSON, for programs that need the environment object
/// before the first episode starts, such as a server. The curriculum belongs to the caller.
///
/// ```
/// use sentinel_env::{JsonEnv, cluster};
///
/// let mut env = JsonEnv::<cluster::ClusterEnv>::default();
/// let mut curriculum = Default::default();
/// let message = serde_json::from_str(r#"{"action_type": "tick"}"#)?;
/// assert!(env.step(&message, &mut curriculum).is_err(), "reset comes first");
///
/// let request = cluster::ResetRequest {
///     task_type: Some("task1".to_owned()),
///     seed: 7,
///     streams: Default::default(),
///     adaptive: false,
/// };
/// let reply = env.reset(&request, &curriculum)?;
/// assert_eq!(reply.observation.step_count, 0);
/// let reply = env.step(&message, &mut curriculum)?;
/// assert_eq!(serde_json::to_value(&reply)?["observation"]["step_count"], 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct JsonEnv<W: Protocol> {
    session: Option<Session<W>>,
}

impl<W: Protocol> Default for JsonEnv<W> {
    fn default() -> Self {
        Self { session: None }
    }
}

impl<W: Protocol> JsonEnv<W> {
    /// Starts an episode, replacing a running one.
    ///
    /// # Errors
    /// Returns an error if the request names something that does not exist; a running episode then
    /// continues.
    pub fn reset(
        &mut self,
        request: &W::Request,
        curriculum: &W::Curriculum,
    ) -> Result<W::Reply, W::ResetError> {
        let session = Session::from_request(request, curriculum)?;
        let reply = session.reply();
        self.session = Some(session);
        Ok(reply)
    }

    /// Applies a JSON action to the current episode.
    ///
    /// # Errors
    /// As [`Session::step`], and also before the first reset; nothing changes then.
    pub fn step(
        &mut self,
        message: &W::Message,
        curriculum: &mut W::Curriculum,
    ) -> Result<W::Reply, MessageErrorOf<W>> {
        match &mut self.session {
            Some(session) => session.step(message, curriculum),
            None => Err(MessageError::NotReset),
        }
    }

    /// Returns the session of the running or ended episode, or `None` before the first reset.
    #[must_use]
    pub const fn session(&self) -> Option<&Session<W>> {
        self.session.as_ref()
    }
}

/// Returns `value` as JSON with sorted keys, as prompts show it. The order does not depend on that of
/// [`serde_json::Map`], which a feature of that crate changes.
pub(crate) fn sorted_json(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(mut value) => {
            value.sort_all_objects();
            value.to_string()
        }
        Err(error) => error.to_string(),
    }
}
