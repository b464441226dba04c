//! The protocol: JSON, text and session, with all code that allocates (spec trust §11, §13).

mod breakdown;
mod message;
pub mod mission;
mod payload;
mod prompt;
mod report;
mod session;
pub mod text;
mod trace;

pub use breakdown::{Breakdown, Component, EvidenceSummary};
pub use message::{ActionError, ActionMessage, MessageError, ResetError, ResetRequest};
pub use payload::{
    EndInfo, ObservationPayload, RewardPayload, StatePayload, StepInfo, StepResult, StreamPayload,
};
pub use prompt::episode_prompt;
pub use report::{Event, Formulas, RewardReport};
pub use session::{EventLog, Session};
pub use trace::{TraceFinal, TraceReset, TraceStep};
