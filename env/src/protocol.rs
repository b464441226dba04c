//! The reset/step surface of a world as one object, for callers that hold an environment before
//! they hold an episode.

use std::error::Error;
use std::fmt::Debug;

use crate::controller::Controller;
use crate::world::World;

/// A world that speaks the reference's protocol: JSON actions in, payloads out.
pub trait Protocol: World {
    /// An episode with its trace, payloads and report.
    type Session: Clone + Debug + Send + Sync;
    /// What to start.
    type Request;
    /// Why it was not started.
    type ResetError: Error;
    /// An action as it arrives in JSON.
    type Message: serde::de::DeserializeOwned + From<Self::Action>;
    /// Why a message was refused; the episode is as it was.
    type MessageError: Error;
    /// What a reset or a step answers.
    type Reply: serde::Serialize;
    /// A step was asked for before anything was started.
    const NOT_RESET: Self::MessageError;

    /// Wraps a fresh episode.
    fn open(setup: &Self::Setup) -> Self::Session;
    /// Starts what a request asks for.
    ///
    /// # Errors
    /// If there is no such thing.
    fn start(
        request: &Self::Request,
        controller: &Controller,
    ) -> Result<Self::Session, Self::ResetError>;
    /// Takes a typed action and records it.
    ///
    /// # Errors
    /// As [`World::step`].
    fn act(
        session: &mut Self::Session,
        action: Self::Action,
    ) -> Result<Self::Step, Self::StepError>;
    /// Takes a JSON action.
    ///
    /// # Errors
    /// If the message is no action or the episode does not take it; nothing changes then.
    fn send(
        session: &mut Self::Session,
        message: &Self::Message,
        controller: &mut Controller,
    ) -> Result<Self::Reply, Self::MessageError>;
    /// The payload of the last reset or step.
    fn reply(session: &Self::Session) -> Self::Reply;
    /// The episode inside.
    fn episode(session: &Self::Session) -> &Self::Episode;
    /// The last step taken.
    fn last_step(session: &Self::Session) -> Option<&Self::Step>;
}

/// The reset/step surface as one object. The controller belongs to the caller.
#[derive(Clone, Debug)]
pub struct Env<W: Protocol> {
    session: Option<W::Session>,
}

impl<W: Protocol> Default for Env<W> {
    fn default() -> Self {
        Self { session: None }
    }
}

impl<W: Protocol> Env<W> {
    /// Starts an episode; one that is running is dropped.
    ///
    /// # Errors
    /// If there is no such thing; a running episode goes on then.
    pub fn reset(
        &mut self,
        request: &W::Request,
        controller: &Controller,
    ) -> Result<W::Reply, W::ResetError> {
        let session = W::start(request, controller)?;
        let reply = W::reply(&session);
        self.session = Some(session);
        Ok(reply)
    }

    /// Takes a JSON action.
    ///
    /// # Errors
    /// As [`Protocol::send`], and before the first reset; nothing changes then.
    pub fn step(
        &mut self,
        message: &W::Message,
        controller: &mut Controller,
    ) -> Result<W::Reply, W::MessageError> {
        match &mut self.session {
            Some(session) => W::send(session, message, controller),
            None => Err(W::NOT_RESET),
        }
    }

    /// The running or ended episode.
    #[must_use]
    pub const fn session(&self) -> Option<&W::Session> {
        self.session.as_ref()
    }
}
