//! The requirements for training in an environment that need no tensor library.

use sentinel_env::World;
use sentinel_policy::nn::Network;

use crate::eval::StepFacts;

/// An environment with a network that plays it, and the rewards that it is trained on.
pub trait Trainable: World {
    /// The network that plays the environment.
    type Net: Network<Env = Self>;

    /// Returns the sum of the reward events so far, for rewards-to-go. By default it is computed
    /// from the score as their mean.
    fn total_reward(&self) -> f64 {
        self.score() * self.reward_count()
    }

    /// Returns the number of reward events so far, for rewards-to-go. By default there is one per
    /// step.
    fn reward_count(&self) -> f64 {
        f64::from(Self::step_count(self.observation()))
    }

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
