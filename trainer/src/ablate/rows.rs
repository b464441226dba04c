//! The rows of an ablation: the stack, what it is without a part, and its parts alone.

use sentinel_env::polyguard::Setup;
use sentinel_policy::policy::Player;
use sentinel_policy::polyguard::{
    Bandit, LmEpisode, Mode, Part, Player as PolyguardPlayer, Rule, Stack, StackConfig,
};

/// Who plays a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKey {
    /// LinUCB alone.
    BanditOnly,
    /// A language model alone.
    LlmOnly,
    /// A language model over the three candidates that LinUCB leaves it.
    LlmBandit,
    /// The full stack.
    Full(Mode),
    /// The sequential stack without a part.
    Without(Part),
}

impl RowKey {
    /// All rows, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        let parts = [Self::BanditOnly, Self::LlmOnly, Self::LlmBandit].into_iter();
        let full = Mode::ALL.into_iter().map(Self::Full);
        let without = Part::ALL.into_iter().map(Self::Without);
        parts.chain(full).chain(without)
    }

    /// The key in files.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::BanditOnly => "bandit_only".to_owned(),
            Self::LlmOnly => "llm_only".to_owned(),
            Self::LlmBandit => "llm_bandit".to_owned(),
            Self::Full(mode) => format!("stack_{}", mode.name()),
            Self::Without(part) => format!("stack_without_{}", part.name()),
        }
    }

    /// Whether a language model plays.
    #[must_use]
    pub const fn needs_model(self) -> bool {
        matches!(self, Self::LlmOnly | Self::LlmBandit)
    }

    /// A fresh player for the episode `seed`; `None` where a language model plays.
    #[must_use]
    pub fn player(self, seed: u64) -> Option<PolyguardPlayer> {
        let stack = |config| Player::Public(Box::new(Stack::new(config)));
        Some(match self {
            Self::BanditOnly => Player::Public(Box::new(Bandit::new(Rule::LinUcb, seed))),
            Self::LlmOnly | Self::LlmBandit => return None,
            Self::Full(mode) => stack(StackConfig::new(mode)),
            Self::Without(part) => stack(StackConfig::default().without(part)),
        })
    }

    /// A fresh episode for a language model; `None` where none plays.
    #[must_use]
    pub fn lm_episode(self, setup: &Setup) -> Option<LmEpisode> {
        match self {
            Self::LlmOnly => Some(LmEpisode::new(setup)),
            Self::LlmBandit => Some(LmEpisode::with_bandit(setup)),
            Self::BanditOnly | Self::Full(_) | Self::Without(_) => None,
        }
    }
}
