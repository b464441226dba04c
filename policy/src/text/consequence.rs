//! What a completion does that is no action.

/// What becomes of an episode in which a model said something that is no action.
///
/// There are two answers, and each world has one of them. In neither does the text become an action
/// that it does not name: taking the cheapest harmless action in its place would teach a model that
/// nonsense is that action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Consequence<A> {
    /// The world has an action for it, which costs a step and is counted and rewarded by the world.
    Step(A),
    /// The world has none: the episode is left as it was, and for this sample it ends here. The
    /// row earns the [`InvalidReward`], and so does every event that the budget still had room for,
    /// so that no score is saved by breaking off.
    Ends,
}

/// What a completion earns that ends an episode: below the reward of any action.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, serde::Serialize)]
pub struct InvalidReward(f64);

/// Why a number is no reward for a completion that is no action.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{0} is not from -1 to 0: what is no action must earn less than any action does")]
pub struct InvalidRewardError(f64);

impl InvalidReward {
    /// From a number in `[-1, 0]`. Every world's actions earn more than 0, see
    /// [`super::TextWorld::LEAST_REWARD`].
    ///
    /// # Errors
    /// If it is another number, or none.
    pub fn new(value: f64) -> Result<Self, InvalidRewardError> {
        if (-1.0..=0.0).contains(&value) {
            Ok(Self(value))
        } else {
            Err(InvalidRewardError(value))
        }
    }

    /// The number.
    #[must_use]
    pub const fn value(self) -> f64 {
        self.0
    }
}
