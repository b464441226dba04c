//! The requirements for training in an environment that need no tensor library.

use sentinel_env::World;

use super::network::Network;

/// The parts of one step that an evaluation counts.
#[derive(Clone, Debug, PartialEq)]
pub struct StepFacts {
    /// The components of the reward by name.
    pub components: Vec<(&'static str, f64)>,
    /// The anti-cheat rule that the step broke, if any.
    pub exploit: Option<&'static str>,
    /// `true` if the step was refused.
    pub refused: bool,
    /// The kind of the action that was chosen, if there was one.
    pub kind: Option<&'static str>,
    /// The name under which the action was shown, which is its place in the list.
    pub candidate: Option<String>,
}

/// An environment with a network that plays it, and the rewards that it is trained on.
pub trait NetworkWorld: World {
    /// The network that plays the environment.
    type Net: Network<Env = Self>;

    /// The names of the rules against reward hacking whose violations [`NetworkWorld::step_facts`]
    /// reports.
    const EXPLOITS: &'static [&'static str] = &[];

    /// Returns the part of the world that a task belongs to, under which an evaluation reports
    /// [`NetworkWorld::step_facts`]; `None` if the world has no such facts.
    fn split(_task: Self::Task) -> Option<&'static str> {
        None
    }

    /// Returns the parts of a step that an evaluation reports beside its score; `None` by default.
    fn step_facts(_step: &Self::Info) -> Option<StepFacts> {
        None
    }
}
