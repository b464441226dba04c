//! The commands of language models: their output, and Ctrl-C.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args};
use sentinel_base::options_file::to_current_form;
use sentinel_base::provenance::Provenance;
use sentinel_base::seeds::SeedError;
use sentinel_base::{EpisodeArgs, Error, files};
use sentinel_evidence::json_file;
use sentinel_evidence::run_report::{ReportStatus, RunOrigin, RunReport};
use sentinel_language::agent::{EvalArgs, GenerationArgs};
use sentinel_language::grpo::GrpoConfig;
use sentinel_language::sft::SftConfig;
use sentinel_language::training::checkpoint::Header;
use sentinel_language::training::{
    Outcome, RunError, RunOptions, merge_options, option_facts, options_file, write_options,
};
use sentinel_language::{agent as lm_agent, grpo as lm_grpo, sft};
use sentinel_lm::init::{InitOptions, create};
use sentinel_lm::{BaseCheck, CausalLm, HubOptions, Lora, find_model};
use sentinel_play::corpus;
use sentinel_play::corpus::{CorpusConfig, read_corpus};
use sentinel_play::rollout::{RolloutArgs, dry_run};
use sentinel_run::distributed::{ProcessGroup, process_group, refuse_ranks};
use sentinel_run::{RunDir, RunDirArgs};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::interrupt::{
    Interrupted, Reported, interrupted, on_interrupt, on_interrupt_of_rank, print_start,
};
use super::lm_estimate::print_estimates;
use super::lm_progress::LmProgress;
use super::output::{note, one_line, print, warn};
use super::progress_bar::EpisodeBar;
use super::resolve_active_model;

/// The default output folder of a run.
const OUTPUTS: &str = "outputs/lm";
/// The environment variable that has the effect of --allow-fallback.
const FALLBACK: &str = "SENTINEL_ALLOW_TRAIN_FALLBACK";

/// The command line of `sentinel lm sft`.
#[derive(Clone, Debug, clap::Args)]
#[command(mut_arg("output_dir", |arg| arg.default_value(OUTPUTS)))]
pub(crate) struct SftCommand {
    #[command(flatten)]
    run_dir: RunDirArgs,
    /// Write a report of the run, as sft_trl_run.json of a sweep
    #[arg(long, value_name = "FILE", help_heading = "Run")]
    report_path: Option<PathBuf>,
    #[command(flatten)]
    config: SftConfig,
}

/// The command line of `sentinel lm grpo`.
#[derive(Clone, Debug, clap::Args)]
#[command(mut_arg("output_dir", |arg| arg.default_value(OUTPUTS)))]
pub(crate) struct GrpoCommand {
    /// Play with a script instead of loading a model
    #[arg(long)]
    dry_run: bool,
    /// Print the memory that a run with these options takes
    #[arg(long, conflicts_with = "dry_run")]
    estimate: bool,
    #[command(flatten)]
    run_dir: RunDirArgs,
    /// Write a report of the run, as grpo_trl_run.json of a sweep
    #[arg(long, value_name = "FILE", help_heading = "Run")]
    report_path: Option<PathBuf>,
    #[command(flatten)]
    config: GrpoConfig,
}

/// The command line of `sentinel lm merge`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct MergeCommand {
    /// The base model: a local folder, or a name on the Hugging Face Hub
    #[arg(long, aliases = ["model-name-or-path", "model-id"], value_name = "MODEL")]
    model: String,
    /// The folder of the adapter
    #[arg(long, alias = "adapter-dir", value_name = "DIR")]
    adapter: PathBuf,
    /// The folder to write
    #[arg(long, alias = "out", value_name = "DIR")]
    output_dir: PathBuf,
    /// Overwrite what is in --output-dir
    #[arg(long, alias = "force")]
    overwrite_output_dir: bool,
}

