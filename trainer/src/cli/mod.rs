//! The command line: its commands, the spellings of earlier versions, and the dispatch to the
//! library.

mod analyze;
mod charts;
mod compact;
mod corpus;
mod doctor;
mod environments;
mod help;
mod hub;
pub(crate) mod interrupt;
mod lm;
mod lm_estimate;
mod lm_import;
mod lm_progress;
pub(crate) mod output;
mod progress_bar;
mod report;
mod resolve_active_model;
mod serve;
mod sweep;
#[cfg(test)]
mod tests;

use std::ffi::OsString;

use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, CommandFactory, FromArgMatches, Parser};
use sentinel_compact::config::Method;
use sentinel_compact::run::command::TrainCommand;
use sentinel_evidence::cluster_health::ClusterHealthConfig;
use sentinel_evidence::plots::PlotsConfig;
use sentinel_evidence::report::ReportConfig;
use sentinel_evidence::reward_report::RewardReportConfig;
use sentinel_hub::job::JobConfig;
use sentinel_hub::pull::PullConfig;
use sentinel_hub::upload::UploadConfig;
use sentinel_language::ablate::AblateConfig;
use sentinel_language::agent::EvalArgs;
use sentinel_language::import::ImportArgs;
use sentinel_language::record::RecordConfig;
use sentinel_lm::init::InitOptions;
use sentinel_play::analyze::AnalyzeConfig;
use sentinel_play::bench::BenchConfig;
use sentinel_play::bound::BoundConfig;
use sentinel_play::corpus::CorpusConfig;
use sentinel_play::corpus::builder::BuildConfig;
use sentinel_play::eval::EvalConfig;
use sentinel_play::replay_manifest::ManifestConfig;
use sentinel_play::rules::RulesConfig;
use sentinel_play::trace::TraceConfig;
use sentinel_play::verify::VerifyConfig;
use sentinel_server::ServeOptions;
use sentinel_trainer::doctor::DoctorArgs;
use sentinel_trainer::sweep::{ImprovementArgs, PostSaveArgs};

/// The name of the program, in help and in completions.
const NAME: &str = "sentinel";

/// Environments for agent oversight: play them, and train policies in them.
#[derive(Debug, Parser)]
#[command(name = NAME, version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The commands of the program. The groups that `--help` shows are in [`help`].
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Play policies on the same seeds and compare them
    Eval(EvalConfig),
    /// Play a policy and write its actions as a replay
    Record(Box<RecordConfig>),
    /// Verify replays and list them
    #[command(subcommand)]
    Replay(ReplayCommand),
    /// Analyze the decisions of a replay: the expected score of each action, mistakes and luck
    Analyze(Box<AnalyzeConfig>),
    /// Print an episode as JSON lines, to compare with another implementation
    Trace(TraceConfig),
    /// Measure the steps per second of a world on one core
    Bench(BenchConfig),
    /// Compare rules: the effect of each change on each policy, and whether better policies score
    /// better
    Rules(RulesConfig),
    /// Compute an upper bound on the score of policies, and compare policies with it
    Bound(BoundConfig),
    /// Compare the stack of agents of world polyguard with its parts
    Ablate(AblateConfig),
    /// Train a compact policy by playing: GRPO, from fresh weights or from a model
    Train(Box<TrainCommand>),
    /// Train a compact policy by imitation of a teacher along its own episodes (DAgger)
    Imitate(Box<TrainCommand>),
    /// Train a compact policy by imitation of look-ahead over itself (expert iteration)
    Improve(Box<TrainCommand>),
    /// Train and evaluate language models
    #[command(subcommand)]
    Lm(LmCommand),
    /// Write an episode step by step: rewards, beliefs, reasons and the hidden truth
    RewardReport(Box<RewardReportConfig>),
    /// Write the health of the cluster after each step, for several policies
    ClusterHealth(ClusterHealthConfig),
    /// Draw charts of evaluations, training runs and reports, as SVG, PNG and JSON
    Plots(PlotsConfig),
    /// Write a report of runs, evaluations and sweeps: one HTML file with charts and data
    Report(ReportConfig),
    /// Submit a training job to Hugging Face Jobs
    HfJob(Box<JobConfig>),
    /// Upload a model, an adapter, replays, results or the page to the Hugging Face Hub
    Upload(UploadConfig),
    /// Download a run from the Hugging Face Hub and verify its digests
    Pull(PullConfig),
    /// Run the chain for several models: corpus, SFT, merge, GRPO, checks of the saved models,
    /// evaluation
    Sweep(Box<sweep::SweepCommand>),
    /// Judge the reports of a run; exit code 1 when it is not accepted
    Gate(sweep::GateCommand),
    /// Make a model of a run the one that commands use when none is named
    Activate(sweep::ActivateCommand),
    /// Print the active model and check its files
    ModelStatus(sweep::StatusCommand),
    /// Check the success criteria of a folder of results; exit code 1 when one is not met
    Check(sweep::CheckCommand),
    /// Serve the worlds over HTTP and WebSocket: OpenEnv, the reference's API, a policy, the page
    Serve(Box<ServeOptions>),
    /// Check this machine for what the commands need; exit code 1 when something is missing
    Doctor(DoctorArgs),
    /// Print completions for a shell
    Completions {
        /// The shell to complete for
        #[arg(value_name = "SHELL")]
        shell: clap_complete::Shell,
    },
    #[command(flatten)]
    Old(OldCommand),
}

