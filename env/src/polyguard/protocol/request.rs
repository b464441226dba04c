//! The request to start an episode, and why it may be refused (spec polyguard §9).

use serde::Deserialize;

use crate::digest::Digest;
use crate::named::Named;
use crate::polyguard::model::case::{Case, NoSuchCase};
use crate::polyguard::model::setup::{Rules, Setup};
use crate::rules::RulesError;

/// The default seed.
const DEFAULT_SEED: u64 = 42;

/// A request to start an episode. Every field has a default.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResetRequest {
    /// The seed.
    pub seed: u64,
    /// The sub-environment; default `DDI`.
    pub sub_environment: Option<String>,
    /// The difficulty; default `easy`.
    pub difficulty: Option<String>,
    /// The formulary; default `extended`.
    pub formulary: Option<String>,
    /// The split; default `all`.
    pub split: Option<String>,
    /// The rules; default the published ones.
    pub rules: Option<String>,
    /// When given, must be that of the setup: see [`scenario_id`].
    pub scenario_id: Option<String>,
    /// When given, must be that of the setup: see [`patient_id`].
    pub patient_id: Option<String>,
    /// Whether replies include hidden state. For evaluators, who call from code: it cannot be asked
    /// for in JSON.
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
    /// A word that is none of those that there are.
    #[error("unknown {field} {given:?}: use {known}")]
    UnknownWord {
        /// Which field.
        field: &'static str,
        /// The answer.
        given: String,
        /// What there is.
        known: String,
    },
    /// A cell that the formulary lacks.
    #[error(transparent)]
    NoSuchCase(#[from] NoSuchCase),
    /// No such rules.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// An id of something else.
    #[error("{field} {given:?} is not that of this setup, {own:?}")]
    OtherId {
        /// Which field.
        field: &'static str,
        /// The answer.
        given: String,
        /// What it should say, or leave out.
        own: String,
    },
}

impl ResetRequest {
    /// Returns the setup that is asked for.
    ///
    /// # Errors
    /// Names the field that asks for what there is not.
    pub fn setup(&self) -> Result<Setup, ResetError> {
        let sub = pick("sub_environment", self.sub_environment.as_deref())?;
        let difficulty = pick("difficulty", self.difficulty.as_deref())?;
        let formulary = pick("formulary", self.formulary.as_deref())?;
        let split = pick("split", self.split.as_deref())?;
        let rules = match self.rules.as_deref() {
            None => Rules::REFERENCE,
            Some(text) => Rules::parse(text)?,
        };
        let case = Case::new(formulary, sub, difficulty, split)?;
        let setup = Setup::new(case, self.seed).under(rules);
        same(
            "scenario_id",
            self.scenario_id.as_deref(),
            scenario_id(&setup),
        )?;
        same("patient_id", self.patient_id.as_deref(), patient_id(&setup))?;
        Ok(setup)
    }
}

/// Returns the variant that is asked for, else the first.
fn pick<T: Named>(field: &'static str, given: Option<&str>) -> Result<T, ResetError> {
    let first = T::ALL.first().map_or("", |first| first.name());
    let wanted = given.unwrap_or(first);
    T::parse_ignore_case(wanted).ok_or_else(|| ResetError::UnknownWord {
        field,
        given: wanted.to_owned(),
        known: T::names(),
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

/// Returns the id of an episode, derived from its whole setup.
#[must_use]
pub fn scenario_id(setup: &Setup) -> String {
    let mut digest = of_patient(setup);
    digest.bytes(setup.rules.to_string().as_bytes());
    format!("scn_{:016x}", digest.hash)
}

/// Returns the id of a patient, the same under all rules.
#[must_use]
pub fn patient_id(setup: &Setup) -> String {
    format!("pt_{:016x}", of_patient(setup).hash)
}

fn of_patient(setup: &Setup) -> Digest {
    let mut digest = Digest::default();
    digest.bytes(setup.case.name().as_bytes());
    digest.int(setup.seed);
    digest
}