/// The command line of `sentinel lm rollout`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RolloutCommand {
    /// Play with a script instead of a model
    #[arg(long, required_unless_present = "model")]
    dry_run: bool,
    /// The language model that plays: a local folder, or a name on the Hugging Face Hub
    #[arg(long, aliases = ["model-name-or-path", "model-id"], value_name = "MODEL",
        conflicts_with_all = ["dry_run", "policy"])]
    model: Option<String>,
    #[command(flatten)]
    config: RolloutArgs,
    #[command(flatten)]
    generation: GenerationArgs,
}

/// Returns, for each of `names`, `true` if the command line or the file of options sets it.
fn says<const N: usize>(
    run: &RunDirArgs,
    names: [&str; N],
    matches: &ArgMatches,
) -> Result<[bool; N], RunError> {
    let file = run.config.as_deref().map(options_file).transpose()?;
    Ok(names.map(|name| {
        let typed = matches.value_source(name) == Some(ValueSource::CommandLine);
        typed || file.as_ref().is_some_and(|file| file.get(name).is_some())
    }))
}

/// Returns the options: the command line overrides the file, the file overrides the resumed run,
/// and that overrides the defaults.
fn options<T>(run: &RunDirArgs, options: &T, matches: &ArgMatches) -> Result<T, RunError>
where
    T: Args + Serialize + DeserializeOwned,
{
    let known = |name: &str| matches.try_contains_id(name).is_ok();
    let given =
        |name: &str| known(name) && matches.value_source(name) == Some(ValueSource::CommandLine);
    let mut saved = None;
    let dir = run.run_dir()?;
    if dir.resume {
        let header = Header::load(dir.checkpoint_folder())?;
        saved = Some((
            dir.checkpoint_folder(),
            to_current_form::<T>(&header.config),
        ));
    }
    let Some(file) = &run.config else {
        return merge_options(options, saved, given);
    };
    let base = options_file(file)?;
    if saved.is_none() {
        return merge_options(options, Some((file, base)), given);
    }
    // The file has the precedence of the command line over the saved run, but below typed options.
    let resumed = merge_options(options, saved, |_| false)?;
    let with_file = merge_options(&resumed, Some((file, base)), |_| false)?;
    let typed = serde_json::to_value(with_file).map_err(Error::from)?;
    merge_options(options, Some((file, typed)), given)
}

/// Runs `sentinel lm corpus`, which writes demonstrations.
pub(crate) fn corpus(config: &CorpusConfig) -> Result<()> {
    let bar = EpisodeBar::new(Some(config.episodes()?));
    let summary = corpus::demonstrate(config, &|| bar.step())?;
    drop(bar);
    print(&format!("wrote {}: {summary}\n", config.out.display()))
}

