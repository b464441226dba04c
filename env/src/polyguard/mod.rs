//! The PolyGuard world: an agent makes a risky medication regimen safer under missing data.
//!
//! This is a simulation for research on reinforcement learning, with made-up archetypes of
//! medicines. It is not a medical device, has no clinical authority, and must never be used for the
//! care of a patient. It keeps what PolyGuard's public pages state (names, thresholds, the thirteen
//! weights); everything else is this project's own design.
//!
//! In each step, an agent sees an [`Observation`] with up to ten [`Candidate`]s and answers with an
//! [`Action`]. The verifier refuses it or carries it out, the patient's state advances by one step,
//! and thirteen components grade the step.

mod dynamics;
mod episode;
mod model;
mod protocol;
mod reward;
mod world_impl;

pub use dynamics::{
    REFUSALS_MAX, REVIEW_UNCERTAINTY, SUSPECTS_MAX, SYMPTOM_START, next_symptom, symptom_likelihood,
};
pub use episode::Episode;
pub use model::action::{Action, Choice, Claim, Confidence};
pub use model::candidate::{
    Act, ActArg, ActKind, Candidate, CandidateId, Candidates, MAX_CANDIDATES,
};
pub use model::formulary::{
    Archetype, ArchetypeId, Condition, Conditions, Formulary, Grade, PRODUCT_NAME, Pair, PairId,
    SetRule, Severity, TableFile, Tag, Tags, each_archetype,
};
pub use model::hidden::{Hidden, Issue, MedicationTruth, StartValues, Tally};
pub use model::history::{EndReason, Exploit, History, PastStep, Violation};
pub use model::observation::Observation;
pub use model::patient::{LAB_COUNT, Lab, Patient, Sex, ShownLabs, TrueLabs};
pub use model::rationale_terms::RationaleTerms;
pub use model::regimen::{DoseBucket, Drug, MAX_MEDICATIONS, Medication, Regimen};
pub use model::setup::{Change, Rules, Setup};
pub use model::step::{
    CHANNEL_COUNT, COMPONENT_COUNT, Channel, Component, Reward, Step, StepError,
};
pub use model::task_spec::{
    Difficulty, FormularyName, MAX_STEPS, Split, SubEnvironment, TaskSpec, UnknownTaskSpec,
};
pub use protocol::{
    ANSWER_FORM, ActionRow, Answer, ArgRow, CandidateRow, EPISODE_LIMIT_MS, Elapsed, Message,
    MessageError, ObservationPayload, ParsedCompletion, Reply, ReplyInfo, ResetError, ResetRequest,
    STEP_LIMIT_MS, Session, TraceFinal, TraceReset, TraceStep, Transcript, patient_id, prompt,
    prompt_among, scenario_id, text,
};
pub use world_impl::AXES;

/// The environment of this world, under a name that is unambiguous next to other worlds.
pub type PolyguardEnv = Episode;
