//! The files of a run's folder besides the model and the checkpoint, as text: the same for a run on disk and for
//! one in a page.

use sentinel_run::{HistoryFormat, TrainerState, default_logging_steps};
use serde_json::Map;

use crate::Error;
use crate::config::{Method, TrainConfig};
use crate::learn::Learn;

pub use sentinel_policy::nn::MODEL_FILE;
pub use sentinel_rl::Metrics;
pub use sentinel_run::{CHECKPOINT_FILE, EVENTS_FILE, LogPosition, TRAINER_STATE_FILE};
pub use sentinel_run::{Event, RunHistory};

/// The name of the configuration file in a run's folder.
pub const CONFIG_FILE: &str = "config.json";

/// Returns the text of the configuration file.
///
/// # Errors
/// Returns an error if an option cannot be expressed as JSON.
pub fn config_text(config: &TrainConfig) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(config)? + "\n")
}

/// Returns the event that announces a run with `parameters` parameters, of which `resumed_at` updates are
/// done. `fallback` and `unix_time` are fields of the event.
///
/// # Errors
/// Returns an error if an option cannot be expressed as JSON.
pub fn start_event(
    config: &TrainConfig,
    resumed_at: usize,
    parameters: usize,
    fallback: bool,
    unix_time: f64,
) -> serde_json::Result<Event> {
    // Convert via text: a value would hold an f32 with the digits of an f64.
    let text = serde_json::to_string(config)?;
    Ok(Event::Started {
        method: match config.method {
            Method::Grpo => "grpo".to_owned(),
            Method::Imitation => "imitation".to_owned(),
            Method::ExpertIteration => "expert_iteration".to_owned(),
        },
        config: serde_json::from_str(&text)?,
        resumed_at,
        total: config.max_steps,
        parameters,
        trained: parameters,
        fallback,
        unix_time,
    })
}

/// Returns the properties of a run that the entries of its log depend on. The whole run counts as one
/// epoch.
///
/// # Errors
/// Returns an error if the configuration names tasks that the environment does not have.
pub fn history_format<W: Learn>(config: &TrainConfig) -> Result<HistoryFormat, Error> {
    let tasks = config.task_names::<W>()?.into_iter().map(str::to_owned);
    Ok(HistoryFormat {
        tasks: tasks.collect(),
        max_steps: config.max_steps,
        steps_per_epoch: config.max_steps,
        logging_steps: default_logging_steps(config.max_steps),
        rounded: true,
    })
}

/// Returns the properties of a run that `trainer_state.json` has besides its history.
#[must_use]
pub fn trainer_state(config: &TrainConfig, history: &RunHistory) -> TrainerState {
    TrainerState {
        snapshots: config.save_total_limit > 0,
        step: history.last_metrics().map_or(0, |(step, _)| step),
        eval_steps: Some(config.eval_steps),
        save_steps: config.save_steps,
        train_batch_size: config.episodes_per_update * config.num_generations,
        tokens: None,
        extra: Map::new(),
    }
}
