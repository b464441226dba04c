//! The `sentinel` command: reads the command line, calls the library, says what came of it.

mod bar;
mod commands;
mod interrupt;
mod lm_command;
mod lm_estimate;
mod lm_view;
mod train_command;

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use clap::error::ErrorKind as Usage;
use clap::{CommandFactory, FromArgMatches, Parser};
use sentinel_trainer::ablate::AblateConfig;
use sentinel_trainer::bench::BenchConfig;
use sentinel_trainer::compact::command::TrainCommand;
use sentinel_trainer::compact::config::Method;
use sentinel_trainer::corpus::CorpusConfig;
use sentinel_trainer::eval::EvalConfig;
use sentinel_trainer::lm::grpo::PlayConfig;
use sentinel_trainer::lm::init::InitOptions;
use sentinel_trainer::manifest::ManifestConfig;
use sentinel_trainer::record::RecordConfig;
use sentinel_trainer::rules::RulesConfig;
use sentinel_trainer::trace::TraceConfig;
use sentinel_trainer::verify::VerifyConfig;

/// Tensors come and go by the megabyte: the system's allocator gives such memory back to the kernel
/// each time, and clears it again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Evaluate, record, verify and trace agents that must learn whom to trust.
#[derive(Parser)]
#[command(name = "sentinel", version)]
enum Cli {
    /// Play policies on the same seeds and compare them
    Eval(EvalConfig),
    /// Play a policy and write its actions as a replay
    Record(Box<RecordConfig>),
    /// Look after replays
    #[command(subcommand)]
    Replay(ReplayCommand),
    /// Train a policy by playing: GRPO, from fresh weights or from a model
    Train(Box<TrainCommand>),
    /// Fine-tune a language model on a corpus, or with --compact train the compact policy by
    /// imitation of a teacher along its own episodes
    Sft(Box<lm_command::SftCommand>),
    /// Train the compact policy by imitation; written `sft --compact`
    #[command(name = COMPACT, display_name = "sentinel sft", hide = true,
        override_usage = "sentinel sft --compact [OPTIONS]")]
    SftCompact(Box<train_command::SftCommand>),
    /// Train a language model by playing: GRPO on the rewards of a world
    Grpo(Box<lm_command::GrpoCommand>),
    /// Make a small new language model with a tokenizer of its own
    Init(InitOptions),
    /// Add a LoRA adapter to the weights of its base model
    Merge(lm_command::MergeCommand),
    /// Let a language model play episodes: how often it names an action, and what it scores
    EvalLm(Box<PlayConfig>),
    /// Write what a policy does as chat rows for a language model to learn from
    Corpus(CorpusConfig),
    /// Play episodes in words as training does, with a language model or a script in its place
    Rollout(Box<lm_command::RolloutCommand>),
    /// Print an episode as JSON lines, to compare with another implementation
    Trace(TraceConfig),
    /// Time a world: steps per second on one core
    Bench(BenchConfig),
    /// Compare rules: what each change does to each policy, and whether better ones score better
    Rules(RulesConfig),
    /// Play the polyguard world's stack of agents, and what it is without each part
    Ablate(AblateConfig),
}

/// What `sft --compact` is called once the words were looked at: it has other options.
const COMPACT: &str = "sft-compact";

/// The words of the command line, `sft --compact` made one command of its own.
fn words() -> Vec<std::ffi::OsString> {
    let mut words: Vec<std::ffi::OsString> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| word == "sft") && words.iter().any(|w| w == "--compact") {
        words[1] = COMPACT.into();
    }
    words
}

/// What can be done with replays.
#[derive(clap::Subcommand)]
enum ReplayCommand {
    /// Play every episode again; exit code 1 when a line is bad or a row does not fit
    Verify(VerifyConfig),
    /// Rebuild FOLDER/manifest.json; the command and commit of unchanged files are kept
    Manifest(ManifestConfig),
}

fn main() -> ExitCode {
    let command = train_command::with_sft_defaults(Cli::command());
    let parsed = command
        .try_get_matches_from(words())
        .and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return usage(&error),
    };
    // Which flags were given decides between them and a file.
    let given = matches.subcommand().map_or(&matches, |(_, given)| given);
    let done = match cli {
        Cli::Eval(config) => commands::eval(&config),
        Cli::Record(config) => commands::record(&config),
        Cli::Replay(ReplayCommand::Verify(config)) => commands::verify(&config),
        Cli::Replay(ReplayCommand::Manifest(config)) => commands::manifest(&config),
        Cli::Train(command) => train_command::train(&command, Method::Grpo, given),
        Cli::Sft(command) => lm_command::sft(&command, given),
        Cli::SftCompact(command) => train_command::sft(&command, given),
        Cli::Grpo(command) => lm_command::grpo(&command, given),
        Cli::Init(options) => lm_command::init(&options),
        Cli::Merge(command) => lm_command::merge(&command),
        Cli::EvalLm(config) => lm_command::eval(&config),
        Cli::Corpus(config) => commands::corpus(&config),
        Cli::Rollout(command) => lm_command::rollout(&command),
        Cli::Trace(config) => commands::trace(&config),
        Cli::Bench(config) => commands::bench(&config),
        Cli::Rules(config) => commands::rules(&config),
        Cli::Ablate(config) => commands::ablate(&config),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if reader_is_gone(&error) => ExitCode::SUCCESS,
        // Said already.
        Err(error) if error.is::<interrupt::Interrupted>() => ExitCode::from(130),
        // Errors name their cause themselves.
        Err(error) => fail(&one_line(&error.to_string()), 1),
    }
}

/// Help and version are wanted; anything else is said in one line.
fn usage(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), Usage::DisplayHelp | Usage::DisplayVersion) {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    if error.kind() == Usage::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return ExitCode::from(2);
    }
    let text = error.render().to_string();
    let said = text
        .split("\n\n")
        .filter(|part| !part.starts_with("Usage:"));
    let said: Vec<String> = said
        .filter(|part| !part.starts_with("For more information"))
        .map(one_line)
        .collect();
    let said = said.join("; ");
    let said = said.strip_prefix("error: ").unwrap_or(&said);
    fail(&format!("{said} (see --help)"), 2)
}

/// Words with one space between, whatever the line breaks were.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn fail(reason: &str, code: u8) -> ExitCode {
    // Nobody is left to tell when this fails.
    let _ = writeln!(io::stderr(), "error: {reason}");
    ExitCode::from(code)
}

/// Whether the output went into a pipe that was closed, as by `head`: not a failure.
fn reader_is_gone(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|e| e.kind() == ErrorKind::BrokenPipe)
    })
}
