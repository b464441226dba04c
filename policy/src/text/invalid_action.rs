//! The effect of a completion that is not a valid action.

/// The effect on an episode of a completion that is not a valid action.
///
/// Each world uses one of the two variants. Neither replaces the text by an action that it does not
/// name: substituting the cheapest harmless action would teach a model that invalid text is that
/// action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InvalidActionPolicy<A> {
    /// The world has an action for invalid text. It uses up a step, and the world counts it and
    /// rewards it.
    Step(A),
    /// The world has no such action. The state of the episode does not change, and the sample ends
    /// here. The row earns the [`InvalidReward`], and so does every reward event that the remaining
    /// budget still allowed, so that ending early never preserves a score.
    EndSample,
}

/// The reward of a completion that ends its sample, in `[-1, 0]`: below the reward of any action.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, serde::Serialize)]
pub struct InvalidReward(f64);

/// An error for a number that is not a valid [`InvalidReward`].
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{0} is not from -1 to 0: an invalid completion must earn less than any action")]
pub struct InvalidRewardError(f64);

impl InvalidReward {
    /// Creates the reward from a number in `[-1, 0]`. Every action of a world with
    /// [`InvalidActionPolicy::EndSample`] earns more than 0.
    ///
    /// # Errors
    /// If the number is outside of that range or NaN.
    pub fn new(value: f64) -> Result<Self, InvalidRewardError> {
        if (-1.0..=0.0).contains(&value) {
            Ok(Self(value))
        } else {
            Err(InvalidRewardError(value))
        }
    }

    /// Returns the reward as a number.
    #[must_use]
    pub const fn value(self) -> f64 {
        self.0
    }
}
