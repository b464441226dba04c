//! The configuration of `sentinel record`, and the command line that it stands for.

use std::fmt;
use std::path::PathBuf;

use sentinel_base::task_selection::{TypedSelection, shell_quote};
use sentinel_base::{EpisodeArgs, Error, SeedRange, arg_parsers};
use sentinel_env::rng::Streams;
use sentinel_env::{World, WorldName, in_world};
use sentinel_policy::text::{ParserStrictness, PromptStyle};

use crate::agent::GenerationArgs;

/// The configuration of `sentinel record`.
#[derive(Clone, Debug, clap::Args)]
#[command(
    mut_arg("seeds", |arg| arg.required_unless_present("episodes")),
    mut_arg("episodes", |arg| arg.help("Number of episodes of each task, on the seeds from 0 on"))
)]
pub struct RecordConfig {
    /// The policy of the world that plays
    #[arg(long)]
    pub policy: Option<String>,
    /// The trained model that plays instead: the folder of a compact one, or a language model,
    /// which may also be a name on the Hugging Face Hub [default, without --policy: active]
    #[arg(long, value_name = "MODEL", conflicts_with = "policy")]
    pub model: Option<PathBuf>,
    /// Prompt style of observations for a language model [default: compact]
    #[arg(long, value_name = "STYLE", requires = "model", value_parser = arg_parsers::named_enum_parser::<PromptStyle>())]
    pub prompt: Option<PromptStyle>,
    /// Parser of completions: repair ignores text around the action [default: strict]
    #[arg(long = "parser", alias = "reader", value_name = "PARSER", requires = "model", value_parser = arg_parsers::named_enum_parser::<ParserStrictness>())]
    pub reader: Option<ParserStrictness>,
    /// The replay to write
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Overwrite a file that exists
    #[arg(long)]
    pub force: bool,
    /// List the file here, with this command; a manifest must be in the folder of its replays
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub episode: EpisodeArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub generation: GenerationArgs,
}

impl fmt::Display for RecordConfig {
    /// Writes the command that makes the file again, for the manifest.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let episode = &self.episode;
        let tasks = TypedSelection("task", episode.cells.selection(episode.task.as_deref()));
        // The command names the streams, so that it does not depend on their default.
        let usual = in_world!(episode.world, W => W::streams_or_default(Streams::Reference));
        let streams = episode.streams.unwrap_or(usual).name();
        let mut who = match &self.model {
            Some(folder) => format!("--model {}", shell_quote(&folder.display().to_string())),
            None => format!("--policy {}", self.policy.as_deref().unwrap_or_default()),
        };
        for (name, value) in self.language_model_options() {
            who.push_str(&format!(" --{name} {}", shell_quote(&value)));
        }
        let mut place = String::new();
        if episode.world != WorldName::default() {
            place = format!("--world {} ", episode.world.name());
        }
        if episode.rules != "reference" {
            place = format!("{place}--rules {} ", shell_quote(&episode.rules));
        }
        write!(
            f,
            "sentinel record {place}{who} {tasks} --seeds {} --streams {streams} --out {}",
            self.seeds(),
            shell_quote(&self.out.display().to_string())
        )?;
        match &self.manifest {
            Some(path) => write!(
                f,
                " --manifest {}",
                shell_quote(&path.display().to_string())
            ),
            None => Ok(()),
        }
    }
}

impl RecordConfig {
    /// Returns the seeds to play.
    #[must_use]
    pub fn seeds(&self) -> SeedRange {
        self.episode.seeds_or(SeedRange::new(0, 1))
    }

    /// Returns the tasks to play.
    pub(super) fn selected<W: World>(&self) -> Result<Vec<W::Task>, Error> {
        self.episode.tasks_or::<W>(None)
    }

    /// Returns the number of episodes to play.
    ///
    /// # Errors
    /// Returns an error if the world has no such tasks.
    pub fn episodes(&self) -> Result<u64, Error> {
        let tasks = in_world!(self.episode.world, W => self.selected::<W>()?.len());
        Ok(self.seeds().count() * tasks as u64)
    }

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
