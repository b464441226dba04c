//! `sentinel reward-report`: an episode step by step, with the components of each reward, what the
//! player was shown, the reasons, and the hidden truth under that name.
//!
//! The keys before `sentinel` are those of the reference's report (spec trust §11.4, spec cluster
//! §10.4). Everything else is in the object `sentinel`.

mod cluster;
mod play;
mod polyguard;
#[cfg(test)]
mod tests;
mod trust;

use std::path::PathBuf;

use sentinel_base::episode_args::with_default;
use sentinel_base::provenance::Provenance;
use sentinel_base::{EpisodeArgs, Error, EvalPolicy, Progress, SeedRange, arg_parsers, files};
use sentinel_env::rng::Streams;
use sentinel_env::{EpisodeSpec, Session, TaskName as _};
use sentinel_play::eval;
use sentinel_play::eval::TrainedSource;
use sentinel_play::trace::Traced;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::pairs_as_map;

pub use play::play;

/// The version of the object `sentinel` of a report.
pub const FORMAT: u32 = 1;
/// The seeds that are played by default.
const SEEDS: SeedRange = SeedRange::new(42, 43);
/// The task that is played by default, in worlds that have it.
const TASK: &str = "task3";
/// The keys by which an earlier report is recognized.
const KEYS: [&str; 3] = ["events", "score", "sentinel"];

/// The configuration of `sentinel reward-report`.
#[derive(Clone, Debug, clap::Args)]
#[command(mut_arg("seeds", |arg| with_default(arg, "42")))]
pub struct RewardReportConfig {
    /// The policy of the world that plays
    #[arg(long, required_unless_present_any = ["model", "replay"])]
    pub policy: Option<String>,
    /// The trained model that plays: the folder of a compact one, or of a language model
    #[arg(long, value_name = "DIR", conflicts_with_all = ["policy", "replay"])]
    pub model: Option<PathBuf>,
    /// The LoRA adapter of the language model
    #[arg(long, value_name = "DIR", requires = "model")]
    pub adapter: Option<PathBuf>,
    /// The replay whose actions are played
    #[arg(long, value_name = "FILE", conflicts_with = "policy")]
    pub replay: Option<PathBuf>,
    /// The folder for the reports, which is made if it is missing
    #[arg(
        long,
        visible_alias = "out-dir",
        value_name = "DIR",
        default_value = "outputs"
    )]
    pub out: PathBuf,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub episode: EpisodeArgs,
}

/// A world whose episodes can be reported step by step. The defaults suffice for a new world.
pub trait RewardReportable: Traced {
    /// Returns the report on an ended episode, without the object `sentinel`. `notes` has a row for
    /// each step.
    fn report<'a>(session: &'a Session<Self>, notes: &'a [StepExplanation]) -> impl Serialize + 'a {
        plain_report(session, notes)
    }

    /// Returns what the observation shows of the state of the episode.
    fn visible_state(_session: &Session<Self>) -> Value {
        Value::Null
    }

    /// Returns the hidden state that lasts for the whole episode.
    fn hidden_truth(_session: &Session<Self>) -> Value {
        Value::Null
    }

    /// Returns the hidden facts about a step that has just been taken.
    fn step_truth(_session: &Session<Self>, _step: &Self::Info) -> Value {
        Value::Null
    }

    /// Returns the components of the reward of a step that has just been taken, by name.
    fn components(_session: &Session<Self>, _step: &Self::Info) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Explains the reward of a step that has just been taken.
    fn explain_reward(_session: &Session<Self>, _step: &Self::Info) -> String {
        String::new()
    }

    /// Returns the main cause for which a step that has just been taken earned less than 1.
    fn loss_cause(_session: &Session<Self>, _step: &Self::Info) -> &'static str {
        "every step"
    }
}

