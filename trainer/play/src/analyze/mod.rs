//! `sentinel analyze`: the expected final score of each action along the episodes of a replay
//! (`docs/reference/analysis.md`).

mod output;
mod policy_source;

pub use output::{EpisodeAnalysis, FORMAT, ReplayAnalysis, StepAnalysis, check_out};
pub use policy_source::{Analyzed, PolicySource};

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use sentinel_base::arg_parsers::parse_fraction;
use sentinel_base::provenance::Provenance;
use sentinel_base::{Error, SeedRange, arg_parsers, files};
use sentinel_env::{EpisodeSpec, TaskName as _, WorldName, in_world};
use sentinel_policy::SEED_MAX;
use sentinel_policy::analysis::{
    Analysis, AnalysisConfig, DEFAULT_ROLLOUTS, EpisodeReport, Progress, StateSource, StepReport,
    Trajectory,
};
use sentinel_policy::policy::Policy as _;
use sentinel_policy::replay::{EpisodeId, Replay, ReplayEpisode, ReplayFile};
use serde_json::{Map, Value};

use crate::error::PlayError;
use crate::eval::Evaluated;

/// The largest number of rollouts of each action, so that a typing error does not run for days.
const ROLLOUTS_MAX: u32 = 100_000;

/// The configuration of `sentinel analyze`.
#[derive(Clone, Debug, clap::Args)]
pub struct AnalyzeConfig {
    /// The replay whose episodes are analyzed
    #[arg(value_name = "REPLAY")]
    pub replay: PathBuf,
    /// Write the analysis as JSON lines
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// The policy that plays on after the action that is judged: trained, or a scripted policy that
    /// sees observations only
    #[arg(long, value_name = "NAME", default_value = "trained")]
    pub policy: String,
    /// The folder of the model that plays as policy `trained` [default: the committed one of the
    /// world for the episode's rules, such as replays/grpo]
    #[arg(long, value_name = "DIR")]
    pub model: Option<PathBuf>,
    /// Rollouts of each action, in sampled hidden states and again in the true one
    #[arg(long, value_name = "N", default_value_t = DEFAULT_ROLLOUTS,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(ROLLOUTS_MAX)))]
    pub rollouts: u32,
    /// Seed of the sampled states and of the future draws
    #[arg(long, value_name = "N", default_value_t = 0,
        value_parser = clap::value_parser!(u64).range(0..=SEED_MAX))]
    pub seed: u64,
    /// Loss of score that makes a step a mistake, if the lower end of its interval exceeds it
    #[arg(long, value_name = "LOSS", default_value_t = AnalysisConfig::default().margin,
        value_parser = parse_fraction)]
    pub margin: f64,
    /// Leave out the comparison in the true hidden state
    #[arg(long)]
    pub belief_only: bool,
    /// Only episodes of this world
    #[arg(long, value_name = "WORLD", value_parser = arg_parsers::world_parser())]
    pub world: Option<WorldName>,
    /// Only episodes of these tasks, separated by commas
    #[arg(long, value_name = "TASKS")]
    pub task: Option<String>,
    /// Only episodes with these seeds: A..B without B, or A..=B with B
    #[arg(long, value_name = "A..B", allow_hyphen_values = true)]
    pub seeds: Option<SeedRange>,
    /// Only the first N of these episodes, in the order of rules, streams, task and seed
    #[arg(long, value_name = "N")]
    pub episodes: Option<usize>,
}

impl AnalyzeConfig {
    fn analysis(&self) -> AnalysisConfig {
        AnalysisConfig {
            rollouts: self.rollouts,
            seed: self.seed,
            margin: self.margin,
            hindsight: !self.belief_only,
            share: (0, 1),
        }
    }

    fn selects<W: Evaluated>(&self, origin: &EpisodeSpec<W>) -> bool {
        let is_named = |tasks: &str| {
            tasks
                .split(',')
                .any(|name| name.trim() == origin.task.name())
        };
        self.task.as_deref().is_none_or(is_named)
            && (self.seeds).is_none_or(|seeds| seeds.range().contains(&origin.seed))
    }
}

/// A message of an analysis that is running.
#[derive(Debug)]
pub enum Event<'a> {
    /// Rollouts of the current episode were done.
    Rollouts {
        /// Number of episodes that are complete.
        episode: usize,
        /// Number of all episodes.
        episodes: usize,
        /// The rollouts of the current episode.
        progress: Progress,
    },
    /// An episode is complete, or was stopped.
    Episode(&'a EpisodeAnalysis),
    /// Something about the replay that the results depend on.
    Warning(String),
}

