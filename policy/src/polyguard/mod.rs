//! Scripted and fitted policies of the polyguard world (spec polyguard §10).

mod habits;
pub mod learned;
mod oracle;
mod rules_only;
mod run;
mod simple;
mod world;

use sentinel_env::polyguard::PolyguardWorld;

pub use oracle::Oracle;
pub use rules_only::RulesOnly;
pub use run::EpisodeRow;
pub use simple::{GreedyRegimen, NoChange, Random};

/// A policy or an oracle of this world.
pub type Player = crate::play::Player<PolyguardWorld>;

/// The scripted policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyName {
    /// Any candidate that is shown.
    Random,
    /// Keeps the regimen.
    NoChange,
    /// The least estimated risk.
    GreedyRegimen,
    /// Plain rules.
    RulesOnly,
    /// Tries everything in the episode as it is.
    Oracle,
}

impl PolicyName {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Random,
        Self::NoChange,
        Self::GreedyRegimen,
        Self::RulesOnly,
        Self::Oracle,
    ];

    /// The name used in files and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::NoChange => "no_change",
            Self::GreedyRegimen => "greedy_regimen",
            Self::RulesOnly => "rules_only",
            Self::Oracle => "oracle",
        }
    }

    /// One sentence for a person.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Random => "Picks any candidate that is shown",
            Self::NoChange => "Keeps the regimen as it is",
            Self::GreedyRegimen => "Takes the candidate with the least estimated risk",
            Self::RulesOnly => "Follows a list of plain rules, the first that applies",
            Self::Oracle => "Tries every candidate on the true patient: not a fair player",
        }
    }

    /// Whether the policy reads hidden state.
    #[must_use]
    pub const fn cheats(self) -> bool {
        matches!(self, Self::Oracle)
    }

    /// A fresh player for the episode `seed`.
    #[must_use]
    pub fn player(self, seed: u64) -> Player {
        match self {
            Self::Random => Player::Public(Box::new(Random::new(seed))),
            Self::NoChange => Player::Public(Box::new(NoChange)),
            Self::GreedyRegimen => Player::Public(Box::new(GreedyRegimen)),
            Self::RulesOnly => Player::Public(Box::new(RulesOnly)),
            Self::Oracle => Player::Cheating(Box::new(Oracle::new(2))),
        }
    }
}
