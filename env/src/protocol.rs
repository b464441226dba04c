//! Sessions: episodes that speak JSON, built once for every world.
//!
//! [`Session`] keeps an episode with its ids, its steps and its digest, and refuses messages that it
//! cannot take. A world supplies what differs through [`Protocol`]: how a message becomes an action,
//! what to record of a step, and how a reply is built. [`JsonEnv`] is for callers that hold an
//! environment before they hold an episode.

use std::error::Error;
use std::fmt::Debug;

use crate::digest::{Digest, uuid};
use crate::environment::{Environment, Seeded, Transition, World};
use crate::rng::derive_seed;

/// Steps for which a session has room from the start.
const ROOM: usize = 48;

/// A world that speaks JSON: actions in, replies out.
pub trait Protocol: World {
    /// What to start.
    type Request;
    /// Why it was not started.
    type ResetError: Error;
    /// An action as it arrives in JSON.
    type Message: serde::de::DeserializeOwned + From<Self::Action>;
    /// Why a message is not an action.
    type ActionError: Error + 'static;
    /// What a reset or a step answers.
    type Reply: serde::Serialize;
    /// What replies need besides the episode and its steps, such as events or a transcript.
    type Log: Clone + Debug + Default + Send + Sync;
    /// What episodes learn their difficulty from; `()` where the world has none. Belongs to the caller.
    type Curriculum: Default;
    /// What a message says besides its action; the default is an action from code.
    type Remark: Default;
    /// The error of a step after the end.
    const OVER: Self::StepError;
    /// Salt of an episode's id, another one in every world; that of its session's id is one more.
    const ID_SALT: u64;

    /// Returns a number for the ids of episodes with equal seeds, so that those of different tasks
    /// differ.
    fn id_key(&self) -> u64;

    /// Returns the setup that a request asks for, and the log that its session starts with.
    ///
    /// # Errors
    /// If there is no such thing.
    fn resolve_request(
        request: &Self::Request,
        curriculum: &Self::Curriculum,
    ) -> Result<(Self::Setup, Self::Log), Self::ResetError>;

    /// Returns the session id that a message names.
    fn session_id(message: &Self::Message) -> Option<&str>;

    /// Reads a message.
    ///
    /// # Errors
    /// If it is not an action.
    fn parse_message(
        &self,
        message: &Self::Message,
    ) -> Result<(Self::Action, Self::Remark), Self::ActionError>;

    /// Records the step that the session's episode has just taken. It is not yet among
    /// [`Session::steps`].
    fn record(session: &mut Session<Self>, step: &Self::Info, remark: Self::Remark);

    /// Tells the curriculum how the ended episode went, where it took part in it.
    fn report_end(_session: &mut Session<Self>, _curriculum: &mut Self::Curriculum) {}

    /// Builds the reply to the last reset or step.
    fn reply(session: &Session<Self>) -> Self::Reply;
}

/// Why a message was refused. The episode is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError<A: Error + 'static, S: Error + 'static> {
    /// Nothing was started.
    #[error("no episode: reset before the first step")]
    NotReset,
    /// The message is for another session.
    #[error("session_id {given:?} is not this session's {own:?}")]
    OtherSession {
        /// What the message says.
        given: String,
        /// What it should say, or leave out.
        own: String,
    },
    /// The message is not an action.
    #[error(transparent)]
    Action(A),
    /// The episode does not take it.
    #[error(transparent)]
    Step(S),
}

/// The [`MessageError`] of a world.
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
    digest: TrajectoryDigest,
}

impl<W: Protocol> Session<W> {
    /// Starts an episode. Ids are derived from its setup, so that equal runs have equal ids.
    #[must_use]
    pub fn new(setup: &W::Setup) -> Self {
        Self::with_log(setup, W::Log::default())
    }

    /// Starts what a request asks for.
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
            steps: Vec::with_capacity(ROOM),
            digest: TrajectoryDigest::default(),
        }
    }

    /// Takes a typed action and records it.
    ///
    /// # Errors
    /// As [`Environment::step`]; nothing changes then.
    pub fn act(&mut self, action: W::Action) -> Result<Transition<W::Info>, W::StepError> {
        self.take(action, W::Remark::default())
    }

    /// Takes an action with what its message says besides, and records both.
    pub(crate) fn take(
        &mut self,
        action: W::Action,
        remark: W::Remark,
    ) -> Result<Transition<W::Info>, W::StepError> {
        let transition = self.episode.step(action)?;
        W::record(self, &transition.info, remark);
        self.digest.push(&self.episode, &transition.info);
        self.steps.push(transition.info);
        Ok(transition)
    }

    /// Takes a JSON action. At the end of an adaptive episode the caller's curriculum learns of it.
    ///
    /// # Errors
    /// After the end, if the message is for another session or not an action, or if the episode does
    /// not take it; nothing changes then.
    pub fn step(
        &mut self,
        message: &W::Message,
        curriculum: &mut W::Curriculum,
    ) -> Result<W::Reply, MessageErrorOf<W>> {
        self.check(message)?;
        let parsed = self.episode.parse_message(message);
        let (action, remark) = parsed.map_err(MessageError::Action)?;
        let transition = self.take(action, remark).map_err(MessageError::Step)?;
        if transition.is_last() {
            W::report_end(self, curriculum);
        }
        Ok(self.reply())
    }

    /// Refuses a message after the end, or one that is for another session.
    pub(crate) fn check(&self, message: &W::Message) -> Result<(), MessageErrorOf<W>> {
        if W::is_done(self.episode.observation()) {
            return Err(MessageError::Step(W::OVER));
        }
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

    /// Returns the episode inside.
    #[must_use]
    pub const fn episode(&self) -> &W {
        &self.episode
    }

    /// Returns all steps taken.
    #[must_use]
    pub fn steps(&self) -> &[W::Info] {
        &self.steps
    }

    /// Returns the last step taken.
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

    /// Returns the id that messages may name.
    #[must_use]
    pub fn session_id(&self) -> &str {
        &self.session_id
    }
}

/// Returns an id that depends on the episode's setup and `salt` alone.
pub(crate) fn derive_id<W: Protocol>(episode: &W, salt: u64) -> String {
    let seed = episode.setup().seed();
    uuid(derive_seed(seed, salt), derive_seed(episode.id_key(), salt))
}

/// A digest of a trajectory with a mark after each step, so that the first difference between two
/// trajectories can be named.
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

    /// Returns size and hash of all steps so far.
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

/// The reset/step surface as one object, for programs that hold an environment before they hold an
/// episode, such as a server that answers `reset` and `step` in JSON. The curriculum belongs to the
/// caller.
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
    /// Starts an episode; one that is running is dropped.
    ///
    /// # Errors
    /// If there is no such thing; a running episode goes on then.
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

    /// Takes a JSON action.
    ///
    /// # Errors
    /// As [`Session::step`], and before the first reset; nothing changes then.
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

    /// Returns the running or ended episode.
    #[must_use]
    pub const fn session(&self) -> Option<&Session<W>> {
        self.session.as_ref()
    }
}
