//! The requirements for training in an environment that need no tensor library.

use sentinel_env::World;
use sentinel_policy::nn::Network;

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
}
