//! `sentinel train`, `sentinel imitate` and `sentinel improve`: options from flags, a file and
//! defaults, and the environment by its name.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, Id};
use sentinel_base::Error;
use sentinel_base::arg_parsers::parse_world;
use sentinel_base::options_file::{OptionsError, read_options, with_current_names};
use sentinel_env::{WorldName, in_world};
use sentinel_rl::LossArgs;
use sentinel_run::RunDirArgs;
use serde_json::{Map, Value};

use super::TrainError;
use crate::config::{Method, TrainConfig};
use crate::learn::Learn;
use crate::option_values::default_text;

/// The command line of a training run. A flag overrides the file, and the file overrides the
/// defaults or those of --quick.
#[derive(Clone, Debug, clap::Args)]
#[command(
    args_override_self = true,
    mut_arg("output_dir", |arg| arg.default_value(output_dir(Method::Grpo)))
)]
pub struct TrainCommand {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunDirArgs,
    /// A run of about a minute on two cores
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub options: TrainConfig,
}

/// The options that only GRPO has, besides those of the loss.
const OF_GRPO: [&str; 11] = [
    "num_generations",
    "continuation",
    "credit",
    "without_reward_term",
    "scale_rewards",
    "loss_type",
    "epsilon",
    "epsilon_high",
    "max_completion_length",
    "beta",
    "entropy_coef",
];
/// The options that only imitation has.
const OF_IMITATION: [&str; 1] = ["teacher"];
/// The options that only expert iteration has.
const OF_LOOKAHEAD: [&str; 3] = [
    "lookahead_rollouts",
    "lookahead_samples",
    "lookahead_temperature",
];
/// The options that GRPO and expert iteration have.
const OF_SNAPSHOTS: [&str; 1] = ["snapshots_per_episode"];
/// The options that only some networks have, see [`Learn::OPTIONS`].
const OF_NETWORKS: [&str; 2] = ["pooling", "features"];
/// The same options as they are typed.
const FLAGS_OF_NETWORKS: [&str; 2] = ["--pooling", "--features"];

/// Returns the default output folder of a run.
const fn output_dir(method: Method) -> &'static str {
    match method {
        Method::Grpo => "outputs/grpo",
        Method::Imitation => "outputs/imitation",
        Method::ExpertIteration => "outputs/improved",
    }
}

/// Returns a command with the options of [`TrainCommand`] whose help shows the defaults of `world`,
/// and hides the options of other methods.
#[must_use]
pub fn with_defaults(command: Command, method: Method, world: WorldName, quick: bool) -> Command {
    let preset = in_world!(world, W => TrainConfig::preset::<W>(method, quick));
    // Convert via text: a value would show an f32 with the digits of an f64.
    let text = serde_json::to_string(&preset).unwrap_or_default();
    let fields: Map<String, Value> = serde_json::from_str(&text).unwrap_or_default();
    let command = command.mut_arg("output_dir", |arg| arg.default_value(output_dir(method)));
    let command = fields.into_iter().fold(command, |command, (name, value)| {
        command.mut_arg(name, |arg| arg.default_value(default_text(&value)))
    });
    let of_loss = LossArgs::augment_args(Command::new("loss"));
    let of_loss: Vec<&Id> = of_loss.get_arguments().map(Arg::get_id).collect();
    let of_network = in_world!(world, W => <W as Learn>::OPTIONS);
    command.mut_args(|arg| {
        let name = arg.get_id().as_str();
        let is_of_grpo = OF_GRPO.contains(&name) || of_loss.contains(&arg.get_id());
        let is_of_lookahead = OF_LOOKAHEAD.contains(&name);
        let is_other = match method {
            Method::Grpo => OF_IMITATION.contains(&name) || is_of_lookahead,
            Method::Imitation => is_of_grpo || is_of_lookahead || OF_SNAPSHOTS.contains(&name),
            Method::ExpertIteration => OF_IMITATION.contains(&name) || is_of_grpo,
        };
        let is_foreign = OF_NETWORKS.contains(&name) && !of_network.contains(&name);
        let is_hidden = arg.is_hide_set() || is_other || is_foreign;
        arg.hide(is_hidden)
    })
}

