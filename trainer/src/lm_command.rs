//! `sentinel init`, `sft --model`, `grpo`, `merge`, `eval-lm` and `rollout`: what they print, and Ctrl-C.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ArgMatches;
use clap::parser::ValueSource;
use sentinel_trainer::corpus::read_corpus;
use sentinel_trainer::corpus::rollout::{RolloutConfig, dry_run};
use sentinel_trainer::lm::grpo::{self, GrpoConfig, PlayConfig, SpeechOptions};
use sentinel_trainer::lm::init::{InitOptions, create};
use sentinel_trainer::lm::sft::{self, SftConfig};
use sentinel_trainer::lm::train::checkpoint::Header;
use sentinel_trainer::lm::train::{
    Outcome, RunDir, RunError, RunOptions, options_file, overlaid, write_options,
};
use sentinel_trainer::lm::{BaseCheck, HubOptions, Lora, Qwen2, find_model};
use sentinel_trainer::provenance::Provenance;
use sentinel_trainer::seeds::SeedError;
use sentinel_trainer::{Error, files};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bar::Bar;
use crate::commands::print;
use crate::interrupt::{interrupted, on_interrupt};
use crate::lm_estimate::print_estimates;
use crate::lm_view::View;

/// The variable that stands for --allow-fallback.
const FALLBACK: &str = "SENTINEL_ALLOW_TRAIN_FALLBACK";

/// Where a run lives, and where its options come from.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RunDirOptions {
    /// The folder for the adapter or model, checkpoints and logs
    #[arg(long, value_name = "DIR", default_value = "outputs/lm")]
    output_dir: PathBuf,
    /// JSON file with options, by the names of the flags with _ for -
    #[arg(long = "config", id = "options_file", value_name = "FILE")]
    file: Option<PathBuf>,
    /// Go on from the last checkpoint in --output-dir
    #[arg(long, conflicts_with_all = ["force", "options_file"])]
    resume: bool,
    /// Start anew, over a run that is in --output-dir
    #[arg(long)]
    force: bool,
}

impl RunDirOptions {
    fn run_dir(&self) -> RunDir {
        RunDir {
            path: self.output_dir.clone(),
            resume: self.resume,
            force: self.force,
        }
    }

    /// Which of these options the command line or the file says something of.
    fn says<const N: usize>(
        &self,
        names: [&str; N],
        matches: &ArgMatches,
    ) -> Result<[bool; N], RunError> {
        let file = self.file.as_deref().map(options_file).transpose()?;
        Ok(names.map(|name| {
            let typed = matches.value_source(name) == Some(ValueSource::CommandLine);
            typed || file.as_ref().is_some_and(|file| file.get(name).is_some())
        }))
    }

    /// Flags over the file, or over the run that goes on, over defaults.
    fn options<T>(&self, options: &T, matches: &ArgMatches) -> Result<T, RunError>
    where
        T: Serialize + DeserializeOwned,
    {
        let base = if self.resume {
            let header = Header::read(&self.output_dir)?;
            Some((self.output_dir.as_path(), header.config))
        } else if let Some(file) = &self.file {
            Some((file.as_path(), options_file(file)?))
        } else {
            None
        };
        let known = |name: &str| matches.try_contains_id(name).is_ok();
        let given = |name: &str| {
            known(name) && matches.value_source(name) == Some(ValueSource::CommandLine)
        };
        overlaid(options, base, given)
    }
}

/// The command line of `sentinel sft`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SftCommand {
    #[command(flatten)]
    run_dir: RunDirOptions,
    #[command(flatten)]
    config: SftConfig,
    /// Train the compact policy instead, by imitation along its own episodes; it has other options,
    /// see `sentinel sft --compact --help`
    #[arg(long)]
    compact: bool,
}

/// The command line of `sentinel grpo`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct GrpoCommand {
    #[command(flatten)]
    run_dir: RunDirOptions,
    #[command(flatten)]
    config: GrpoConfig,
    /// Play with a script in the model's place: no model is loaded
    #[arg(long)]
    dry_run: bool,
    /// Print the memory that a run with these options takes
    #[arg(long, conflicts_with = "dry_run")]
    estimate: bool,
}

/// The command line of `sentinel merge`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct MergeCommand {
    /// The base model: a local folder, or a name on the Hugging Face Hub
    #[arg(long, value_name = "MODEL")]
    model: String,
    /// The adapter's folder
    #[arg(long, value_name = "DIR")]
    adapter: PathBuf,
    /// The folder to write
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Overwrite what is in --out
    #[arg(long)]
    force: bool,
}

/// The command line of `sentinel rollout`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RolloutCommand {
    /// Play a script in a model's place
    #[arg(long, required_unless_present = "model")]
    dry_run: bool,
    /// The language model that plays: a local folder, or a name on the Hugging Face Hub
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["dry_run", "policy"])]
    model: Option<String>,
    #[command(flatten)]
    speech: SpeechOptions,
    #[command(flatten)]
    config: RolloutConfig,
}

/// `sentinel init`
pub(crate) fn init(options: &InitOptions) -> Result<()> {
    let (mut texts, mut provenance) = (Vec::new(), Provenance::new());
    if let Some(data) = &options.data {
        provenance.add_file("the corpus", data)?;
        for example in read_corpus(data)? {
            texts.push(example.prompt.asked().to_owned());
            texts.push(example.completion);
        }
    }
    let made = create(options, &texts, &provenance)?;
    print(&format!(
        "wrote {}: {} parameters, {} tokens\n",
        options.output_dir.display(),
        made.parameters,
        made.tokens
    ))
}