/// A step of a report: what was shown, what was done, what it earned and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepExplanation {
    /// The steps of the budget that were used before the action.
    pub step_count: u32,
    /// The action in words.
    pub action: String,
    /// The reward of the action.
    pub reward: f64,
    /// The reward for the end of the episode, if the step ended it and the world pays both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal_reward: Option<f64>,
    /// The components of the reward, in the world's order.
    #[serde(with = "pairs_as_map")]
    pub components: Vec<(String, f64)>,
    /// The explanation of the reward.
    pub reason: String,
    /// The main cause for which the action earned less than 1.
    pub cause: String,
    /// The part of the state that the observation showed before the action.
    pub shown: Value,
    /// The beliefs of the player, if it has any.
    pub player: PlayerExplanation,
    /// The hidden facts about the step, which no policy sees.
    pub hidden_truth: Value,
}

/// The information that a player gives about a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlayerExplanation {
    /// The posterior over the hidden variables, `[variables, classes]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub belief: Option<Vec<Vec<f64>>>,
    /// The value of each kind of action; `null` for a kind that it gave no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_values: Option<Vec<Option<f64>>>,
    /// The probability of each kind of action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probabilities: Option<Vec<f64>>,
    /// The explanation that is stored with the action in a replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// The completion of a language model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion: Option<String>,
    /// `true` if a fallback chose the action.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fallback: bool,
}

/// Reward that was lost for one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LostReward {
    /// The name of the cause.
    pub cause: String,
    /// The number of reward events.
    pub events: usize,
    /// The sum of 1 minus the reward over these events.
    pub reward_lost: f64,
}

/// The object `sentinel` of a report: what was played, by whom, and what no policy sees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportOrigin {
    /// The version of this object.
    pub format: u32,
    /// The name of the world.
    pub world: String,
    /// The name of the task.
    pub task: String,
    /// The seed of the episode.
    pub seed: u64,
    /// The name of the policy; `trained` for a model or a replay.
    pub policy: String,
    /// The folder of the model that played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The replay that was played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
    /// The mode in which random streams were seeded.
    pub streams: String,
    /// The name of the rules.
    pub rules: String,
    /// The hidden state of the episode, which no policy sees.
    pub hidden_truth: Value,
    /// The steps in order.
    pub steps: Vec<StepExplanation>,
    /// The causes of lost reward, largest first.
    pub losses: Vec<LostReward>,
    /// The program, the digests of the files that it read, and the fallbacks.
    #[serde(flatten)]
    pub provenance: Provenance,
}

/// A report that was written, or is to be.
#[derive(Clone, Debug)]
pub struct WrittenReport {
    /// The path of the file.
    pub path: PathBuf,
    /// The score of the episode.
    pub score: f64,
    /// The number of steps.
    pub steps: usize,
    /// The number of steps at which a replay had no row, or the row was a fallback's.
    pub fallback_steps: usize,
}

impl RewardReportConfig {
    /// Returns the seeds to play.
    #[must_use]
    pub fn seed_range(&self) -> SeedRange {
        self.episode.seeds_or(SEEDS)
    }

    /// Returns the tasks to play: `task3` by default, in worlds that have it, else all.
    ///
    /// # Errors
    /// Returns an error if the world has no such tasks.
    pub fn tasks<W: Traced>(&self) -> Result<Vec<W::Task>, Error> {
        let usual = <W::Task as sentinel_env::TaskName>::parse(TASK).map(|_| TASK);
        self.episode.tasks_or::<W>(usual)
    }

    /// Returns the player, and checks that a policy of the world has its name.
    fn player<W: Traced>(&self) -> Result<EvalPolicy<W>, Error> {
        match self.policy.as_deref() {
            Some("trained") => Err(Error::argument(
                "--policy",
                "policy trained is a model or a replay: name it with --model or --replay"
                    .to_owned(),
            )),
            Some(name) => arg_parsers::parse_policy::<W>(name).map(EvalPolicy::Scripted),
            None => Ok(EvalPolicy::Trained),
        }
    }

