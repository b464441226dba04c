//! The interface of agents of language models, in this process or behind an API.

use sentinel_play::rollout::RolloutError;

use crate::training::RunError;

/// An agent of a language model. A [`TextAgent`](sentinel_play::rollout::TextAgent) cannot return errors; it returns
/// too few completions instead, which stops the rollout, and stores the error.
pub trait LanguageAgent {
    /// Returns the error of the last failed generation once.
    fn take_failure(&mut self) -> Option<RunError>;

    /// Returns the number of tokens that were generated so far.
    fn generated_tokens(&self) -> usize;

    /// Runs `play` with this agent. If the model failed, or the agent was asked to stop, this error
    /// replaces that of the rollout, which reports only a missing completion.
    ///
    /// # Errors
    /// The model's error, [`RolloutError::Interrupted`], or else the rollout's.
    fn run<T>(
        &mut self,
        play: impl FnOnce(&mut Self) -> Result<T, RolloutError>,
    ) -> Result<T, RunError>
    where
        Self: Sized,
    {
        let played = play(self);
        match self.take_failure() {
            Some(error) => Err(error),
            None => Ok(played?),
        }
    }
}
