//! `sentinel train` and `sentinel sft --compact`: flags over a file over defaults.

use std::path::PathBuf;

use clap::ArgMatches;
use clap::parser::ValueSource;
use sentinel_policy::WorldName;
use serde_json::{Map, Value};

use super::TrainError;
use super::config::{Continuation, Method, TrainConfig};
use super::run::Place;
use crate::{Error, SeedRange};

/// The command line of a training run. What is given here counts more than the file, and the file
/// more than the defaults or those of --quick.
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
    /// Where the run lives.
    #[must_use]
    pub fn place(&self) -> Place {
        Place {
            folder: self.output_dir.clone(),
            resume: self.resume,
            force: self.force,
        }
    }

    /// The configuration of the run. `matches` tells flags that were given from defaults.
    ///
    /// # Errors
    /// If the file, or the checkpoint to go on from, cannot be read.
    pub fn config(&self, method: Method, matches: &ArgMatches) -> Result<TrainConfig, TrainError> {
        let file = self.config.as_ref().map_or(Ok(Map::new()), read)?;
        let base = if self.resume {
            super::checkpoint::config(&self.output_dir)?
        } else {
            TrainConfig::preset(self.world(&file, matches), method, self.quick)
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
        serde_json::from_value(Value::Object(fields)).map_err(|error| TrainError::Checkpoint {
            path: from,
            reason: format!("{error}: see `sentinel train --help`"),
        })
    }
}

impl TrainCommand {
    /// The world decides about the defaults: a flag over the file.
    fn world(&self, file: &Map<String, Value>, matches: &ArgMatches) -> WorldName {
        let flag = matches.value_source("world") == Some(ValueSource::CommandLine);
        let named = file.get("world").and_then(Value::as_str);
        match named.and_then(WorldName::parse) {
            // What names no world is an error when all options are read.
            Some(world) if !flag => world,
            _ => self.options.world,
        }
    }
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
    serde_json::from_str(&text).map_err(|error| TrainError::Checkpoint {
        path: path.clone(),
        reason: format!("not a JSON object of options ({error})"),
    })
}

impl TrainConfig {
    /// The defaults of a method in a world; with `quick`, those of a run of about a minute.
    #[must_use]
    pub fn preset(world: WorldName, method: Method, quick: bool) -> Self {
        let mut config = Self {
            world,
            method,
            ..Self::default()
        };
        if method == Method::Sft {
            config.name = "sft".to_owned();
            config.max_steps = 60;
            config.learning_rate = 0.003;
            config.eval_steps = 10;
            config.save_steps = 10;
        }
        match world {
            WorldName::Trust => config.for_trust(quick),
            WorldName::Cluster => config.for_cluster(quick),
            WorldName::Polyguard => config.for_polyguard(quick),
        }
        if quick {
            config.eval_steps = config.eval_steps.min(10);
            config.save_steps = config.save_steps.min(10);
        }
        config
    }

    fn for_trust(&mut self, quick: bool) {
        if self.method == Method::Sft {
            self.groups_per_update = 96;
        }
        if !quick {
            return;
        }
        match self.method {
            Method::Grpo => (self.max_steps, self.groups_per_update) = (150, 192),
            Method::Sft => self.max_steps = 25,
        }
        // Fewer episodes are measured, too; most of their time goes to the look-ahead of `bayes`.
        self.validation_seeds = SeedRange::of(5_000, 5_300);
        self.test_seeds = SeedRange::of(1_000, 1_400);
    }

    /// Learns on the archetypes and pairs that are not held out, under gated rewards: what is held
    /// out is for measuring afterwards. Twenty-four cells share the groups of an update.
    fn for_polyguard(&mut self, quick: bool) {
        self.rules = "hardened".to_owned();
        self.split = "train".to_owned();
        self.teacher = "rules_only".to_owned();
        self.belief_coef = 0.0;
        self.validation_seeds = SeedRange::of(5_000, 5_050);
        self.test_seeds = SeedRange::of(1_000, 1_200);
        self.snapshots_per_episode = 4;
        self.num_generations = 8;
        self.continuation = Continuation::Greedy;
        match self.method {
            Method::Grpo => {
                (self.max_steps, self.groups_per_update) = (400, 192);
                self.learning_rate = 0.001;
                self.entropy_coef = 0.01;
            }
            Method::Sft => (self.max_steps, self.groups_per_update) = (40, 192),
        }
        if quick {
            self.max_steps = self.max_steps.div_ceil(8);
            self.validation_seeds = SeedRange::of(5_000, 5_010);
            self.test_seeds = SeedRange::of(1_000, 1_030);
        }
    }

    /// Episodes are longer and a network costs more than in the trust world: fewer groups, which
    /// start from more snapshots of each episode and go on greedily.
    fn for_cluster(&mut self, quick: bool) {
        self.teacher = "planner".to_owned();
        self.hidden = 48;
        self.validation_seeds = SeedRange::of(5_000, 5_200);
        self.test_seeds = SeedRange::of(1_000, 1_500);
        self.snapshots_per_episode = 4;
        self.num_generations = 8;
        self.continuation = Continuation::Greedy;
        match self.method {
            Method::Grpo => {
                (self.max_steps, self.groups_per_update) = (300, 96);
                self.learning_rate = 0.001;
                self.entropy_coef = 0.005;
            }
            Method::Sft => (self.max_steps, self.groups_per_update) = (30, 48),
        }
        if quick {
            self.max_steps = self.max_steps.div_ceil(6);
            self.validation_seeds = SeedRange::of(5_000, 5_040);
            self.test_seeds = SeedRange::of(1_000, 1_100);
        }
    }
}