/// The commands for replays.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum ReplayCommand {
    /// Play every episode again; exit code 1 when a line is bad or a row does not fit
    Verify(VerifyConfig),
    /// Rebuild FOLDER/manifest.json; the command and commit of unchanged files are kept
    Manifest(ManifestConfig),
}

/// The commands for language models.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum LmCommand {
    /// Write the actions of a policy as chat rows for a language model to learn from
    Corpus(CorpusConfig),
    /// Build a corpus from tables, episodes, a dataset and an API, with the license of every row
    #[command(alias = "build-training-corpus")]
    BuildCorpus(Box<BuildConfig>),
    /// Make a small new language model with a tokenizer of its own
    Init(InitOptions),
    /// Convert a model in a GGUF file to a folder of Hugging Face
    Import(ImportArgs),
    /// Fine-tune a language model on a corpus
    Sft(Box<lm::SftCommand>),
    /// Train a language model by playing: GRPO on the rewards of a world
    Grpo(Box<lm::GrpoCommand>),
    /// Evaluate a language model: its score, and how often it names an action
    Eval(Box<EvalArgs>),
    /// Add a LoRA adapter to the weights of its base model
    Merge(lm::MergeCommand),
    /// Play episodes as training does, with a language model or a script
    Rollout(Box<lm::RolloutCommand>),
    /// Complete prompts with the saved models of a run, in the order of loading
    Postsave(Box<PostSaveArgs>),
    /// Compare SFT and GRPO of a run by greedy play on the same seeds
    Compare(Box<ImprovementArgs>),
}

/// The commands of earlier versions.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum OldCommand {
    /// Same as `lm corpus`
    #[command(hide = true)]
    Corpus(CorpusConfig),
    /// Same as `lm init`
    #[command(hide = true)]
    Init(InitOptions),
    /// Same as `lm sft`, or with --compact as `imitate`
    #[command(hide = true, disable_help_flag = true)]
    Sft {
        /// The options of that command
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Same as `lm grpo`
    #[command(hide = true)]
    Grpo(Box<lm::GrpoCommand>),
    /// Same as `lm eval`
    #[command(hide = true)]
    EvalLm(Box<EvalArgs>),
    /// Same as `lm merge`
    #[command(hide = true)]
    Merge(lm::MergeCommand),
    /// Same as `lm rollout`
    #[command(hide = true)]
    Rollout(Box<lm::RolloutCommand>),
}

/// Parses a command line. The second value tells which of the command's options were given.
///
/// # Errors
/// Returns an error if the words are not a valid command line, or ask for help or the version.
pub(crate) fn parse(words: &[OsString]) -> Result<(Command, ArgMatches), clap::Error> {
    let words = &corpus::with_current_names(words);
    let mut root = help::with_help(Cli::command(), words);
    let matches = root.try_get_matches_from_mut(words)?;
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut root))?;
    let mut given = &matches;
    while let Some((_, of_subcommand)) = given.subcommand() {
        given = of_subcommand;
    }
    let command = match cli.command {
        Command::Old(OldCommand::Sft { words }) => return parse_old_sft(&root, &words),
        Command::Old(old) => old.renamed(),
        command => command,
    };
    Ok((command, given.clone()))
}

