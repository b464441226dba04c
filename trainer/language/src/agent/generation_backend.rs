//! The interface between rollouts and what generates their completions.

use sentinel_lm::{Completion, GenerateOptions, Generator, LmError};

/// Generates completions of tokenized prompts: a model in this process, or an engine elsewhere.
pub trait GenerationBackend {
    /// Generates one completion per prompt, in the same order.
    ///
    /// # Errors
    /// If an option or a prompt is invalid, or the backend fails.
    fn generate(
        &mut self,
        prompts: &[Vec<u32>],
        options: &GenerateOptions,
    ) -> Result<Vec<Completion>, LmError>;
}

/// A model in this process.
impl GenerationBackend for Generator<'_> {
    fn generate(
        &mut self,
        prompts: &[Vec<u32>],
        options: &GenerateOptions,
    ) -> Result<Vec<Completion>, LmError> {
        Self::generate(self, prompts, options)
    }
}
