//! How the agents work together, and which of them take part.

/// How the agents work together (spec polyguard §10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// One after the other; what the critic vetoes is replaced by its fallback.
    #[default]
    SequentialPipeline,
    /// The supervisor's focus leaves only its kinds of acts, keeping and reviews.
    SupervisorRouted,
    /// After a veto the planner may try the next best, twice.
    ReplanOnVeto,
    /// Plain rules, the least estimated risk and the planner each propose; the majority counts,
    /// else what the critic minds least.
    LightweightDebate,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::SequentialPipeline,
        Self::SupervisorRouted,
        Self::ReplanOnVeto,
        Self::LightweightDebate,
    ];

    /// Returns the name used in files and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SequentialPipeline => "sequential_pipeline",
            Self::SupervisorRouted => "supervisor_routed",
            Self::ReplanOnVeto => "replan_on_veto",
            Self::LightweightDebate => "lightweight_debate",
        }
    }

    /// Returns the mode with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// What can be left out of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The agent that weighs estimated risk and suspicion.
    Graph,
    /// The agent that asks for missing laboratory values.
    Evidence,
    /// The agent that vetoes.
    Critic,
    /// The agent that sets a focus.
    Supervisor,
    /// The agent that weighs changes of doses.
    Dosing,
    /// Handing over: no review can be chosen or fallen back to.
    Abstention,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Graph,
        Self::Evidence,
        Self::Critic,
        Self::Supervisor,
        Self::Dosing,
        Self::Abstention,
    ];

    /// Returns the name used in files and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::Evidence => "evidence",
            Self::Critic => "critic",
            Self::Supervisor => "supervisor",
            Self::Dosing => "dosing",
            Self::Abstention => "abstention",
        }
    }
}

/// A stack: how it works together, and what is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StackConfig {
    /// How the agents work together.
    pub mode: Mode,
    /// Whether the planner sees only what a bandit would choose first.
    pub shortlist: bool,
    off: u8,
}

impl StackConfig {
    /// Returns all agents, in a mode.
    #[must_use]
    pub const fn of(mode: Mode) -> Self {
        Self {
            mode,
            shortlist: false,
            off: 0,
        }
    }

    /// Returns the same with a part left out.
    #[must_use]
    pub const fn without(mut self, part: Part) -> Self {
        self.off |= 1 << part as u8;
        self
    }

    /// Returns the same with a bandit's list of three for the planner.
    #[must_use]
    pub const fn with_shortlist(mut self) -> Self {
        self.shortlist = true;
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
