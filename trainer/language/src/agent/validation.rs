//! The evaluation that a training run repeats: greedy decoding on validation seeds.

use sentinel_base::{CellArgs, EpisodeArgs, SeedRange, task_selection};
use sentinel_env::{TaskName, WorldName, in_world};
use sentinel_lm::{CausalLm, GenerateOptions, GenerationDefaults, Tokenizer};
use sentinel_play::corpus::validation_seeds;
use sentinel_play::rollout::RolloutConfig;
use sentinel_rl::Scores;
use sentinel_run::Evaluation;

use super::evaluate::{EvalEpisodes, evaluate_agent};
use crate::agent::lm_agent::LmAgent;
use crate::training::{RunError, RunOptions};

/// Validation episodes with the generation options that they are played with.
#[derive(Clone, Debug)]
pub struct Validation {
    episodes: EvalEpisodes,
    names: Vec<String>,
    tokenizer: Tokenizer,
    options: GenerateOptions,
    batch: usize,
}

/// The world that a run is validated in.
#[derive(Clone, Debug)]
pub struct ValidationWorld<'a> {
    /// World of the episodes.
    pub world: WorldName,
    /// Rules of the world.
    pub rules: &'a str,
    /// Comma-separated names of tasks; `None` for all that `cells` selects.
    pub tasks: Option<&'a str>,
    /// Tasks by row and column. Without `split`, held-out parts of the tasks are not played.
    pub cells: &'a CellArgs,
    /// Style of the prompts and parser of the completions.
    pub rollout_config: RolloutConfig,
}

impl Validation {
    /// Creates the validation that the options of a run request; `None` if they disable it.
    /// Completions have at most `max_new_tokens` tokens, and `batch` prompts are completed
    /// together.
    ///
    /// # Errors
    /// If there are fewer validation seeds than requested, or the world has no such tasks.
    pub fn new(
        run: &RunOptions,
        world: &ValidationWorld<'_>,
        tokenizer: &Tokenizer,
        generation: &GenerationDefaults,
        max_new_tokens: usize,
        batch: usize,
    ) -> Result<Option<Self>, RunError> {
        if run.eval_steps == 0 {
            return Ok(None);
        }
        let all = validation_seeds();
        let count = run.eval_episodes as u64;
        if count == 0 || count > all.count() {
            let allowed = "from 1 to the number of validation seeds, 1000";
            return Err(RunError::option("eval-episodes", allowed));
        }
        let start = all.range().start;
        let names: Vec<String> = in_world!(world.world, W => {
            let tasks = task_selection::training_tasks::<W>(world.tasks, world.cells)?;
            tasks.into_iter().map(|task| TaskName::name(task).to_owned()).collect()
        });
        let mut options = GenerateOptions::new(max_new_tokens, generation, 0);
        options.greedy = true;
        Ok(Some(Self {
            episodes: EvalEpisodes {
                episode: EpisodeArgs {
                    rules: world.rules.to_owned(),
                    task: Some(names.join(",")),
                    seeds: Some(SeedRange::new(start, start + count)),
                    ..EpisodeArgs::new(world.world)
                },
                rollout_config: world.rollout_config,
            },
            names,
            tokenizer: tokenizer.clone(),
            options,
            batch,
        }))
    }

    /// Returns the names of the evaluated tasks.
    #[must_use]
    pub fn tasks(&self) -> &[String] {
        &self.names
    }

    /// Evaluates a model on the validation episodes.
    ///
    /// # Errors
    /// If the model cannot be run.
    pub fn evaluate(&self, model: &CausalLm) -> Result<Evaluation, RunError> {
        let options = self.options.clone();
        let mut agent = LmAgent::new(model, &self.tokenizer, options, self.batch);
        let played = evaluate_agent(&self.episodes, &mut agent, &|| ())?;
        let rows = played.signals.rows.max(1) as f64;
        let metrics = [
            ("completions/invalid_rate", played.signals.invalid_rate),
            ("completions/mean_length", played.tokens as f64 / rows),
            ("rollout/aborted_rate", played.signals.aborted_rate),
        ];
        let metrics = metrics.map(|(name, value)| (name.to_owned(), value));
        Ok(Evaluation {
            scores: Scores {
                tasks: played.tasks.iter().map(|(_, score)| score.mean).collect(),
                overall: played.score.mean,
            },
            metrics: metrics.into_iter().collect(),
        })
    }
}
