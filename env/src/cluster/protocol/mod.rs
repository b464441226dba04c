//! The protocol: JSON, text and session, with all code that allocates (spec cluster §6, §7, §10).

mod audit_log;
mod breakdown;
mod message;
mod mission;
mod payload;
mod prompt;
mod report;
mod session;
mod summary;
pub mod text;
mod trace;

pub use audit_log::{ActionRecord, AuditLog, ClaimRecord, Investigation, ReportedProgress};
pub use breakdown::{Breakdown, StepBreakdown};
pub use message::{ActionError, ActionMessage, MessageError, ResetRequest, UnknownTask};
pub use mission::ClusterMission;
pub use payload::{
    GpuRow, JobRow, ObservationPayload, RewardPayload, StatePayload, StepInfo, StepResult,
    StreamPayload,
};
pub use prompt::scheduler_prompt;
pub use report::{AttackEvent, AttackPayload, Event, Metadata, ReportEvent, RewardReport};
pub use session::{EventLog, Session};
pub use summary::{ClusterSummary, Counts, FailureModes, JobsSummary};
pub use trace::{AttackRow, TraceFinal, TraceReset, TraceStep};
