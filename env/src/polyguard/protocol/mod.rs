//! The protocol, with all code that allocates: requests, messages, replies, prompts and traces.

#[cfg(test)]
mod hidden_state_tests;
mod message;
mod parse;
mod payload;
mod prompt;
mod reply;
mod request;
mod rows;
mod session;
pub mod text;
mod trace;

pub use message::{Message, MessageError};
pub use parse::ParsedCompletion;
pub use payload::ObservationPayload;
pub use prompt::{ANSWER_FORM, prompt, prompt_among};
pub use reply::{Reply, ReplyInfo};
pub use request::{ResetError, ResetRequest, patient_id, scenario_id};
pub use rows::{ActionRow, ArgRow, CandidateRow};
pub use session::{Answer, EPISODE_LIMIT_MS, Elapsed, STEP_LIMIT_MS, Session, Transcript};
pub use trace::{TraceFinal, TraceReset, TraceStep};
