//! The policies by name.

use sentinel_env::rng::Streams;

use super::{
    Bandit, BeamSearch, GreedyRegimen, Imitates, Imitation, Mode, NoChange, Oracle, Player, Random,
    Rule, RulesOnly, Stack, StackConfig,
};

/// Steps that the oracle looks ahead.
const ORACLE_DEPTH: u8 = 2;

/// The policies of this world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyName {
    /// Any candidate.
    Random,
    /// Keeps the regimen, always.
    NoChange,
    /// The least estimated risk.
    GreedyRegimen,
    /// Plain rules.
    RulesOnly,
    /// Imitates the oracle.
    Imitation,
    /// LinUCB.
    ContextualBandit,
    /// A bandit that draws from what it believes.
    Thompson,
    /// Plans in a model of what can be observed.
    BeamSearchPlanner,
    /// Nine agents, one after the other.
    Stack,
    /// Nine agents, the supervisor chooses the kinds of acts.
    StackRouted,
    /// Nine agents, new plans after a veto.
    StackReplan,
    /// Nine agents and a debate.
    StackDebate,
    /// Tries candidates in the episode as it is; slow.
    Oracle,
}

impl PolicyName {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Random,
        Self::NoChange,
        Self::GreedyRegimen,
        Self::RulesOnly,
        Self::Imitation,
        Self::ContextualBandit,
        Self::Thompson,
        Self::BeamSearchPlanner,
        Self::Stack,
        Self::StackRouted,
        Self::StackReplan,
        Self::StackDebate,
        Self::Oracle,
    ];

    /// Returns the name used in files and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::NoChange => "no_change",
            Self::GreedyRegimen => "greedy_regimen",
            Self::RulesOnly => "rules_only",
            Self::Imitation => "imitation",
            Self::ContextualBandit => "contextual_bandit",
            Self::Thompson => "thompson",
            Self::BeamSearchPlanner => "beam_search_planner",
            Self::Stack => "stack",
            Self::StackRouted => "stack_routed",
            Self::StackReplan => "stack_replan",
            Self::StackDebate => "stack_debate",
            Self::Oracle => "oracle",
        }
    }

    /// Returns one sentence for a person.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Random => "Picks any of the shown candidates at random",
            Self::NoChange => "Keeps the regimen as it is, always",
            Self::GreedyRegimen => "Takes the candidate with the least estimated risk",
            Self::RulesOnly => "Follows plain rules, the first that applies",
            Self::Imitation => "A logistic model of what the oracle chooses",
            Self::ContextualBandit => "LinUCB: a linear model of what a step earns, with bounds",
            Self::Thompson => "A linear model of what a step earns, drawn from what it believes",
            Self::BeamSearchPlanner => "Plans three steps ahead in what the chart lets it foresee",
            Self::Stack => "Nine agents, one after the other; a critic vetoes",
            Self::StackRouted => "Nine agents; the supervisor's focus decides what can be chosen",
            Self::StackReplan => "Nine agents; after a veto the next best plan is tried",
            Self::StackDebate => "Nine agents; rules, least risk and the planner vote",
            Self::Oracle => "Tries candidates in the episode as it is: not a fair player",
        }
    }

    /// Returns the policy called `name`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|p| p.name() == name)
    }

    /// Returns whether the policy reads hidden state.
    #[must_use]
    pub const fn is_privileged(self) -> bool {
        matches!(self, Self::Oracle)
    }

    /// Returns a fresh player for the episode `seed`. There is one mode of streams: a policy has its own.
    #[must_use]
    pub fn player(self, seed: u64, _streams: Streams) -> Player {
        let stack = |mode| Player::Public(Box::new(Stack::new(StackConfig::of(mode), seed)));
        match self {
            Self::Random => Player::Public(Box::new(Random::new(seed))),
            Self::NoChange => Player::Public(Box::new(NoChange)),
            Self::GreedyRegimen => Player::Public(Box::new(GreedyRegimen)),
            Self::RulesOnly => Player::Public(Box::new(RulesOnly)),
            Self::Imitation => {
                Player::Public(Box::new(Imitates::new(Imitation::shipped().weights)))
            }
            Self::ContextualBandit => Player::Public(Box::new(Bandit::new(Rule::LinUcb, seed))),
            Self::Thompson => Player::Public(Box::new(Bandit::new(Rule::Thompson, seed))),
            Self::BeamSearchPlanner => Player::Public(Box::new(BeamSearch)),
            Self::Stack => stack(Mode::SequentialPipeline),
            Self::StackRouted => stack(Mode::SupervisorRouted),
            Self::StackReplan => stack(Mode::ReplanOnVeto),
            Self::StackDebate => stack(Mode::LightweightDebate),
            Self::Oracle => Player::Privileged(Box::new(Oracle::new(ORACLE_DEPTH))),
        }
    }
}