/// `sentinel sft --model`
pub(crate) fn sft(command: &SftCommand, matches: &ArgMatches) -> Result<()> {
    let mut config = command.run_dir.options(&command.config, matches)?;
    allow_fallback(&mut config.run);
    let dir = command.run_dir.run_dir();
    let mut view = View::new();
    let stop = on_interrupt()?;
    let done = sft::train(&config, &dir, stop, &mut |event| view.show(event));
    finish(done, &view, &dir, &config)
}

/// `sentinel grpo`
pub(crate) fn grpo(command: &GrpoCommand, matches: &ArgMatches) -> Result<()> {
    let mut config = command.run_dir.options(&command.config, matches)?;
    if command.dry_run {
        let [episodes, task] = command.run_dir.says(["episodes", "task"], matches)?;
        return play_script(&config, episodes, task);
    }
    if command.estimate {
        return print_estimates(&config, matches);
    }
    allow_fallback(&mut config.run);
    let dir = command.run_dir.run_dir();
    let mut view = View::new();
    let stop = on_interrupt()?;
    let done = grpo::train(&config, &dir, stop, &mut |event| view.show(event));
    finish(done, &view, &dir, &config)
}

/// `sentinel merge`
pub(crate) fn merge(command: &MergeCommand) -> Result<()> {
    let folder = find_model(&command.model, &HubOptions::from_environment())?;
    let mut model = Qwen2::load(&folder, &burn::tensor::Device::flex())?;
    Lora::load(&mut model, &command.adapter, BaseCheck::Weights)?;
    let mut provenance = Provenance::new();
    provenance.add_model("model", &folder)?;
    provenance.add_model("adapter", &command.adapter)?;
    let report = Lora::merge_into(&model, &folder, &command.out, &provenance, command.force)?;
    print(&format!(
        "wrote {}: logits differ from base and adapter by at most {:.1e}\n",
        command.out.display(),
        report.difference
    ))
}

/// `sentinel eval-lm`
pub(crate) fn eval(config: &PlayConfig) -> Result<()> {
    if let Some(path) = &config.out {
        grpo::check_replaces(path)?;
    }
    let bar = Bar::new(None);
    let played = grpo::play(config, &|| bar.step())?;
    drop(bar);
    let text = serde_json::to_string_pretty(&played).map_err(Error::from)? + "\n";
    // The file first: whoever reads the output may stop before its end.
    if let Some(path) = &config.out {
        files::write(path, text.as_bytes())?;
    }
    print(&text)
}

/// `sentinel rollout`
pub(crate) fn rollout(command: &RolloutCommand) -> Result<()> {
    // clap asks for --model with these, unless something is there that excludes it.
    if let (None, Some((name, _))) = (&command.model, command.speech.given().next()) {
        bail!("a script plays: --{name} is for a language model, name one with --model");
    }
    let bar = Bar::new(None);
    let found = match &command.model {
        Some(model) => grpo::play_rollout(&command.config, model, &command.speech, &|| bar.step())?,
        None => dry_run(&command.config, &|| bar.step())?,
    };
    drop(bar);
    print(&(serde_json::to_string_pretty(&found).map_err(Error::from)? + "\n"))
}

fn allow_fallback(run: &mut RunOptions) {
    let said = std::env::var(FALLBACK).unwrap_or_default();
    run.allow_fallback |= said.eq_ignore_ascii_case("true") || said == "1";
}

/// What is left when a run is over.
fn finish(
    done: Result<Outcome, RunError>,
    view: &View,
    dir: &RunDir,
    config: &impl Serialize,
) -> Result<()> {
    view.close();
    let outcome = done?;
    let options = serde_json::to_value(config).map_err(Error::from)?;
    write_options(&dir.path, &options)?;
    let folder = dir.path.display();
    match outcome {
        Outcome::Finished => {
            let mark = if view.fallback() {
                " (fallback: see its sentinel.json)"
            } else {
                ""
            };
            print(&format!("wrote {folder}{mark}\n"))
        }
        Outcome::Interrupted => Err(interrupted(&dir.path)),
    }
}

/// `sentinel grpo --dry-run`: as `sentinel rollout --dry-run`, with the run's own options. Where
/// nobody says otherwise, of episodes or task, it is the dry run of the reference: five episodes of one
/// task.
fn play_script(config: &GrpoConfig, says_episodes: bool, says_task: bool) -> Result<()> {
    let episodes = if says_episodes { config.episodes } else { 5 };
    let start = config.run.seed;
    let seeds = format!("{start}..{}", start.saturating_add(episodes as u64));
    let terms = config.terms()?;
    let found = dry_run(
        &RolloutConfig {
            world: config.world,
            rules: config.rules.clone(),
            task: says_task.then(|| config.task.clone()),
            cells: config.cells.clone(),
            episodes: seeds.parse().map_err(|error: SeedError| Error::Argument {
                option: "--episodes and --seed",
                reason: error.to_string(),
            })?,
            seeds: None,
            streams: config.streams,
            policy: None,
            prompt: config.prompt,
            reader: config.reader,
            invalid_penalty: terms.invalid,
        },
        &|| (),
    )?;
    let text = serde_json::to_string_pretty(&found).map_err(Error::from)?;
    print(&(text + "\n"))
}