/// Analyzes the episodes of a replay, on all cores. Once `stop` is set, returns what was done.
///
/// # Errors
/// Returns an error if the replay or the model cannot be read, no episode is selected, or a row
/// holds an action that its episode refuses.
pub fn analyze(
    config: &AnalyzeConfig,
    stop: &AtomicBool,
    report: &(dyn Fn(&Event<'_>) + Sync),
) -> Result<ReplayAnalysis, Error> {
    let file = files::read_replay(&config.replay)?;
    if file.row_count() == 0 && file.problem_count() == 0 {
        return Err(PlayError::NoRows(config.replay.clone()).into());
    }
    let mut provenance = Provenance::from_replays(file.worlds());
    provenance.add_file("replay", &config.replay)?;
    let worlds: Vec<WorldName> = WorldName::ALL
        .iter()
        .copied()
        .filter(|world| config.world.is_none_or(|only| only == *world))
        .filter(|world| in_world!(*world, W => holds::<W>(&file, config)))
        .collect();
    let mut done = ReplayAnalysis {
        episodes: Vec::new(),
        interrupted: false,
        problems: file.problems().to_vec(),
        problem_count: file.problem_count(),
        provenance,
    };
    if worlds.is_empty() && file.row_count() > 0 {
        let held = describe(&file);
        let reason = format!(
            "no episode of {} is selected: it holds {held}",
            config.replay.display()
        );
        return Err(Error::argument("--world, --task or --seeds", reason));
    }
    for world in worlds {
        in_world!(world, W => analyze_world::<W>(&file, config, stop, report, &mut done))?;
    }
    Ok(done)
}

fn selected<W: Analyzed>(replay: &Replay<W>, config: &AnalyzeConfig) -> Vec<EpisodeSpec<W>> {
    let each = replay.episodes().copied();
    each.filter(|origin| config.selects(origin)).collect()
}

fn holds<W: Analyzed>(file: &ReplayFile, config: &AnalyzeConfig) -> bool {
    file.replay::<W>()
        .is_some_and(|replay| !selected(replay, config).is_empty())
}

/// Returns the first episodes of a file, in words.
fn describe(file: &ReplayFile) -> String {
    let mut names: Vec<String> = Vec::new();
    for world in WorldName::ALL {
        in_world!(*world, W => {
            let origins = file.replay::<W>().into_iter().flat_map(Replay::episodes);
            names.extend(origins.map(|origin| EpisodeId::from(*origin).to_string()));
        });
    }
    let more = if names.len() > 3 { " and others" } else { "" };
    names.truncate(3);
    names.join(", ") + more
}

fn analyze_world<W: Analyzed>(
    file: &ReplayFile,
    config: &AnalyzeConfig,
    stop: &AtomicBool,
    report: &(dyn Fn(&Event<'_>) + Sync),
    done: &mut ReplayAnalysis,
) -> Result<(), Error> {
    let Some(replay) = file.replay::<W>() else {
        return Ok(());
    };
    let mut origins = selected(replay, config);
    let left = config
        .episodes
        .map(|most| most.saturating_sub(done.episodes.len()));
    origins.truncate(left.unwrap_or(usize::MAX));
    if origins.is_empty() {
        return Ok(());
    }
    let policies = policies(&origins, config, &mut done.provenance)?;
    for (number, (origin, policy)) in origins.iter().zip(&policies).enumerate() {
        if stop.load(Ordering::Relaxed) {
            done.interrupted = true;
            break;
        }
        let played = Played::new(replay, origin, &config.replay)?;
        for warning in played.warnings() {
            report(&Event::Warning(warning));
        }
        let progress = |progress| {
            report(&Event::Rollouts {
                episode: number,
                episodes: origins.len(),
                progress,
            });
        };
        let (found, rollouts) = analyze_episode(&played, policy, config, stop, &progress);
        let analyzed = played.describe(found, rollouts);
        done.interrupted |= !analyzed.complete;
        report(&Event::Episode(&analyzed));
        done.episodes.push(analyzed);
    }
    Ok(())
}

/// Returns the policy that plays on in each episode. A committed model follows the episode's rules.
fn policies<W: Analyzed>(
    origins: &[EpisodeSpec<W>],
    config: &AnalyzeConfig,
    provenance: &mut Provenance,
) -> Result<Vec<PolicySource<W>>, Error> {
    let mut loaded: [Option<PolicySource<W>>; 2] = [None, None];
    let mut policy = |origin: &EpisodeSpec<W>| {
        let place = &mut loaded[W::model_index(origin.rules)];
        if let Some(policy) = place {
            return Ok(policy.clone());
        }
        let (model, options) = (config.model.as_deref(), ["--policy", "--model"]);
        let found = PolicySource::load(&config.policy, model, origin.rules, options, provenance)?;
        Ok(place.insert(found).clone())
    };
    origins.iter().map(&mut policy).collect()
}

/// An episode of a replay that was played again.
struct Played<W: Analyzed> {
    id: EpisodeId,
    file: PathBuf,
    trajectory: Trajectory<W>,
    source: ReplayEpisode<W>,
}

impl<W: Analyzed> Played<W> {
    fn new(replay: &Replay<W>, origin: &EpisodeSpec<W>, file: &Path) -> Result<Self, Error> {
        let mut source = ReplayEpisode::new(replay, origin);
        let start = W::reset(&origin.setup());
        let (mut episode, mut actions) = (start.clone(), Vec::new());
        while !W::is_done(episode.observation()) {
            let observation = episode.observation();
            let step = W::step_count(observation);
            let action = source.choose(observation);
            episode.step(action).map_err(|error| Error::Line {
                file: file.display().to_string(),
                line: source.rows().get(step).map_or(0, |row| row.line),
                reason: format!("{error}: correct the action, or remove the line"),
            })?;
            actions.push(action);
        }
        let trajectory = Trajectory::new(start, actions).map_err(|(_, error)| Error::Line {
            file: file.display().to_string(),
            line: 0,
            reason: error.to_string(),
        })?;
        Ok(Self {
            id: (*origin).into(),
            file: file.to_owned(),
            trajectory,
            source,
        })
    }

    fn mismatches(&self) -> usize {
        let scenario = self.trajectory.states()[0].scenario_id();
        self.source.mismatches(scenario).count()
    }

    /// Returns what makes the played episode differ from the recorded one.
    fn warnings(&self) -> Vec<String> {
        let counts = [
            (
                self.source.misses().len(),
                "steps have no row: the replay's fallback acted there",
            ),
            (self.source.unused().count(), "rows are never reached"),
            (
                self.mismatches(),
                "rows name another scenario: recorded with another build or stream mode",
            ),
        ];
        let found = counts.into_iter().filter(|(count, _)| *count > 0);
        let text = |(count, what)| format!("{}: {}: {count} {what}", self.file.display(), self.id);
        found.map(text).collect()
    }

    fn describe(&self, report: EpisodeReport<W::Action>, rollouts: Progress) -> EpisodeAnalysis {
        let steps = report
            .steps
            .into_iter()
            .map(|step| self.describe_step(step))
            .collect();
        EpisodeAnalysis {
            id: self.id.clone(),
            research_only: W::RESEARCH_ONLY,
            score: report.score,
            complete: rollouts.is_complete(),
            rollouts_done: rollouts.done,
            accuracy: report.accuracy,
            mean_loss: report.mean_loss,
            lost: report.lost,
            expected: report.expected,
            decisions: report.decisions,
            luck: report.luck,
            mistakes: report.mistakes,
            misses: self.source.misses().len(),
            fallbacks: self.source.fallbacks(),
            mismatches: self.mismatches(),
            steps,
        }
    }

    fn describe_step(&self, step: StepReport<W::Action>) -> StepAnalysis {
        let row = self.source.rows().get(step.step_count);
        let written = |action: &W::Action| {
            let keys = W::write_action(*action).into_iter();
            let mut map: Map<String, Value> =
                keys.map(|(key, value)| (key.to_owned(), value)).collect();
            map.insert("text".to_owned(), Value::String(action.to_string()));
            map
        };
        StepAnalysis {
            index: step.index,
            step: step.step_count,
            line: row.map(|row| row.line),
            model_source: row.map(|row| row.row.model_source.clone()),
            actions: step.actions.iter().map(written).collect(),
            chosen: step.chosen,
            policy: step.policy,
            belief: step.belief,
            hindsight: step.hindsight,
        }
    }
}

/// Analyzes one episode: each core takes an equal part of its steps.
fn analyze_episode<W: Analyzed>(
    played: &Played<W>,
    policy: &PolicySource<W>,
    config: &AnalyzeConfig,
    stop: &AtomicBool,
    report: &(dyn Fn(Progress) + Sync),
) -> (EpisodeReport<W::Action>, Progress) {
    /// Number of rollouts between two reports of progress.
    const REPORT_EVERY: u64 = 256;
    let trajectory = &played.trajectory;
    let parts = rayon::current_num_threads().clamp(1, trajectory.actions().len().max(1));
    let all_done = AtomicU64::new(0);
    let part = |part: usize| {
        let share = (part, parts);
        let config = AnalysisConfig {
            share,
            ..config.analysis()
        };
        let policy = policy.start(trajectory.states()[0].setup());
        let mut analysis = Analysis::new(trajectory, policy.as_ref(), config);
        let total = analysis.progress().total;
        while !stop.load(Ordering::Relaxed) && analysis.advance() {
            let done = all_done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(REPORT_EVERY) {
                report(Progress { done, total });
            }
        }
        analysis
    };
    let received = Mutex::new(Vec::new());
    let mut first = rayon::in_place_scope(|scope| {
        for number in 1..parts {
            let (part, received) = (&part, &received);
            scope.spawn(move |_| {
                let other = part(number);
                let found = StateSource::ALL
                    .into_iter()
                    .flat_map(|source| other.estimates(source));
                received
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .extend(found);
            });
        }
        part(0)
    });
    for step in received
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
    {
        first.receive(step);
    }
    (first.report(), first.progress())
}