/// Runs `sentinel lm init`, which creates a model.
pub(crate) fn init(options: &InitOptions) -> Result<()> {
    let (mut texts, mut provenance) = (Vec::new(), Provenance::new());
    if let Some(data) = &options.data {
        provenance.add_file("the corpus", data)?;
        for example in read_corpus(data)? {
            texts.push(example.prompt.question().to_owned());
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

/// Runs `sentinel lm sft`, which fine-tunes a model.
pub(crate) fn sft(command: &SftCommand, matches: &ArgMatches) -> Result<()> {
    refuse_ranks("sentinel lm sft")?;
    let mut config = options(&command.run_dir, &command.config, matches)?;
    allow_fallback(&mut config.run);
    let dir = command.run_dir.run_dir()?;
    print_start(&command.run_dir, &dir);
    let mut view = LmProgress::new();
    let stop = on_interrupt()?;
    let done = sft::train(&config, &dir, stop, &mut |event| view.show(event));
    let origin = RunOrigin {
        model_id: config.run.model.clone(),
        world: config
            .eval_world
            .map_or_else(String::new, |world| world.name().to_owned()),
        task: config.eval_task.clone(),
        rules: config.eval_rules.clone(),
        command: None,
    };
    let report = Report::new(command.report_path.as_deref(), &done, origin);
    let ended = finish(done, &view, &dir, &config);
    report.write(&dir)?;
    ended
}

/// Runs `sentinel lm grpo`, which trains a model by playing.
pub(crate) fn grpo(command: &GrpoCommand, matches: &ArgMatches) -> Result<()> {
    if command.dry_run {
        let config = options(&command.run_dir, &command.config, matches)?;
        let [episodes, task] = says(&command.run_dir, ["episodes", "task"], matches)?;
        return play_script(&config, episodes, task);
    }
    if command.estimate {
        let config = options(&command.run_dir, &command.config, matches)?;
        return print_estimates(&config, matches);
    }
    let group = process_group()?;
    let ended = group.close(grpo_on_rank(command, &group, matches));
    if !group.is_distributed() {
        return ended;
    }
    // A launcher ends all processes once one of them exits with an error, so rank 0 prints its error
    // before the group is dropped, which ends MPI on all ranks together.
    let ended = ended.map_err(|error| {
        if error.is::<Interrupted>() {
            return error;
        }
        if group.is_main() {
            note(&format!("error: {}", one_line(&error.to_string())));
        }
        Reported.into()
    });
    drop(group);
    ended
}

/// Trains on this rank. Rank 0 alone reports the run.
fn grpo_on_rank(command: &GrpoCommand, group: &ProcessGroup, matches: &ArgMatches) -> Result<()> {
    let typed = serde_json::to_value(&command.config).map_err(Error::from)?;
    group.agree(&option_facts(&typed))?;
    // Rank 0 alone reads the folder of the run.
    let own = group
        .is_main()
        .then(|| options(&command.run_dir, &command.config, matches));
    let mut config: GrpoConfig = group.broadcast(own.transpose())?;
    allow_fallback(&mut config.run);
    let args = &command.run_dir;
    let dir = if group.is_main() {
        args.run_dir()?
    } else {
        RunDir {
            resume: args.resumes(),
            ..RunDir::new(&args.output_dir)
        }
    };
    if group.is_main() {
        print_start(args, &dir);
    }
    let mut view = LmProgress::new();
    let stop = on_interrupt_of_rank(group.is_main())?;
    let done = lm_grpo::train(&config, &dir, group, stop, &mut |event| view.show(event));
    if !group.is_main() {
        return Ok(done.map(|_| ())?);
    }
    let origin = RunOrigin {
        model_id: config.run.model.clone(),
        world: config.episode.world.name().to_owned(),
        ..RunOrigin::default()
    };
    let report = Report::new(command.report_path.as_deref(), &done, origin);
    let ended = finish(done, &view, &dir, &config);
    report.write(&dir)?;
    ended
}

/// Runs `sentinel lm merge`, which adds an adapter to its base model.
pub(crate) fn merge(command: &MergeCommand) -> Result<()> {
    let found = find_model(&command.model, &HubOptions::from_environment())?;
    if let Some(warning) = &found.warning {
        warn(warning);
    }
    let folder = found.folder;
    let mut model = CausalLm::load(&folder, &sentinel_tensor::device::cpu())?;
    Lora::load(&mut model, &command.adapter, BaseCheck::Weights)?;
    let mut provenance = Provenance::new();
    provenance.add_model("model", &folder)?;
    provenance.add_model("adapter", &command.adapter)?;
    let (to, force) = (&command.output_dir, command.overwrite_output_dir);
    let adapter = Some(command.adapter.as_path());
    let report = Lora::merge_into(&model, &folder, adapter, to, &provenance, force)?;
    print(&format!(
        "wrote {}: logits differ from base and adapter by at most {:.1e}\n",
        command.output_dir.display(),
        report.difference
    ))
}

/// Runs `sentinel lm eval`, which prints the scores of a model.
pub(crate) fn eval(config: &EvalArgs, matches: &ArgMatches) -> Result<()> {
    if let Some(path) = &config.out {
        lm_agent::check_replaces(path)?;
    }
    let (config, activated) = resolve_active_model::resolve_lm_eval(config, matches)?;
    let bar = EpisodeBar::new(None);
    // It has no state to save, so a signal ends the program as usual.
    let mut played = lm_agent::play(&config, &AtomicBool::new(false), &|| bar.step())?;
    drop(bar);
    for warning in &played.sentinel.warnings {
        warn(warning);
    }
    let inputs = activated.into_iter().flat_map(|found| found.inputs);
    played.sentinel.provenance.inputs.extend(inputs);
    let text = serde_json::to_string_pretty(&played).map_err(Error::from)? + "\n";
    // Write the file first: a reader of the output may stop before its end.
    if let Some(path) = &config.out {
        files::write_atomic(path, text.as_bytes())?;
    }
    print(&text)
}

/// Runs `sentinel lm rollout`, which plays episodes as training does.
pub(crate) fn rollout(command: &RolloutCommand) -> Result<()> {
    // clap requires --model with these options, unless an option that excludes it is given.
    if let (None, Some((name, _))) = (&command.model, command.generation.given().next()) {
        bail!("a script plays: --{name} is only for language models, so name one with --model");
    }
    let bar = EpisodeBar::new(None);
    let found = match &command.model {
        Some(model) => {
            lm_agent::play_rollout(&command.config, model, &command.generation, &|| bar.step())?
        }
        None => dry_run(&command.config, &|| bar.step())?,
    };
    drop(bar);
    print(&(serde_json::to_string_pretty(&found).map_err(Error::from)? + "\n"))
}

fn allow_fallback(run: &mut RunOptions) {
    let said = std::env::var(FALLBACK).unwrap_or_default();
    run.allow_fallback |= said.eq_ignore_ascii_case("true") || said == "1";
}

/// The report of a run that `--report-path` requests.
struct Report<'a> {
    path: Option<&'a Path>,
    status: ReportStatus,
    error: Option<String>,
    origin: RunOrigin,
}

impl<'a> Report<'a> {
    fn new(path: Option<&'a Path>, done: &Result<Outcome, RunError>, origin: RunOrigin) -> Self {
        let status = match done {
            Ok(Outcome::Finished) => ReportStatus::Ok,
            Ok(Outcome::Interrupted) => ReportStatus::Interrupted,
            Err(_) => ReportStatus::Failed,
        };
        let error = done.as_ref().err().map(ToString::to_string);
        Self {
            path,
            status,
            error,
            origin,
        }
    }

    fn write(self, dir: &RunDir) -> Result<()> {
        let Some(path) = self.path else {
            return Ok(());
        };
        let report = if self.status == ReportStatus::Ok {
            RunReport::from_folder(&dir.path, &self.origin)?
        } else {
            RunReport::stopped(self.status, self.error, &self.origin, &self.origin.model_id)
        };
        Ok(json_file::write_json(path, &report)?)
    }
}

/// Writes the options, prints the result and reports an interruption after a run.
fn finish(
    done: Result<Outcome, RunError>,
    view: &LmProgress,
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

/// Runs `sentinel lm grpo --dry-run`: `sentinel lm rollout --dry-run` with the run's own options.
/// Unless episodes or task are given, it is the dry run of the reference: five episodes of one
/// task.
fn play_script(config: &GrpoConfig, says_episodes: bool, says_task: bool) -> Result<()> {
    let said = config.episode.episodes.filter(|_| says_episodes);
    let start = config.run.seed;
    let seeds = format!("{start}..{}", start.saturating_add(said.unwrap_or(5)));
    let seeds = seeds.parse().map_err(|error: SeedError| Error::Argument {
        option: "--episodes and --seed",
        reason: error.to_string(),
    })?;
    let rollout_config = config.rollout_config()?;
    let found = dry_run(
        &RolloutArgs {
            episode: EpisodeArgs {
                task: config.episode.task.clone().filter(|_| says_task),
                episodes: None,
                seeds: Some(seeds),
                ..config.episode.clone()
            },
            policy: None,
            prompts: config.prompts,
            invalid_penalty: rollout_config.invalid,
        },
        &|| (),
    )?;
    let text = serde_json::to_string_pretty(&found).map_err(Error::from)?;
    print(&(text + "\n"))
}
