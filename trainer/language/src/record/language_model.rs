//! Recording a language model: its prompts and completions beside its actions.

use std::path::Path;

use sentinel_base::Progress;
use sentinel_env::EpisodeSpec;
use sentinel_env::rng::Streams;
use sentinel_play::corpus::record_transcripts::record_transcripts;
use sentinel_play::rollout::{RolloutConfig, TextAgent};
use sentinel_policy::replay::ReplayRow;
use sentinel_policy::text::TextWorld;

use super::config::RecordConfig;
use crate::agent::{LanguageAgent, TextModel, with_agent};
use crate::training::RunError;

/// The rows that a language model played.
pub(super) struct PlayedRows<W: TextWorld> {
    pub(super) rows: Vec<ReplayRow<W>>,
    /// Warnings about files of the model, or about options that an endpoint does not accept.
    pub(super) warnings: Vec<String>,
}

/// Plays the episodes of each task in parallel; returns the rows in the order task, seed, step.
pub(super) fn play_all<W: TextWorld>(
    config: &RecordConfig,
    model: &Path,
    progress: Progress<'_>,
) -> Result<PlayedRows<W>, RunError> {
    let loaded = TextModel::load(&model.to_string_lossy(), &config.generation)?;
    let rows = with_agent!(&loaded, agent => {
        play_with::<W, _>(config, loaded.name(), &mut agent, progress)
    })?;
    Ok(PlayedRows {
        rows,
        warnings: loaded.warnings(),
    })
}

fn play_with<W: TextWorld, A: LanguageAgent + TextAgent<W>>(
    config: &RecordConfig,
    name: &str,
    agent: &mut A,
    progress: Progress<'_>,
) -> Result<Vec<ReplayRow<W>>, RunError> {
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
        let played = agent
            .run(|agent| record_transcripts::<W>(&setups, rollout_config, name, agent, progress))?;
        rows.extend(played.rows);
    }
    Ok(rows)
}