impl TrainCommand {
    /// Returns the configuration of the run. `matches` distinguishes given flags from defaults.
    ///
    /// # Errors
    /// Returns an error if the file or the checkpoint to resume cannot be read, or the world is
    /// unknown.
    pub fn config(&self, method: Method, matches: &ArgMatches) -> Result<TrainConfig, TrainError> {
        let from = self.run.config.as_ref().unwrap_or(&self.run.output_dir);
        let failed = |reason: String| Error::invalid(from, reason);
        let file = match &self.run.config {
            None => Map::new(),
            Some(path) => read_options(path).map_err(|error| match error {
                OptionsError::Read(error) => error,
                OptionsError::Format { reason } => failed(reason),
            })?,
        };
        let file = with_current_names::<TrainConfig>(file).map_err(failed)?;
        let dir = self.run.run_dir()?;
        let base = if dir.resume {
            let saved = super::checkpoint::read_config(dir.checkpoint_folder())?;
            self.check_quick(&saved).map_err(failed)?;
            saved
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
        check_network(&fields)?;
        serde_json::from_value(Value::Object(fields))
            .map_err(|error| failed(format!("{error}: see --help")).into())
    }

    /// Checks that `--quick` fits a run that is resumed: the saved options of a full-length run
    /// take precedence, so it cannot become a quick one.
    fn check_quick(&self, saved: &TrainConfig) -> Result<(), String> {
        let Ok(world) = parse_world(&saved.world) else {
            return Ok(());
        };
        let preset = |quick| in_world!(world, W => TrainConfig::preset::<W>(saved.method, quick));
        let fields = |config: &TrainConfig| object(config).unwrap_or_default();
        let (quick, full, saved) = (fields(&preset(true)), fields(&preset(false)), fields(saved));
        let differs = |(name, value): &(&String, &Value)| full.get(*name) != Some(value);
        let mut shorter = quick.iter().filter(differs).peekable();
        let is_full =
            shorter.peek().is_some() && shorter.all(|(name, _)| saved.get(name) == full.get(name));
        if self.quick && is_full {
            let reason = "the run was not started with --quick: leave it out to resume";
            return Err(reason.to_owned());
        }
        Ok(())
    }

    /// Returns the world whose defaults apply; a flag overrides the file.
    fn world(&self, file: &Map<String, Value>, matches: &ArgMatches) -> Result<WorldName, Error> {
        let flag = matches.value_source("world") == Some(ValueSource::CommandLine);
        let name = match file.get("world").and_then(Value::as_str) {
            Some(name) if !flag => name,
            _ => &self.options.world,
        };
        parse_world(name).map_err(|reason| Error::argument("--world", reason))
    }
}

/// Checks that no option is changed that the world's network does not have.
fn check_network(fields: &Map<String, Value>) -> Result<(), TrainError> {
    let defaults = object(&TrainConfig::default())?;
    let world = fields.get("world").and_then(Value::as_str);
    let Some(world) = world.and_then(|name| parse_world(name).ok()) else {
        return Ok(()); // refused by its own parser
    };
    let known = in_world!(world, W => <W as Learn>::OPTIONS);
    let mut options = OF_NETWORKS.into_iter().zip(FLAGS_OF_NETWORKS);
    let is_changed = |name: &str| fields.get(name) != defaults.get(name);
    match options.find(|(name, _)| !known.contains(name) && is_changed(name)) {
        None => Ok(()),
        Some((_, flag)) => {
            let reason = format!("the network of world {world} has no such option: leave it out");
            Err(Error::argument(flag, reason).into())
        }
    }
}

/// Returns the world of a configuration.
///
/// # Errors
/// Returns an error if no world has the configured name.
pub fn config_world(config: &TrainConfig) -> Result<WorldName, Error> {
    parse_world(&config.world).map_err(|reason| Error::argument("--world", reason))
}

fn object(config: &TrainConfig) -> Result<Map<String, Value>, Error> {
    Ok(match serde_json::to_value(config)? {
        Value::Object(fields) => fields,
        _ => Map::new(),
    })
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches as _;

    use super::*;

    #[test]
    fn quick_flag_must_match_resumed_run() -> Result<(), clap::Error> {
        let command = TrainCommand::augment_args(Command::new("train"));
        let matches = command.try_get_matches_from(["train", "--quick"])?;
        let mut command = TrainCommand::from_arg_matches(&matches)?;
        for world in WorldName::ALL {
            for method in [Method::Grpo, Method::Imitation] {
                let preset =
                    |quick| in_world!(*world, W => TrainConfig::preset::<W>(method, quick));
                command.quick = true;
                assert_eq!(command.check_quick(&preset(true)), Ok(()));
                let refused = command.check_quick(&preset(false));
                assert!(
                    refused.is_err_and(|reason| reason.contains("not started with --quick")),
                    "{world} {method:?}: a quick run has the options of a full one"
                );
                let few_steps = TrainConfig {
                    max_steps: 8,
                    ..preset(true)
                };
                assert_eq!(command.check_quick(&few_steps), Ok(()));
                command.quick = false;
                assert_eq!(command.check_quick(&preset(false)), Ok(()));
            }
        }
        Ok(())
    }
}
