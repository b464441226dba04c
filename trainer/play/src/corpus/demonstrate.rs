//! `sentinel lm corpus`: the actions of a scripted or compact policy as chat rows for training.
//!
//! A row is one step: the prompt, and the action in the format that the model should write, in
//! TRL's conversational prompt and completion form, of which only the completion is trained. With
//! `--random-action-prob` some steps take a random action in place of the label, so that the corpus
//! covers states from which the policy has to recover (the noise of DART, arXiv:1703.09327); labels
//! are always the policy's. With `--rename-prob` some rows give the medicines that they name replacement
//! names, so that a model learns to copy names that it does not know.

use std::path::PathBuf;

use rayon::prelude::*;
use sentinel_base::arg_parsers::parse_fraction;
use sentinel_base::episode_args::with_default;
use sentinel_base::provenance::Provenance;
use sentinel_base::rng::Rng;
use sentinel_base::{EpisodeArgs, Error, Progress, SeedRange, arg_parsers, files, task_selection};
use sentinel_env::digest::Digest;
use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_env::{EpisodeSpec, Named, TaskName, World, in_world};
use sentinel_policy::Scripted;
use sentinel_policy::policy::Player;
use sentinel_policy::text::{PromptState, PromptStyle, TextWorld};
use serde::Serialize;

use super::rename::Renaming;
use super::{CorpusSummary, training_seeds};
use crate::analyze::{Analyzed, PolicySource};

/// The number of episodes that are held in memory at a time.
const CHUNK: usize = 256;

/// The seeds that are played by default.
const SEEDS: SeedRange = SeedRange::new(100_000, 100_100);

/// The configuration of `sentinel lm corpus`.
#[derive(Clone, Debug, clap::Args)]
#[command(
    mut_arg("task", |arg| arg.help(
        "Tasks of the world, separated by commas, or all; in polyguard without the held-out part"
    )),
    mut_arg("seeds", |arg| with_default(arg.help(
        "Seeds of each task, among those for training: A..B without B, or A..=B with B"
    ), SEEDS)),
    mut_arg("streams", |arg| arg.hide(true))
)]
pub struct CorpusConfig {
    /// The policy whose actions are the labels: a scripted one, or trained for a compact model; by
    /// default the best scripted one that sees only observations
    #[arg(long)]
    pub policy: Option<String>,
    /// Folder of the compact model that --policy trained plays [default: the committed one of the
    /// world for the rules, such as replays/grpo]
    #[arg(long, value_name = "DIR")]
    pub model: Option<PathBuf>,
    /// Allow a policy that reads hidden state: its labels cannot be learned from prompts alone
    #[arg(long)]
    pub allow_oracle: bool,
    /// Prompt style of observations
    #[arg(long, value_name = "STYLE", default_value_t, value_parser = arg_parsers::named_enum_parser::<PromptStyle>())]
    pub prompt: PromptStyle,
    /// Probability that a step takes a random action in place of the label, 0 to 1
    #[arg(long, alias = "epsilon", value_name = "P", default_value = "0", value_parser = parse_fraction)]
    pub random_action_prob: f64,
    /// Probability that a row gives the medicines that it names replacement names, 0 to 1, so that a
    /// model learns to copy names that it does not know; polyguard only, with --prompt detailed
    #[arg(long, value_name = "P", default_value = "0", value_parser = parse_fraction)]
    pub rename_prob: f64,
    /// The corpus to write, JSON lines
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Overwrite a file that exists
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub episode: EpisodeArgs,
}

/// One row. The first two keys are TRL's; the others record where it comes from.
#[derive(Serialize)]
struct ChatRow<'a> {
    prompt: [Message<'a>; 1],
    completion: [Message<'a>; 1],
    world: &'static str,
    task: &'static str,
    seed: u64,
    step: u32,
    policy: &'static str,
    rules: &'a str,
    streams: Streams,
    style: PromptStyle,
    /// `true` if the episode continued with a random action.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    explored: bool,
    /// `true` if the row has replacement names.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    renamed: bool,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

/// The policy whose actions are the labels.
enum Teacher<W: Analyzed> {
    /// A policy that sees observations only.
    Public(PolicySource<W>),
    /// A scripted policy that reads hidden state.
    Privileged(W::PolicyName),
}

impl<W: Analyzed> Teacher<W> {
    fn name(&self) -> &'static str {
        match self {
            Self::Public(source) => source.name(),
            Self::Privileged(policy) => policy.name(),
        }
    }

    fn player(&self, setup: &W::Setup) -> Player<W> {
        match self {
            Self::Public(source) => source.player(setup),
            Self::Privileged(policy) => policy.start(setup),
        }
    }
}

/// The plan of a corpus: policies, rules and tasks that the world knows.
struct Plan<'a, W: TextWorld + Analyzed> {
    config: &'a CorpusConfig,
    teacher: Teacher<W>,
    provenance: Provenance,
    random: Option<W::PolicyName>,
    rules: Rules<W::Change>,
    tasks: Vec<W::Task>,
    streams: Streams,
}