/// Parses the options of the old `sft`, which are those of one of two commands.
fn parse_old_sft(
    root: &clap::Command,
    words: &[OsString],
) -> Result<(Command, ArgMatches), clap::Error> {
    let is_compact = words.iter().any(|word| word == "--compact");
    let path: &[&str] = if is_compact {
        &["imitate"]
    } else {
        &["lm", "sft"]
    };
    let found = path
        .iter()
        .try_fold(root, |command, name| command.find_subcommand(name));
    let mut command = (found.unwrap_or(root).clone())
        .no_binary_name(true)
        .bin_name(format!("{NAME} {}", path.join(" ")))
        .arg(
            Arg::new("compact")
                .long("compact")
                .action(ArgAction::SetTrue)
                .hide(true),
        );
    if is_compact {
        // The folder where earlier versions wrote such a run.
        command = command.mut_arg("output_dir", |arg| arg.default_value("outputs/sft"));
    }
    let matches = command.try_get_matches_from_mut(words)?;
    let parsed = if is_compact {
        TrainCommand::from_arg_matches(&matches).map(|options| Command::Imitate(Box::new(options)))
    } else {
        lm::SftCommand::from_arg_matches(&matches)
            .map(|options| Command::Lm(LmCommand::Sft(Box::new(options))))
    };
    Ok((parsed.map_err(|error| error.format(&mut command))?, matches))
}

impl OldCommand {
    /// Returns the command under its current name.
    fn renamed(self) -> Command {
        Command::Lm(match self {
            Self::Corpus(config) => LmCommand::Corpus(config),
            Self::Init(options) => LmCommand::Init(options),
            Self::Grpo(command) => LmCommand::Grpo(command),
            Self::EvalLm(config) => LmCommand::Eval(config),
            Self::Merge(command) => LmCommand::Merge(command),
            Self::Rollout(command) => LmCommand::Rollout(command),
            // `parse` has already turned it into one of two commands.
            sft @ Self::Sft { .. } => return Command::Old(sft),
        })
    }
}

/// Runs a command. `given` tells which of its options were given, which decides between them and a
/// file.
///
/// # Errors
/// Returns the error of the command.
pub(crate) fn run(command: Command, given: &ArgMatches) -> Result<()> {
    match command {
        Command::Eval(config) => environments::eval(&config),
        Command::Record(config) => environments::record(&config),
        Command::Replay(ReplayCommand::Verify(config)) => environments::verify(&config),
        Command::Replay(ReplayCommand::Manifest(config)) => environments::manifest(&config),
        Command::Analyze(config) => analyze::analyze(&config),
        Command::Trace(config) => environments::trace(&config),
        Command::Bench(config) => environments::bench(&config),
        Command::Rules(config) => environments::rules(&config),
        Command::Bound(config) => environments::bound(&config),
        Command::Ablate(config) => environments::ablate(&config),
        Command::Train(command) => compact::train(&command, Method::Grpo, given),
        Command::Imitate(command) => compact::train(&command, Method::Imitation, given),
        Command::Improve(command) => compact::train(&command, Method::ExpertIteration, given),
        Command::Lm(command) => run_lm(command, given),
        Command::RewardReport(config) => charts::reward_report(&config),
        Command::ClusterHealth(config) => charts::cluster_health(&config),
        Command::Plots(config) => charts::plots(&config),
        Command::Report(config) => report::report(&config),
        Command::HfJob(config) => hub::job(&config),
        Command::Upload(config) => hub::upload(&config),
        Command::Pull(config) => hub::pull(&config),
        Command::Sweep(command) => sweep::sweep(&command),
        Command::Gate(command) => sweep::gate(&command),
        Command::Activate(command) => sweep::activate_model(&command),
        Command::ModelStatus(command) => sweep::model_status(&command),
        Command::Check(command) => sweep::check(&command),
        Command::Serve(options) => serve::serve(&options),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Completions { shell } => completions(shell),
        Command::Old(old) => match old.renamed() {
            Command::Lm(command) => run_lm(command, given),
            _ => Ok(()),
        },
    }
}

fn run_lm(command: LmCommand, given: &ArgMatches) -> Result<()> {
    crate::allocator::keep_freed_memory();
    match command {
        LmCommand::Corpus(config) => lm::corpus(&config),
        LmCommand::BuildCorpus(config) => corpus::build_corpus(&config),
        LmCommand::Init(options) => lm::init(&options),
        LmCommand::Import(args) => lm_import::import(&args),
        LmCommand::Sft(command) => lm::sft(&command, given),
        LmCommand::Grpo(command) => lm::grpo(&command, given),
        LmCommand::Eval(config) => lm::eval(&config, given),
        LmCommand::Merge(command) => lm::merge(&command),
        LmCommand::Rollout(command) => lm::rollout(&command),
        LmCommand::Postsave(args) => sweep::postsave(&args),
        LmCommand::Compare(args) => sweep::improvement(&args),
    }
}

/// Runs `sentinel completions`, which prints a shell's completions.
fn completions(shell: clap_complete::Shell) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(
        shell,
        &mut help::without_hidden_commands(Cli::command()),
        NAME,
        &mut text,
    );
    output::print(&String::from_utf8_lossy(&text))
}
