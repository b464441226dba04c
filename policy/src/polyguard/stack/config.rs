//! Configuration of the stack: the mode of cooperation and the parts that are switched off.

use sentinel_env::named_enum;

named_enum! {
    /// The mode in which the agents cooperate (spec polyguard §10).
    #[derive(Default)]
    pub enum Mode {
        /// The agents run once in order; a vetoed choice is replaced by the critic's fallback.
        #[default]
        SequentialPipeline = "sequential_pipeline",
        /// The planner chooses only from keeping, reviews and the kinds of acts of the supervisor's
        /// focus.
        SupervisorRouted = "supervisor_routed",
        /// After a veto, the next best candidate of the plan is tried, at most twice.
        ReplanOnVeto = "replan_on_veto",
        /// The rules, the least estimated risk and the planner each propose a candidate. The
        /// majority decides, or else the critic's smallest penalty.
        LightweightDebate = "lightweight_debate",
    }
}

named_enum! {
    /// A part of the stack that can be switched off.
    pub enum StackPart {
        /// The agent that scores estimated risk and suspected pairs.
        Graph = "graph",
        /// The agent that requests missing laboratory values.
        Evidence = "evidence",
        /// The agent that vetoes unsafe choices.
        Critic = "critic",
        /// The agent that sets the focus of a step.
        Supervisor = "supervisor",
        /// The agent that scores changes of doses.
        Dosing = "dosing",
        /// The option to hand over the case. Without it, reviews are neither offered nor used as a
        /// fallback.
        Abstention = "abstention",
    }
}

/// The configuration of a stack: its mode, and the parts that are switched off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StackConfig {
    /// Mode in which the agents cooperate.
    pub mode: Mode,
    off: u8,
}

impl StackConfig {
    /// Creates a configuration with every part switched on.
    #[must_use]
    pub const fn new(mode: Mode) -> Self {
        Self { mode, off: 0 }
    }

    /// Returns the same configuration with `part` switched off.
    #[must_use]
    pub const fn without(mut self, part: StackPart) -> Self {
        self.off |= 1 << part as u8;
        self
    }

    /// Returns `true` if `part` is switched on.
    #[must_use]
    pub const fn is_enabled(self, part: StackPart) -> bool {
        self.off >> part as u8 & 1 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn config_without_part_keeps_other_parts() {
        for part in StackPart::ALL {
            let config = StackConfig::new(Mode::ReplanOnVeto).without(part);
            for other in StackPart::ALL {
                assert_eq!(config.is_enabled(other), other != part);
            }
        }
        for mode in Mode::ALL {
            assert_eq!(Mode::parse(mode.name()), Some(mode));
        }
    }
}
