//! This world's sessions, for code that serves all worlds.

use super::{
    Action, Episode, Message, MessageError, PolyguardWorld, Reply, ResetError, ResetRequest,
    Session, Setup, Step, StepError,
};
use crate::controller::Controller;
use crate::protocol::Protocol;

impl Protocol for PolyguardWorld {
    type Session = Session;
    type Request = ResetRequest;
    type ResetError = ResetError;
    type Message = Message;
    type MessageError = MessageError;
    type Reply = Reply;
    const NOT_RESET: MessageError = MessageError::NotReset;

    fn open(setup: &Setup) -> Session {
        Session::new(setup)
    }

    /// Difficulty is part of the request here: the controller has no say.
    fn start(request: &ResetRequest, _controller: &Controller) -> Result<Session, ResetError> {
        Session::reset(request)
    }

    fn act(session: &mut Session, action: Action) -> Result<Step, StepError> {
        session.act(action)
    }

    fn send(
        session: &mut Session,
        message: &Message,
        _controller: &mut Controller,
    ) -> Result<Reply, MessageError> {
        session.step(message)
    }

    fn reply(session: &Session) -> Reply {
        session.reply()
    }

    fn episode(session: &Session) -> &Episode {
        session.episode()
    }

    fn last_step(session: &Session) -> Option<&Step> {
        session.steps().last()
    }
}
