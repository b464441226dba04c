//! Generation that the ranks of a run share.

use std::ops::Range;

use sentinel_lm::{Completion, GenerateOptions, LmError};
use sentinel_run::distributed::ProcessGroup;
use serde::{Deserialize, Serialize};

use super::generation_backend::GenerationBackend;
use crate::exchange::exchange;

/// The way in which ranks share the prompts of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// Every rank completes a block of the prompts.
    Blocks,
    /// Rank 0 completes all prompts, with servers that are elsewhere.
    Main,
}

/// A generator whose completions all ranks get, each from the rank that generated it.
///
/// Row `i` of a batch has the same random stream on every rank, so that on the processor the completions
/// are those of a single process.
pub struct SharedBackend<'a> {
    /// Generator of this rank; `None` on a rank that generates nothing.
    own: Option<Box<dyn GenerationBackend + 'a>>,
    division: Division,
    group: &'a ProcessGroup,
}

/// A completion as it is sent; log-probabilities are sent by their bits.
#[derive(Serialize, Deserialize)]
struct SentCompletion {
    ids: Vec<u32>,
    logps: Vec<u32>,
    stopped: bool,
}

impl From<Completion> for SentCompletion {
    fn from(completion: Completion) -> Self {
        Self {
            logps: completion.logps.iter().map(|logp| logp.to_bits()).collect(),
            ids: completion.ids,
            stopped: completion.stopped,
        }
    }
}

impl From<SentCompletion> for Completion {
    fn from(sent: SentCompletion) -> Self {
        Self {
            logps: sent.logps.into_iter().map(f32::from_bits).collect(),
            ids: sent.ids,
            stopped: sent.stopped,
        }
    }
}

impl<'a> SharedBackend<'a> {
    /// Creates the backend of this rank; `own` generates its part.
    #[must_use]
    pub fn new(
        own: Option<Box<dyn GenerationBackend + 'a>>,
        division: Division,
        group: &'a ProcessGroup,
    ) -> Self {
        Self {
            own,
            division,
            group,
        }
    }

    /// Returns the rows of this rank in a batch of `count`.
    fn rows(&self, count: usize) -> Range<usize> {
        match self.division {
            Division::Blocks => self.group.share().block(count),
            Division::Main if self.group.is_main() => 0..count,
            Division::Main => 0..0,
        }
    }

    fn generate_rows(
        &mut self,
        rows: Range<usize>,
        prompts: &[Vec<u32>],
        options: &GenerateOptions,
    ) -> Result<Vec<Completion>, LmError> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let options = GenerateOptions {
            first_row: options.first_row.wrapping_add(rows.start as u64),
            choices: (options.choices.get(rows.clone())).map_or_else(Vec::new, <[_]>::to_vec),
            ..options.clone()
        };
        match &mut self.own {
            Some(own) => own.generate(&prompts[rows], &options),
            None => Ok(Vec::new()),
        }
    }
}

impl GenerationBackend for SharedBackend<'_> {
    fn generate(
        &mut self,
        prompts: &[Vec<u32>],
        options: &GenerateOptions,
    ) -> Result<Vec<Completion>, LmError> {
        let own = self.generate_rows(self.rows(prompts.len()), prompts, options);
        if !self.group.is_distributed() {
            return own;
        }
        let own = own.map(|all| all.into_iter().map(SentCompletion::from).collect());
        let all: Vec<Vec<SentCompletion>> = exchange(self.group, own)?;
        Ok(all.into_iter().flatten().map(Completion::from).collect())
    }
}
