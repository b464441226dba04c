//! The mode in which the agents work together, and the parts that can be left out.

use sentinel_env::named_enum;

named_enum! {
    /// A mode in which the agents work together (spec polyguard §10).
    #[derive(Default)]
    pub enum Mode {
        /// One after the other; what the critic vetoes is replaced by its fallback.
        #[default]
        SequentialPipeline = "sequential_pipeline",
        /// The supervisor's focus leaves only its kinds of acts, keeping and reviews.
        SupervisorRouted = "supervisor_routed",
        /// After a veto the planner may try the next best, twice.
        ReplanOnVeto = "replan_on_veto",
        /// Plain rules, the least estimated risk and the planner each propose; the majority counts,
        /// else what the critic minds least.
        LightweightDebate = "lightweight_debate",
    }
}

named_enum! {
    /// A part that can be left out of the stack.
    pub enum Part {
        /// The agent that weighs estimated risk and suspicion.
        Graph = "graph",
        /// The agent that asks for missing laboratory values.
        Evidence = "evidence",
        /// The agent that vetoes.
        Critic = "critic",
        /// The agent that sets a focus.
        Supervisor = "supervisor",
        /// The agent that weighs changes of doses.
        Dosing = "dosing",
        /// Handing over: no review can be chosen or fallen back to.
        Abstention = "abstention",
    }
}

/// A stack: how it works together, and what is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StackConfig {
    /// The mode in which the agents work together.
    pub mode: Mode,
    off: u8,
}

impl StackConfig {
    /// Returns all agents, in a mode.
    #[must_use]
    pub const fn of(mode: Mode) -> Self {
        Self { mode, off: 0 }
    }

    /// Returns the same with a part left out.
    #[must_use]
    pub const fn without(mut self, part: Part) -> Self {
        self.off |= 1 << part as u8;
        self
    }

    /// Returns whether a part takes part.
    #[must_use]
    pub const fn has(self, part: Part) -> bool {
        self.off >> part as u8 & 1 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_left_out_is_out_and_the_others_are_in() {
        for part in Part::ALL {
            let config = StackConfig::of(Mode::ReplanOnVeto).without(part);
            for other in Part::ALL {
                assert_eq!(config.has(other), other != part);
            }
        }
        for mode in Mode::ALL {
            assert_eq!(Mode::parse(mode.name()), Some(mode));
        }
    }
}