impl CorpusConfig {
    /// Returns the number of episodes to play.
    ///
    /// # Errors
    /// Returns an error if the world has no such tasks.
    pub fn episodes(&self) -> Result<u64, Error> {
        in_world!(self.episode.world, W => Ok(self.seeds().count() * self.selected::<W>()?.len() as u64))
    }

    fn selected<W: World>(&self) -> Result<Vec<W::Task>, Error> {
        task_selection::training_tasks::<W>(self.episode.task.as_deref(), &self.episode.cells)
    }

    /// Returns the seeds to play.
    #[must_use]
    pub fn seeds(&self) -> SeedRange {
        self.episode.seeds_or(SEEDS)
    }

    /// Returns the folder of the compact model whose actions are the labels; `None` for a scripted
    /// policy.
    #[must_use]
    pub fn model_folder(&self) -> Option<PathBuf> {
        let is_trained = self.policy.as_deref() == Some("trained");
        let named = self.model.as_deref();
        let folder = || {
            in_world!(self.episode.world, W => {
                // Rules that cannot be parsed are refused by the corpus.
                let rules = self.episode.rules::<W>().unwrap_or_default();
                W::model_folder(named, rules).to_owned()
            })
        };
        is_trained.then(folder)
    }

    fn plan<W: TextWorld + Analyzed>(&self) -> Result<Plan<'_, W>, Error> {
        let allowed = training_seeds();
        let seeds = self.seeds();
        if !allowed.contains(seeds) {
            let reason = format!(
                "{seeds} are not all among {allowed}: other seeds are kept for validation and tests"
            );
            return Err(Error::argument("--seeds", reason));
        }
        let streams = self.episode.streams_or::<W>(Streams::Independent)?;
        if streams != W::streams_or_default(Streams::Independent) {
            let reason = "a corpus has independent streams: leave the option out";
            return Err(Error::argument("--streams", reason.to_owned()));
        }
        let tasks = self.selected::<W>()?;
        if self.rename_prob > 0.0 {
            self.check_renaming::<W>(&tasks)?;
        }
        let mut provenance = Provenance::new();
        let rules = self.episode.rules::<W>()?;
        let teacher = self.teacher::<W>(rules, &mut provenance)?;
        Ok(Plan {
            config: self,
            teacher,
            provenance,
            random: W::PolicyName::parse(W::ROLES.random).filter(|_| self.random_action_prob > 0.0),
            rules,
            tasks,
            streams,
        })
    }

    /// Checks that rows can have replacement names.
    fn check_renaming<W: TextWorld>(&self, tasks: &[W::Task]) -> Result<(), Error> {
        let reason = if tasks.iter().all(|task| W::names_to_copy(*task).is_empty()) {
            format!(
                "prompts of {} have no names to replace: leave the option out",
                W::NAME
            )
        } else if self.prompt != PromptStyle::Detailed {
            // Other completions list medicines in the order of the formulary.
            "only completions of detailed prompts follow from them under any name: add --prompt detailed".to_owned()
        } else {
            return Ok(());
        };
        Err(Error::argument("--rename-prob", reason))
    }

    /// Returns the policy whose actions are the labels of episodes under `rules`. The digest of a compact
    /// model is added to `provenance`.
    fn teacher<W: TextWorld + Analyzed>(
        &self,
        rules: Rules<W::Change>,
        provenance: &mut Provenance,
    ) -> Result<Teacher<W>, Error> {
        let name = match &self.policy {
            Some(name) => name,
            None => best_policy::<W>()?.name(),
        };
        let scripted = W::PolicyName::parse(name);
        if self.model.is_some() && scripted.is_some() {
            let reason = "only --policy trained plays a model: add it, or leave out --model";
            return Err(Error::argument("--model", reason.to_owned()));
        }
        match scripted.filter(|policy| policy.is_privileged()) {
            Some(policy) if self.allow_oracle => Ok(Teacher::Privileged(policy)),
            Some(_) => {
                let reason = format!(
                    "{name} reads hidden state, which no prompt shows: name another, or add --allow-oracle"
                );
                Err(Error::argument("--policy", reason))
            }
            None => {
                let (model, options) = (self.model.as_deref(), ["--policy", "--model"]);
                PolicySource::load(name, model, rules, options, provenance).map(Teacher::Public)
            }
        }
    }
}

