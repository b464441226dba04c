//! The end of a reset or a step: refused for a reason, or with a reply.

use crate::validation::FieldError;

/// The reason why a reset or a step was refused. Nothing changes then.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The text of an action is not JSON.
    NotJson(String),
    /// The message does not have the form of a reset, or of an action of the world.
    Invalid(Vec<FieldError>),
    /// The environment refused, with its reason.
    Execution(String),
}

/// The transport of a reply, on which its form depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// `metadata` is left out if it is empty.
    Socket,
    /// `metadata` is `null` if it is empty.
    Http,
}
