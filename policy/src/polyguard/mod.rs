//! Scripted, fitted and learned policies of the polyguard world, and its stack of agents (spec
//! polyguard §10).
//!
//! A [`Policy`] sees observations only; the [`Oracle`] also reads hidden state.
//!
//! [`Policy`]: crate::policy::Policy

mod bandit;
mod beam;
mod cholesky;
mod constants;
mod features;
mod fitted;
mod imitation;
pub mod learned;
mod lm_episode;
mod names;
mod oracle;
mod permitted;
mod rules_only;
mod run;
mod simple;
pub mod stack;
mod text;
mod world;

pub use bandit::{Bandit, FittedBandit, Rule, Statistics, fit as fit_bandit};
pub use beam::BeamSearch;
pub use features::{FEATURES, Features, feature_names, features};
pub use fitted::{FIT_SEEDS, Provenance};
pub use imitation::{Choices, Imitation, ImitationPolicy, fit as fit_imitation, oracle_choices};
pub use lm_episode::LmEpisode;
pub use names::PolicyName;
pub use oracle::Oracle;
pub use rules_only::RulesOnly;
pub use run::EpisodeRow;
pub use simple::{GreedyRegimen, NoChange, Random, policy_stream};
pub use stack::{Mode, Part, Stack, StackConfig};

/// A policy or privileged policy of the polyguard world.
pub type Player = crate::policy::Player<sentinel_env::polyguard::PolyguardEnv>;