/// Returns the best scripted policy that sees observations only.
pub(super) fn best_policy<W: TextWorld>() -> Result<W::PolicyName, Error> {
    let by_name = |name| W::PolicyName::parse(name);
    let found = by_name(W::ROLES.planner).or_else(|| by_name(W::ROLES.heuristic));
    found.ok_or_else(|| Error::argument("--policy", "name one".to_owned()))
}

/// Plays the episodes and writes their rows, in the order task, seed, step. The file is written
/// atomically, and is the same for the same options.
///
/// # Errors
/// Returns an error if an option is invalid, or the file exists already or cannot be written.
pub fn demonstrate(config: &CorpusConfig, progress: Progress<'_>) -> Result<CorpusSummary, Error> {
    in_world!(config.episode.world, W => demonstrate_in::<W>(config, progress))
}

fn demonstrate_in<W: TextWorld + Analyzed>(
    config: &CorpusConfig,
    progress: Progress<'_>,
) -> Result<CorpusSummary, Error> {
    let plan = config.plan::<W>()?;
    let seeds = || config.seeds().range();
    let episodes = plan
        .tasks
        .iter()
        .flat_map(|task| seeds().map(move |seed| (*task, seed)));
    let episodes: Vec<(W::Task, u64)> = episodes.collect();
    let mut total = CorpusSummary::default();
    files::write_pieces(&config.out, config.force, |out| {
        let failed = |source| Error::Write {
            path: config.out.clone(),
            source,
        };
        for chunk in episodes.chunks(CHUNK) {
            let played: Vec<Result<(String, CorpusSummary), Error>> = (chunk.par_iter())
                .map(|(task, seed)| {
                    let rows = plan.episode(*task, *seed);
                    progress();
                    rows
                })
                .collect();
            for rows in played {
                let (text, summary) = rows?;
                out.write_all(text.as_bytes()).map_err(failed)?;
                total.merge(summary);
            }
        }
        Ok(())
    })?;
    total.policy = plan.teacher.name();
    // A pipe or a device leaves no file that a second one could describe.
    if config.out.is_file() {
        plan.provenance.write_sidecar(&config.out)?;
    }
    Ok(total)
}

impl<W: TextWorld + Analyzed> Plan<'_, W> {
    /// Plays one episode and returns its rows as text.
    fn episode(&self, task: W::Task, seed: u64) -> Result<(String, CorpusSummary), Error> {
        let config = self.config;
        let setup = EpisodeSpec::<W> {
            task,
            seed,
            streams: self.streams,
            rules: self.rules,
        }
        .setup();
        let mut prompt_state = PromptState::<W>::new(&setup);
        let mut expert = self.teacher.player(&setup);
        let mut random = self.random.map(|policy| policy.start(&setup));
        let mut name = Digest::default();
        name.write_bytes(task.name().as_bytes());
        let mut rng = Rng::new(seed, &[name.hash]);
        // A stream of its own: episodes are the same with and without other names.
        let mut rename_rng = Rng::new(seed, &[name.hash, 0]);
        let names = W::names_to_copy(task);
        let rules = self.rules.to_string();
        let (mut text, mut summary) = (Vec::new(), CorpusSummary::default());
        summary.episodes = 1;
        while let Some(label) = expert.act(prompt_state.episode()) {
            let other = random
                .as_mut()
                .and_then(|player| player.act(prompt_state.episode()))
                .filter(|_| rng.uniform() < config.random_action_prob);
            let observation = prompt_state.observation();
            let step = W::step_count(observation);
            let mut prompt = prompt_state.prompt(config.prompt);
            let mut completion = W::format_action(config.prompt, observation, label);
            let mut renamed = false;
            if rename_rng.uniform() < config.rename_prob {
                let renaming = Renaming::draw(&names, &prompt, &mut rename_rng);
                let replaced = renaming.apply(&prompt);
                renamed = replaced != prompt;
                completion = renaming.apply(&completion);
                prompt = replaced;
            }
            summary.renamed += u64::from(renamed);
            summary.add(&prompt, &completion, &label.to_string());
            summary.explored += u64::from(other.is_some());
            let message = |role, content| [Message { role, content }];
            let row = ChatRow {
                prompt: message("user", &prompt),
                completion: message("assistant", &completion),
                world: W::NAME,
                task: task.name(),
                seed,
                step,
                policy: self.teacher.name(),
                rules: &rules,
                streams: self.streams,
                style: config.prompt,
                explored: other.is_some(),
                renamed,
            };
            serde_json::to_writer(&mut text, &row)?;
            text.push(b'\n');
            // A player only names legal actions; if one is refused, the episode stops here.
            if prompt_state.step(other.unwrap_or(label)).is_err() {
                break;
            }
        }
        Ok((String::from_utf8_lossy(&text).into_owned(), summary))
    }
}
