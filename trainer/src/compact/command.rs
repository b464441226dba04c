//! `sentinel train` and `sentinel sft --compact`: flags over a file over defaults, and the
//! environment by its name.

use std::path::PathBuf;

use clap::ArgMatches;
use clap::parser::ValueSource;
use sentinel_env::{WorldName, in_world};
use serde_json::{Map, Value};

use super::TrainError;
use super::config::{Method, TrainConfig};
use crate::Error;
use crate::args::parse_world;
use crate::run::RunDir;

/// The command line of a training run. A flag overrides the file, and the file overrides the defaults
/// or those of --quick.
#[derive(Clone, Debug, clap::Args)]
#[command(args_override_self = true)]
pub struct TrainCommand {
    /// The folder for the model, checkpoints and logs
    #[arg(long, value_name = "DIR", default_value = "outputs/grpo")]
    pub output_dir: PathBuf,
    /// JSON file with options, by the names of the flags with _ for -
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// A run of about a minute on two cores
    #[arg(long)]
    pub quick: bool,
    /// Go on from the last checkpoint in --output-dir
    #[arg(long, conflicts_with_all = ["force", "quick", "config"])]
    pub resume: bool,
    /// Start anew, over a run that is in --output-dir
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub options: TrainConfig,
}

impl TrainCommand {
    /// Returns the folder of the run.
    #[must_use]
    pub fn run_dir(&self) -> RunDir {
        RunDir {
            path: self.output_dir.clone(),
            resume: self.resume,
            force: self.force,
        }
    }

    /// Returns the configuration of the run. `matches` tells flags that were given from defaults.
    ///
    /// # Errors
    /// If the file, or the checkpoint to resume from, cannot be read, or names no world.
    pub fn config(&self, method: Method, matches: &ArgMatches) -> Result<TrainConfig, TrainError> {
        let file = self.config.as_ref().map_or(Ok(Map::new()), read)?;
        let base = if self.resume {
            super::checkpoint::config(&self.output_dir)?
        } else {
            let world = self.world(&file, matches)?;
            in_world!(world, W => TrainConfig::preset::<W>(method, self.quick))
        };
        let mut fields = object(&base)?;
        fields.extend(file);
        for (name, value) in object(&self.options)? {
            if matches.value_source(&name) == Some(ValueSource::CommandLine) {
                fields.insert(name, value);
            }
        }
        let from = self
            .config
            .clone()
            .unwrap_or_else(|| self.output_dir.clone());
        serde_json::from_value(Value::Object(fields)).map_err(|error| {
            Error::Checkpoint {
                path: from,
                reason: format!("{error}: see `sentinel train --help`"),
            }
            .into()
        })
    }
}

impl TrainCommand {
    /// Returns the world, whose defaults count: a flag over the file.
    fn world(&self, file: &Map<String, Value>, matches: &ArgMatches) -> Result<WorldName, Error> {
        let flag = matches.value_source("world") == Some(ValueSource::CommandLine);
        let name = match file.get("world").and_then(Value::as_str) {
            Some(name) if !flag => name,
            _ => &self.options.world,
        };
        parse_world(name).map_err(|reason| Error::argument("--world", reason))
    }
}

/// Returns the world of a configuration.
///
/// # Errors
/// If there is no world of its name.
pub fn world(config: &TrainConfig) -> Result<WorldName, Error> {
    parse_world(&config.world).map_err(|reason| Error::argument("--world", reason))
}

fn object(config: &TrainConfig) -> Result<Map<String, Value>, Error> {
    Ok(match serde_json::to_value(config)? {
        Value::Object(fields) => fields,
        _ => Map::new(),
    })
}

fn read(path: &PathBuf) -> Result<Map<String, Value>, TrainError> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Read {
        path: path.clone(),
        source,
    })?;
    serde_json::from_str(&text).map_err(|error| {
        Error::Checkpoint {
            path: path.clone(),
            reason: format!("not a JSON object of options ({error})"),
        }
        .into()
    })
}
