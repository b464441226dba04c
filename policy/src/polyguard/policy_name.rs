//! The scripted policies of the polyguard world by name.

use sentinel_env::named_enum;
use sentinel_env::rng::Streams;

use super::{
    AgentStack, Bandit, BeamSearch, ExplorationRule, Imitation, ImitationPolicy, KeepRegimen,
    LeastRisk, LookaheadOracle, Mode, Player, Random, RulesOnly, StackConfig,
};

/// Number of steps that the oracle looks ahead.
const ORACLE_DEPTH: u8 = 2;

named_enum! {
    /// The scripted and fitted policies of the polyguard world.
    pub enum PolicyName {
        /// Chooses any shown candidate at random.
        Random = "random",
        /// Keeps the regimen at every step.
        KeepRegimen = "no_change",
        /// Takes the candidate with the least estimated risk.
        LeastRisk = "greedy_regimen",
        /// Follows an ordered list of rules.
        RulesOnly = "rules_only",
        /// Imitates the oracle with a logistic model.
        Imitation = "imitation",
        /// A contextual bandit with upper confidence bounds (LinUCB).
        ContextualBandit = "contextual_bandit",
        /// A contextual bandit with Thompson sampling.
        Thompson = "thompson",
        /// Plans by beam search in a model of the observable chart.
        BeamSearchPlanner = "beam_search_planner",
        /// Nine agents that run one after the other.
        Stack = "stack",
        /// Nine agents, of which the supervisor decides the kinds of acts.
        StackRouted = "stack_routed",
        /// Nine agents that plan again after a veto.
        StackReplan = "stack_replan",
        /// Nine agents that debate about the choice.
        StackDebate = "stack_debate",
        /// A privileged policy that tries candidates in copies of the true episode; slow.
        Oracle = "oracle",
    }
}

impl PolicyName {
    /// Returns a one-sentence description for users.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Random => "Picks any of the shown candidates at random",
            Self::KeepRegimen => "Keeps the regimen as it is, always",
            Self::LeastRisk => "Takes the candidate with the least estimated risk",
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

    /// Returns `true` if the policy reads hidden state.
    #[must_use]
    pub const fn is_privileged(self) -> bool {
        matches!(self, Self::Oracle)
    }

    /// Creates a player for the episode `seed`, with no memory of earlier episodes. The stream mode
    /// is ignored, because policies of this world always draw from a stream of their own.
    #[must_use]
    pub fn player(self, seed: u64, _streams: Streams) -> Player {
        let stack = |mode| Player::Public(Box::new(AgentStack::new(StackConfig::new(mode))));
        match self {
            Self::Random => Player::Public(Box::new(Random::new(seed))),
            Self::KeepRegimen => Player::Public(Box::new(KeepRegimen)),
            Self::LeastRisk => Player::Public(Box::new(LeastRisk)),
            Self::RulesOnly => Player::Public(Box::new(RulesOnly)),
            Self::Imitation => {
                Player::Public(Box::new(ImitationPolicy::new(Imitation::builtin().weights)))
            }
            Self::ContextualBandit => {
                Player::Public(Box::new(Bandit::new(ExplorationRule::LinUcb, seed)))
            }
            Self::Thompson => {
                Player::Public(Box::new(Bandit::new(ExplorationRule::Thompson, seed)))
            }
            Self::BeamSearchPlanner => Player::Public(Box::new(BeamSearch)),
            Self::Stack => stack(Mode::SequentialPipeline),
            Self::StackRouted => stack(Mode::SupervisorRouted),
            Self::StackReplan => stack(Mode::ReplanOnVeto),
            Self::StackDebate => stack(Mode::LightweightDebate),
            Self::Oracle => Player::Privileged(Box::new(LookaheadOracle::new(ORACLE_DEPTH))),
        }
    }
}
