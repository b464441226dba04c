//! The trained policies that ship with the repository.

use sentinel_env::rules::Rules;

use super::NetworkWorld;

/// A world with trained policies in the repository: one for each set of rules, or one for both.
pub trait Published: NetworkWorld {
    /// The folders of the models, relative to the repository: of the one for rules near the reference's,
    /// and of the one for rules near the hardened ones.
    const MODELS: [&'static str; 2];

    /// Returns the place in [`Published::MODELS`] of the model that plays under `rules`.
    #[must_use]
    fn model_index(rules: Rules<Self::Change>) -> usize {
        usize::from(rules.is_mostly_hardened())
    }

    /// Returns the folder of the model that plays under `rules`.
    #[must_use]
    fn published_model(rules: Rules<Self::Change>) -> &'static str {
        Self::MODELS[Self::model_index(rules)]
    }
}
