//! The requirements for training in an environment that need no tensor library.

use sentinel_env::World;
use sentinel_policy::nn::Network;

use crate::eval::StepFacts;

/// An environment with a network that plays it, and the rewards that it is trained on.
pub trait Trainable: World {
    /// The network that plays the environment.
    type Net: Network<Env = Self>;

    /// The names of the rules against reward hacking whose violations [`Trainable::step_facts`]
    /// reports.
    const EXPLOITS: &'static [&'static str] = &[];

    /// Returns the part of the world that a task belongs to, under which an evaluation reports
    /// [`Trainable::step_facts`]; `None` if the world has no such facts.
    fn split(_task: Self::Task) -> Option<&'static str> {
        None
    }

    /// Returns the parts of a step that an evaluation reports beside its score; `None` by default.
    fn step_facts(_step: &Self::Info) -> Option<StepFacts> {
        None
    }
}
