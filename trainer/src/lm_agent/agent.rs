//! A language model as the generator of a rollout, which records its completions as tokens.

use sentinel_policy::text::TextWorld;

use crate::corpus::rollout::{GenerationRequest, Generator, RolloutError};
use crate::finetune::RunError;
use crate::lm::{Completion, GenerateOptions, LmError, Message, Qwen2, Tokenizer};
use crate::rng::Rng;

/// A prompt and its completion as tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct Generation {
    /// Index of the episode that the prompt belongs to.
    pub episode: usize,
    /// Tokens of the prompt, including the chat template.
    pub prompt: Vec<u32>,
    /// Completion that the model generated.
    pub completion: Completion,
}

/// A language model that completes the prompts of a world. Each batch uses a random stream of its
/// own.
pub struct LmAgent<'a> {
    model: &'a Qwen2,
    tokenizer: &'a Tokenizer,
    options: GenerateOptions,
    /// Value of `options.greedy` before [`Generator::set_greedy`] changes it.
    greedy: bool,
    /// Largest number of prompts that are completed together.
    batch: usize,
    seed: u64,
    calls: u64,
    /// All completions so far, in the order of their prompts.
    pub generations: Vec<Generation>,
    /// Error of the last failed generation. A [`Generator`] cannot return errors; it returns too
    /// few completions instead, which stops the rollout.
    pub failure: Option<LmError>,
}

impl<'a> LmAgent<'a> {
    /// Creates an agent with these options. All random streams are derived from their seed.
    #[must_use]
    pub const fn new(
        model: &'a Qwen2,
        tokenizer: &'a Tokenizer,
        options: GenerateOptions,
        batch: usize,
    ) -> Self {
        let (seed, greedy) = (options.seed, options.greedy);
        Self {
            greedy,
            model,
            tokenizer,
            options,
            batch,
            seed,
            calls: 0,
            generations: Vec::new(),
            failure: None,
        }
    }

    /// Encodes a prompt as a user message with the chat template.
    ///
    /// # Errors
    /// If the template rejects it.
    pub fn encode(tokenizer: &Tokenizer, prompt: &str) -> Result<Vec<u32>, LmError> {
        let messages = [Message::new("user", prompt)];
        Ok(tokenizer.encode_chat(&messages, None, true)?.ids)
    }

    /// Runs `play` with this agent. If the model failed, its error replaces that of the rollout,
    /// which reports only a missing completion.
    ///
    /// # Errors
    /// The model's error, or else the rollout's.
    pub fn run<T>(
        &mut self,
        play: impl FnOnce(&mut Self) -> Result<T, RolloutError>,
    ) -> Result<T, RunError> {
        let played = play(self);
        match self.failure.take() {
            Some(error) => Err(error.into()),
            None => Ok(played?),
        }
    }

    /// Completes one prompt.
    ///
    /// # Errors
    /// If the template rejects the prompt, or the model fails.
    pub fn complete(&mut self, prompt: &str) -> Result<String, LmError> {
        let mut texts = self.answer(&[prompt.to_owned()], &[0])?;
        Ok(texts.pop().unwrap_or_default())
    }

    fn answer(&mut self, prompts: &[String], episodes: &[usize]) -> Result<Vec<String>, LmError> {
        let mut texts = Vec::with_capacity(prompts.len());
        let size = self.batch.max(1);
        for (prompts, episodes) in prompts.chunks(size).zip(episodes.chunks(size)) {
            let mut rows: Vec<Vec<u32>> = Vec::with_capacity(prompts.len());
            for (at, prompt) in prompts.iter().enumerate() {
                // All members of a group have the same prompt.
                let same = at
                    .checked_sub(1)
                    .filter(|before| &prompts[*before] == prompt);
                rows.push(match same {
                    Some(before) => rows[before].clone(),
                    None => Self::encode(self.tokenizer, prompt)?,
                });
            }
            self.options.seed = Rng::indexed(self.seed, self.calls).next();
            self.calls += 1;
            let completions = self.model.generate(&rows, &self.options)?;
            for ((prompt, completion), episode) in rows.into_iter().zip(completions).zip(episodes) {
                texts.push(completion.text(self.tokenizer)?);
                self.generations.push(Generation {
                    episode: *episode,
                    prompt,
                    completion,
                });
            }
        }
        Ok(texts)
    }
}

impl<W: TextWorld> Generator<W> for LmAgent<'_> {
    fn generate(&mut self, prompts: &[String], asked: &[GenerationRequest<'_, W>]) -> Vec<String> {
        let episodes: Vec<usize> = asked.iter().map(|asked| asked.episode).collect();
        match self.answer(prompts, &episodes) {
            Ok(texts) => texts,
            Err(error) => {
                self.failure = Some(error);
                Vec::new()
            }
        }
    }

    fn set_greedy(&mut self, on: bool) {
        self.options.greedy = on || self.greedy;
    }
}
