//! Reset and step as one object, for callers that hold an environment before they hold an episode.

use super::{ActionMessage, MessageError, ResetRequest, Session, StepResult, UnknownTask};
use crate::controller::Controller;

/// The reset/step surface as one object. The controller belongs to the caller.
#[derive(Clone, Debug, Default)]
pub struct ClusterEnv {
    session: Option<Session>,
}

impl ClusterEnv {
    /// Starts an episode; one that is running is dropped.
    ///
    /// # Errors
    /// See [`UnknownTask`]; a running episode goes on then.
    pub fn reset(
        &mut self,
        request: &ResetRequest,
        controller: &Controller,
    ) -> Result<StepResult, UnknownTask> {
        let session = Session::reset(request, controller)?;
        let result = session.result();
        self.session = Some(session);
        Ok(result)
    }

    /// Takes a JSON action.
    ///
    /// # Errors
    /// See [`MessageError`]; nothing changes then.
    pub fn step(
        &mut self,
        message: &ActionMessage,
        controller: &mut Controller,
    ) -> Result<StepResult, MessageError> {
        self.session
            .as_mut()
            .ok_or(MessageError::NotReset)?
            .step(message, controller)
    }

    /// The running or ended episode.
    #[must_use]
    pub const fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }
}
