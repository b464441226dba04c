//! Recording a language model: its prompts and completions beside its actions.

use sentinel_env::EpisodeSpec;
use std::path::Path;

use sentinel_env::rng::Streams;
use sentinel_policy::replay::ReplayRow;
use sentinel_policy::text::TextWorld;

use super::RecordConfig;
use crate::corpus::record_transcripts::record_transcripts;
use crate::corpus::rollout::RolloutConfig;
use crate::finetune::RunError;
use crate::lm_agent::LoadedModel;
use crate::{Error, Progress};

impl RecordConfig {
    /// Returns the same configuration with every option of a language model set, so that the
    /// manifest's command does not depend on defaults.
    pub(super) fn with_defaults(&self) -> Self {
        Self {
            prompt: Some(self.prompt.unwrap_or_default()),
            reader: Some(self.reader.unwrap_or_default()),
            generation: self.generation.with_defaults(),
            ..self.clone()
        }
    }

    /// Returns the options that only a language model has, as they are typed.
    pub(super) fn language_model_options(&self) -> impl Iterator<Item = (&'static str, String)> {
        let prompt = self.prompt.map(|style| ("prompt", style.name().to_owned()));
        let reader = self
            .reader
            .map(|reader| ("parser", reader.name().to_owned()));
        prompt
            .into_iter()
            .chain(reader)
            .chain(self.generation.given())
    }

    /// Refuses the options of language models if none plays.
    pub(super) fn refuse_language_model_options(&self) -> Result<(), Error> {
        let Some((name, _)) = self.language_model_options().next() else {
            return Ok(());
        };
        let folder = self.model.as_ref().map(|folder| folder.display());
        let player = folder.map_or_else(
            || "a policy plays".to_owned(),
            |folder| format!("{folder} holds a compact model"),
        );
        let reason = format!("{player}: --{name} is for language models");
        Err(Error::argument("--model", reason))
    }
}

/// Plays the episodes of each task in parallel; returns the rows in the order task, seed, step.
pub(super) fn play_all<W: TextWorld>(
    config: &RecordConfig,
    model: &Path,
    progress: Progress<'_>,
) -> Result<Vec<ReplayRow<W>>, RunError> {
    let loaded = LoadedModel::load(&model.to_string_lossy(), &config.generation)?;
    let mut agent = loaded.agent();
    let rules = config.episode.rules::<W>()?;
    let streams = config.episode.streams_or::<W>(Streams::Reference)?;
    let rollout_config = RolloutConfig {
        style: config.prompt.unwrap_or_default(),
        reader: config.reader.unwrap_or_default(),
        ..RolloutConfig::default()
    };
    let mut rows = Vec::new();
    for task in config.selected::<W>()? {
        let setup = |seed| {
            EpisodeSpec::<W> {
                task,
                seed,
                streams,
                rules,
            }
            .setup()
        };
        let setups: Vec<<W as sentinel_env::Environment>::Setup> =
            config.seeds().range().map(setup).collect();
        let played = agent.run(|agent| {
            record_transcripts::<W>(&setups, rollout_config, &loaded.name, agent, progress)
        })?;
        rows.extend(played.rows);
    }
    Ok(rows)
}