    /// Loads the compact model or the replay; `None` for a scripted policy.
    ///
    /// # Errors
    /// Returns an error if it cannot be read.
    pub fn source<W: Traced>(&self) -> Result<Option<TrainedSource<W>>, Error> {
        if let Some(adapter) = &self.adapter {
            let reason = format!(
                "only a language model has an adapter such as {}: name it with --model",
                adapter.display()
            );
            return Err(Error::argument("--adapter", reason));
        }
        if self.policy.is_some() {
            return Ok(None);
        }
        // The same rules as those of `eval`, from the same code.
        let config = eval::EvalConfig {
            policies: Some("trained".to_owned()),
            adaptive: false,
            adversary_threshold: None,
            model: self.model.clone(),
            replay: self.replay.clone(),
            out: None,
            episode: self.episode.clone(),
        };
        config.plan::<W>()?.load_trained()
    }
}

/// Plays the episodes and writes `reward_report_<task>_seed<seed>.json` for each. `source` is the
/// model or the replay of [`RewardReportConfig::source`], or the recording of a language model.
///
/// # Errors
/// Returns an error if a name is unknown, or a file cannot be written or is not a report.
pub fn write_reports<W: RewardReportable>(
    config: &RewardReportConfig,
    source: Option<&TrainedSource<W>>,
    progress: Progress<'_>,
) -> Result<Vec<WrittenReport>, Error> {
    let policy = config.player::<W>()?;
    let rules = config.episode.rules::<W>()?;
    let streams = config.episode.streams_or::<W>(Streams::Reference)?;
    let tasks = config.tasks::<W>()?;
    files::create_folder(&config.out)?;
    let mut written = Vec::new();
    for task in tasks {
        for seed in config.seed_range().range() {
            let path = config
                .out
                .join(format!("reward_report_{}_seed{seed}.json", task.name()));
            files::check_replaces(&path, "a reward report", &KEYS)?;
            let origin = EpisodeSpec::<W> {
                task,
                seed,
                streams,
                rules,
            };
            let report = play(policy, source, config.model.as_deref(), origin)?;
            files::write_atomic(&path, report.text.as_bytes())?;
            progress();
            written.push(WrittenReport {
                path,
                score: report.score,
                steps: report.origin.steps.len(),
                fallback_steps: report.fallback_steps,
            });
        }
    }
    Ok(written)
}

/// The report of a world without one of its own.
#[derive(Serialize)]
struct PlainReport<'a> {
    episode_id: &'a str,
    session_id: &'a str,
    task_type: &'static str,
    score: f64,
    total_reward: f64,
    reward_events: usize,
    events: Vec<PlainEvent<'a>>,
}

/// An event of a plain report.
#[derive(Serialize)]
struct PlainEvent<'a> {
    step_count: u32,
    action: &'a str,
    reward: f64,
    reason: &'a str,
    #[serde(with = "pairs_as_map")]
    signal_breakdown: Vec<(String, f64)>,
}

fn plain_report<'a, W: Traced>(
    session: &'a Session<W>,
    notes: &'a [StepExplanation],
) -> PlainReport<'a> {
    let rewards = notes
        .iter()
        .map(|note| note.reward + note.terminal_reward.unwrap_or(0.0));
    // As in the other reports, an event has the steps that were used after it.
    let end = W::step_count(session.episode().observation());
    let after = notes.iter().skip(1).map(|note| note.step_count);
    let after = after.chain(std::iter::once(end));
    PlainReport {
        episode_id: session.episode_id(),
        session_id: session.session_id(),
        task_type: W::episode_spec(session.episode().setup()).task.name(),
        score: session.episode().score(),
        total_reward: rewards.sum(),
        reward_events: notes
            .iter()
            .map(|note| 1 + usize::from(note.terminal_reward.is_some()))
            .sum(),
        events: (notes.iter().zip(after))
            .flat_map(|(note, after)| plain_events(note, after))
            .collect(),
    }
}

/// Returns the event of a step, and that of the end if the world pays it separately.
fn plain_events(note: &StepExplanation, step_count: u32) -> impl Iterator<Item = PlainEvent<'_>> {
    let step = PlainEvent {
        step_count,
        action: &note.action,
        reward: note.reward,
        reason: &note.reason,
        signal_breakdown: note.components.clone(),
    };
    let end = note.terminal_reward.map(|reward| PlainEvent {
        step_count,
        action: "terminal",
        reward,
        reason: "",
        signal_breakdown: Vec::new(),
    });
    std::iter::once(step).chain(end)
}
