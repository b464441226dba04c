//! A language model that speaks in a world, and remembers its words as tokens.

use sentinel_policy::text::TextWorld;

use crate::corpus::rollout::{GenerationRequest, Generator, RolloutError};
use crate::finetune::RunError;
use crate::lm::random::Random;
use crate::lm::{Completion, GenerateOptions, LmError, Message, Qwen2, Tokenizer};

/// One answer as tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct Generation {
    /// The episode that asked.
    pub episode: usize,
    /// The prompt, with the template around it.
    pub prompt: Vec<u32>,
    /// The answer.
    pub completion: Completion,
}

/// A model behind a world's prompts. Each call draws from a stream of its own.
pub struct LmAgent<'a> {
    model: &'a Qwen2,
    tokenizer: &'a Tokenizer,
    options: GenerateOptions,
    /// What the options say of it.
    greedy: bool,
    /// Most prompts that are completed side by side.
    batch: usize,
    seed: u64,
    calls: u64,
    /// All answers so far, in the order in which they were asked for.
    pub generations: Vec<Generation>,
    /// Why the model fell silent. A speaker can only say too little, which stops a rollout.
    pub failure: Option<LmError>,
}

impl<'a> LmAgent<'a> {
    /// Speaks with these options; their seed is where all streams come from.
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

    /// A prompt as the model reads it.
    ///
    /// # Errors
    /// If the template refuses it.
    pub fn encode(tokenizer: &Tokenizer, prompt: &str) -> Result<Vec<u32>, LmError> {
        let messages = [Message::new("user", prompt)];
        Ok(tokenizer.encode_chat(&messages, None, true)?.ids)
    }

    /// Plays; where the model fell silent, which a player can only see as a completion that is not
    /// there, the error says why it did.
    ///
    /// # Errors
    /// The model's, else the player's.
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

    fn answer(&mut self, prompts: &[String], episodes: &[usize]) -> Result<Vec<String>, LmError> {
        let mut texts = Vec::with_capacity(prompts.len());
        let size = self.batch.max(1);
        for (prompts, episodes) in prompts.chunks(size).zip(episodes.chunks(size)) {
            let mut rows: Vec<Vec<u32>> = Vec::with_capacity(prompts.len());
            for (at, prompt) in prompts.iter().enumerate() {
                // The members of a group ask the same.
                let same = at
                    .checked_sub(1)
                    .filter(|before| &prompts[*before] == prompt);
                rows.push(match same {
                    Some(before) => rows[before].clone(),
                    None => Self::encode(self.tokenizer, prompt)?,
                });
            }
            self.options.seed = Random::indexed(self.seed, self.calls).next();
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
