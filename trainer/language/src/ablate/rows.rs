//! The rows of an ablation: the full stack, the stack without each part, and parts alone.

use sentinel_env::polyguard::Setup;
use sentinel_policy::policy::Player;
use sentinel_policy::polyguard::{
    AgentStack, Bandit, ExplorationRule, LmEpisode, Mode, Player as PolyguardPlayer, StackConfig,
    StackPart,
};

/// The player of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKey {
    /// The bandit LinUCB alone.
    BanditOnly,
    /// A language model alone, without the stack.
    LlmOnly,
    /// A language model that chooses among the three candidates that LinUCB preselects.
    LlmBandit,
    /// The full stack in one of its modes.
    Full(Mode),
    /// The sequential stack without one part.
    Without(StackPart),
}

impl RowKey {
    /// Returns all rows, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        let parts = [Self::BanditOnly, Self::LlmOnly, Self::LlmBandit].into_iter();
        let full = Mode::ALL.into_iter().map(Self::Full);
        let without = StackPart::ALL.into_iter().map(Self::Without);
        parts.chain(full).chain(without)
    }

    /// Returns the row's name in files.
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

    /// Returns `true` if a language model plays the row.
    #[must_use]
    pub const fn needs_model(self) -> bool {
        matches!(self, Self::LlmOnly | Self::LlmBandit)
    }

    /// Returns a new player for the episode `seed`; `None` if a language model plays.
    #[must_use]
    pub fn player(self, seed: u64) -> Option<PolyguardPlayer> {
        let stack = |config| Player::Public(Box::new(AgentStack::new(config)));
        Some(match self {
            Self::BanditOnly => {
                Player::Public(Box::new(Bandit::new(ExplorationRule::LinUcb, seed)))
            }
            Self::LlmOnly | Self::LlmBandit => return None,
            Self::Full(mode) => stack(StackConfig::new(mode)),
            Self::Without(part) => stack(StackConfig::default().without(part)),
        })
    }

    /// Returns a new episode for a language model; `None` if none plays.
    #[must_use]
    pub fn lm_episode(self, setup: &Setup) -> Option<LmEpisode> {
        match self {
            Self::LlmOnly => Some(LmEpisode::new(setup)),
            Self::LlmBandit => Some(LmEpisode::with_bandit(setup)),
            Self::BanditOnly | Self::Full(_) | Self::Without(_) => None,
        }
    }
}
