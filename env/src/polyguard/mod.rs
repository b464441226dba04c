//! Making a risky medication regimen safer under missing data.
//!
//! A simulation for research on reinforcement learning, with made-up archetypes of medicines. It
//! is no medical device, has no clinical authority, and must never be used for the care of a
//! patient. What PolyGuard's public pages state is kept (names, thresholds, the thirteen weights);
//! everything else is this project's own design.
//!
//! A step: an agent sees an [`Observation`] with up to ten [`Candidate`]s and answers with an
//! [`Action`]; the verifier refuses or carries it out; the patient lives a step with it; the step
//! is graded by thirteen components.

mod action;
mod action_row;
mod candidates;
mod case;
mod cheating;
mod effects;
mod ending;
mod episode;
mod fingerprint;
mod formulary;
mod hidden;
mod history;
mod labs;
mod message;
mod num;
mod observation;
mod parse;
mod patient;
mod payload;
mod prompt;
mod protocol;
mod regimen;
mod reply;
mod request;
mod reward;
mod risk;
mod rules;
#[cfg(test)]
mod secrecy;
mod session;
mod setup;
mod step;
mod stream;
mod suppose;
mod terms;
pub mod text;
mod trace;
mod truth;
mod violation;
mod world;
mod worth;

pub use action::{Action, Choice, Claim, Confidence};
pub use action_row::ActionRow;
pub use candidates::{Arg, CANDIDATES, Candidate, CandidateId, Candidates, Kind};
pub use case::{Case, Difficulty, FormularyName, NoSuchCase, Split, SubEnvironment};
pub use ending::{End, REFUSALS};
pub use episode::Episode;
pub use fingerprint::Fingerprints;
pub use formulary::{
    Archetype, ArchetypeId, Condition, Conditions, Formulary, Grade, PRODUCT, Pair, PairId,
    Problem, SetRule, Severity, TableError, Tag, Tags, each_archetype,
};
pub use hidden::{Hidden, Issue, Start, Tally, Truth};
pub use history::{Act, History, Past, STEPS};
pub use labs::{LABS, Lab, ShownLabs, TrueLabs};
pub use message::{Message, MessageError, ShapeError};
pub use observation::{Observation, Patient, Sex};
pub use parse::{COMPLETION_MAX, Reading};
pub use payload::{ArgRow, CandidateRow, ObservationPayload};
pub use prompt::{ANSWER_FORM, prompt, prompt_among};
pub use regimen::{Bucket, Drug, ROWS, Regimen, Row};
pub use reply::{Info, Reply};
pub use request::{DEFAULT_SEED, ResetError, ResetRequest, patient_id, scenario_id};
pub use reward::{CHANNELS, COMPONENTS, Channel, Component, Reward};
pub use rules::Edit;
pub use session::{EPISODE_LIMIT_MS, Elapsed, STEP_LIMIT_MS, Session};
pub use setup::Setup;
pub use step::{Step, StepError};
pub use stream::Stream;
pub use terms::Terms;
pub use trace::{TraceFinal, TraceReset, TraceStep};
pub use violation::{Exploit, Violation};
pub use world::PolyguardWorld;

/// What differs from the published rules.
pub type Rules = crate::rules::Rules<Edit>;
