//! Scripted, fitted and learned policies of the polyguard world, and its stack of agents (spec
//! polyguard §10).
//!
//! A [`Policy`] sees observations only; the [`LookaheadOracle`] also reads hidden state.
//!
//! [`Policy`]: crate::policy::Policy

mod analyzable_impl;
mod bandit;
mod baselines;
mod beam_search;
mod cholesky;
mod constant_policies;
mod culprit_belief;
mod episode_row;
mod features;
mod fit_provenance;
mod imitation;
pub mod learned;
mod lm_episode;
mod oracle;
mod perfect_information;
mod permitted_candidates;
mod playable_impl;
mod policy_name;
mod rules_only;
pub mod stack;
mod text;

pub use analyzable_impl::PolyguardEvidence;
pub use bandit::{Bandit, ExplorationRule, FittedBandit, SufficientStatistics, fit as fit_bandit};
pub use baselines::{KeepRegimen, LeastRisk, Random, policy_stream};
pub use beam_search::BeamSearch;
pub use culprit_belief::CulpritBelief;
pub use episode_row::EpisodeRow;
pub use features::{FEATURES, Features, feature_names, features};
pub use fit_provenance::{FIT_SEEDS, Provenance};
pub use imitation::{
    Imitation, ImitationPolicy, RecordedChoices, fit as fit_imitation, oracle_choices,
};
pub use lm_episode::LmEpisode;
pub use oracle::LookaheadOracle;
pub use perfect_information::EpisodeBound;
pub use policy_name::PolicyName;
pub use rules_only::RulesOnly;
pub use stack::{AgentStack, Mode, StackConfig, StackPart};

/// A policy or privileged policy of the polyguard world.
pub type Player = crate::policy::Player<sentinel_env::polyguard::PolyguardEnv>;
