//! The request to start an episode, and the reasons to refuse it (spec polyguard §9).

use serde::Deserialize;

use crate::digest::Digest;
use crate::named::Named;
use crate::polyguard::model::setup::{Rules, Setup};
use crate::polyguard::model::task_spec::{TaskSpec, UnknownTaskSpec};
use crate::rules::RulesError;

/// Seed that is used if the request has none.
const DEFAULT_SEED: u64 = 42;

/// A request to start an episode. Every field has a default.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResetRequest {
    /// Seed of the episode; 42 by default.
    pub seed: u64,
    /// The sub-environment; `DDI` by default.
    pub sub_environment: Option<String>,
    /// The difficulty; `easy` by default.
    pub difficulty: Option<String>,
    /// The formulary; `extended` by default.
    pub formulary: Option<String>,
    /// The split; `all` by default.
    pub split: Option<String>,
    /// The rules; the published ones by default.
    pub rules: Option<String>,
    /// Expected scenario id, which must match the setup if given; see [`scenario_id`].
    pub scenario_id: Option<String>,
    /// Expected patient id, which must match the setup if given; see [`patient_id`].
    pub patient_id: Option<String>,
    /// `true` if replies include hidden state. It is meant for evaluators that call from code and
    /// cannot be requested in JSON.
    #[serde(skip)]
    pub debug: bool,
}

impl Default for ResetRequest {
    fn default() -> Self {
        Self {
            seed: DEFAULT_SEED,
            sub_environment: None,
            difficulty: None,
            formulary: None,
            split: None,
            rules: None,
            scenario_id: None,
            patient_id: None,
            debug: false,
        }
    }
}

/// The reason why an episode could not be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResetError {
    /// A field contains an unknown word.
    #[error("unknown {field} {given:?}: use {known}")]
    UnknownWord {
        /// Name of the field.
        field: &'static str,
        /// The word that was given.
        given: String,
        /// The words that are known.
        known: String,
    },
    /// The formulary does not support the combination.
    #[error(transparent)]
    UnknownTaskSpec(#[from] UnknownTaskSpec),
    /// The rule set is invalid.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// An id does not match the setup.
    #[error("{field} {given:?} does not match this setup's {own:?}")]
    OtherId {
        /// Name of the field.
        field: &'static str,
        /// The id that was given.
        given: String,
        /// The id of this setup, which requests must name or leave out.
        own: String,
    },
}

impl ResetRequest {
    /// Returns the setup that the request describes.
    ///
    /// # Errors
    /// Returns an error that names the invalid field and the valid values.
    pub fn setup(&self) -> Result<Setup, ResetError> {
        let sub = pick("sub_environment", self.sub_environment.as_deref())?;
        let difficulty = pick("difficulty", self.difficulty.as_deref())?;
        let formulary = pick("formulary", self.formulary.as_deref())?;
        let split = pick("split", self.split.as_deref())?;
        let rules = match self.rules.as_deref() {
            None => Rules::REFERENCE,
            Some(text) => Rules::parse(text)?,
        };
        let case = TaskSpec::new(formulary, sub, difficulty, split)?;
        let setup = Setup::new(case, self.seed).with_rules(rules);
        same(
            "scenario_id",
            self.scenario_id.as_deref(),
            scenario_id(&setup),
        )?;
        same("patient_id", self.patient_id.as_deref(), patient_id(&setup))?;
        Ok(setup)
    }
}

/// Returns the variant that is requested, or the first one if none is.
fn pick<T: Named>(field: &'static str, given: Option<&str>) -> Result<T, ResetError> {
    let first = T::ALL.first().map_or("", |first| first.name());
    let wanted = given.unwrap_or(first);
    T::parse_ignore_case(wanted).ok_or_else(|| ResetError::UnknownWord {
        field,
        given: wanted.to_owned(),
        known: T::joined_names(),
    })
}

fn same(field: &'static str, given: Option<&str>, own: String) -> Result<(), ResetError> {
    match given {
        Some(given) if given != own => Err(ResetError::OtherId {
            field,
            given: given.to_owned(),
            own,
        }),
        _ => Ok(()),
    }
}

/// Returns the id of an episode, derived from its complete setup.
#[must_use]
pub fn scenario_id(setup: &Setup) -> String {
    let mut digest = of_patient(setup);
    digest.write_bytes(setup.rules.to_string().as_bytes());
    format!("scn_{:016x}", digest.hash)
}

/// Returns the id of a patient, which is the same under all rules.
#[must_use]
pub fn patient_id(setup: &Setup) -> String {
    format!("pt_{:016x}", of_patient(setup).hash)
}

fn of_patient(setup: &Setup) -> Digest {
    let mut digest = Digest::default();
    digest.write_bytes(setup.task.name().as_bytes());
    digest.write_u64(setup.seed);
    digest
}
