//! Plays a whole replay again and checks whether it fits this build.

use sentinel_env::digest::Digest;
use sentinel_env::num::round_to;
use sentinel_env::rng::Streams;
use sentinel_env::truncate::truncate_chars;
use serde::ser::Serializer;

use sentinel_env::{EpisodeSpec, WorldName};

use super::fields::QUOTED_MAX;
use super::{Diagnostic, EpisodeId, Recordable, Replay, ReplayedEpisode, play_replay};

/// The result of playing one episode of a replay again.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct EpisodeCheck {
    /// World, rules, task, streams and seed.
    #[serde(flatten)]
    pub id: EpisodeId,
    /// Recomputed score in `[0, 1]`, rounded to four decimals.
    pub score: f64,
    /// Number of actions taken.
    pub actions: usize,
    /// Number of steps of the budget used.
    pub steps: u32,
    /// Number of actions that came from a row.
    pub hits: usize,
    /// Values of `step_count` that had no row.
    pub misses: Vec<u32>,
    /// Number of rows that were never played.
    pub unused: usize,
    /// Number of rows that name another scenario.
    pub mismatches: usize,
    /// Number of rows whose prompt or completion does not match the replayed episode.
    #[serde(skip_serializing_if = "is_zero")]
    pub texts: usize,
    /// Diagnostics with line numbers: every unused row, then the first row with another scenario,
    /// then the first with another text.
    pub findings: Vec<Diagnostic>,
    /// Size and hash of the trajectory.
    #[serde(serialize_with = "as_text")]
    pub digest: Digest,
}

fn as_text<S: Serializer>(digest: &Digest, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(digest)
}

/// The mean score over the episodes that share world, rules, stream mode and task.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct TaskMean {
    /// Name of the world; omitted in JSON for the first world of the registry.
    #[serde(skip_serializing_if = "is_unnamed")]
    pub world: &'static str,
    /// Name of the rules; omitted in JSON for the reference rules.
    #[serde(skip_serializing_if = "is_reference")]
    pub rules: String,
    /// Seeding of the random streams.
    pub streams: Streams,
    /// Name of the task.
    pub task: &'static str,
    /// Number of episodes averaged.
    pub episodes: usize,
    /// Mean score of the episodes, rounded to four decimals.
    pub score: f64,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

fn is_unnamed(world: &&str) -> bool {
    *world == WorldName::DEFAULT.name()
}

fn is_reference(rules: &str) -> bool {
    rules == "reference"
}

/// The result of playing every episode of a replay again.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Verification {
    /// Number of episodes played.
    pub episode_count: usize,
    /// Number of actions that came from a row.
    pub hits: usize,
    /// Number of actions for which there was no row.
    pub misses: usize,
    /// Number of rows that were never played.
    pub unused: usize,
    /// Number of rows that name another scenario.
    pub mismatches: usize,
    /// Number of rows whose prompt or completion does not match the replayed episode.
    #[serde(skip_serializing_if = "is_zero")]
    pub texts: usize,
    /// Mean score over all episodes, rounded to four decimals; 0 if there are none.
    pub score: f64,
    /// Mean scores by world, rules, stream mode and task.
    pub means: Vec<TaskMean>,
    /// Digest over the digests of all episodes, in order.
    #[serde(serialize_with = "as_text")]
    pub digest: Digest,
    /// Result of each episode, in order.
    pub episodes: Vec<EpisodeCheck>,
}

/// Plays one episode of a replay again and compares it with its rows.
#[must_use]
pub fn verify_episode<W: Recordable>(replay: &Replay<W>, origin: &EpisodeSpec<W>) -> EpisodeCheck {
    let (setup, id) = (origin.setup(), EpisodeId::from(*origin));
    let played = play_replay(replay, &setup);
    let ReplayedEpisode { run, source } = &played;
    let episode = run.episode();
    let steps = W::step_count(episode.observation());
    let mut findings: Vec<Diagnostic> = source
        .unused()
        .map(|row| unused(row.line, row.row.step, &id, steps))
        .collect();
    let unused = findings.len();
    let scenario = episode.scenario_id();
    let mut others = played.mismatches();
    let first = others.next();
    if let Some(row) = first {
        let reason = format!(
            "scenario_id is {:?} but {id} plays {scenario}: recorded with another build, \
             scenario or stream mode",
            truncate_chars(&row.row.scenario_id, QUOTED_MAX)
        );
        findings.push(Diagnostic {
            line: row.line,
            reason,
        });
    }
    let mut texts = W::check_transcripts(source.rows(), &setup).into_iter();
    let text = texts.next();
    let texts = usize::from(text.is_some()) + texts.count();
    findings.extend(text);
    EpisodeCheck {
        id,
        score: round_to(episode.score(), 4),
        actions: run.rewards().len(),
        steps,
        hits: source.hits().len(),
        misses: source.misses().iter().copied().collect(),
        unused,
        mismatches: usize::from(first.is_some()) + others.count(),
        texts,
        findings,
        digest: run.digest().digest(),
    }
}

fn unused(line: usize, step: u32, id: &EpisodeId, used: u32) -> Diagnostic {
    let why = if step >= used {
        format!("the episode has ended after {used} steps")
    } else {
        "no action is taken at this step".to_owned()
    };
    Diagnostic {
        line,
        reason: format!("step {step} of {id} is never reached: {why}"),
    }
}

/// Plays every episode of a replay again and compares each with its rows.
#[must_use]
pub fn verify<W: Recordable>(replay: &Replay<W>) -> Verification {
    let checks = replay
        .episodes()
        .map(|origin| verify_episode(replay, origin));
    Verification::from_checks(checks.collect())
}

impl Verification {
    /// Aggregates the results of episodes, which must be sorted so that those of one mean are
    /// adjacent.
    #[must_use]
    pub fn from_checks(episodes: Vec<EpisodeCheck>) -> Self {
        let mut digest = Digest::default();
        for check in &episodes {
            let id = &check.id;
            digest.write_bytes(id.world.as_bytes());
            digest.write_bytes(id.rules.as_bytes());
            digest.write_bytes(id.streams.name().as_bytes());
            digest.write_bytes(id.task.as_bytes());
            digest.write_u64(id.seed);
            digest.write_u64(u64::from(check.digest.size));
            digest.write_u64(check.digest.hash);
        }
        Self {
            episode_count: episodes.len(),
            hits: episodes.iter().map(|e| e.hits).sum(),
            misses: episodes.iter().map(|e| e.misses.len()).sum(),
            unused: episodes.iter().map(|e| e.unused).sum(),
            mismatches: episodes.iter().map(|e| e.mismatches).sum(),
            texts: episodes.iter().map(|e| e.texts).sum(),
            score: mean(episodes.iter().map(|e| e.score)).1,
            means: means(&episodes),
            digest,
            episodes,
        }
    }

    /// Returns `true` if every recorded action was played, no other action was taken, and all
    /// scenarios and texts match.
    #[must_use]
    pub const fn fits(&self) -> bool {
        self.misses == 0 && self.unused == 0 && self.mismatches == 0 && self.texts == 0
    }
}

/// Returns one mean for each run of adjacent episodes that differ in their seed only.
fn means(episodes: &[EpisodeCheck]) -> Vec<TaskMean> {
    let same = |a: &EpisodeId, b: &EpisodeId| {
        (a.world, &a.rules, a.streams, a.task) == (b.world, &b.rules, b.streams, b.task)
    };
    let alike = episodes.chunk_by(|a, b| same(&a.id, &b.id));
    let mean = |alike: &[EpisodeCheck]| {
        let (episodes, score) = mean(alike.iter().map(|e| e.score));
        let id = &alike.first()?.id;
        Some(TaskMean {
            world: id.world,
            rules: id.rules().to_owned(),
            streams: id.streams,
            task: id.task,
            episodes,
            score,
        })
    };
    alike.filter_map(mean).collect()
}

/// Returns the number of values and their mean, rounded to four decimals; a mean of 0 if there are
/// none.
fn mean(values: impl Iterator<Item = f64>) -> (usize, f64) {
    let (count, sum) = values.fold((0, 0.0), |(n, sum), value| (n + 1, sum + value));
    (
        count,
        if count == 0 {
            0.0
        } else {
            round_to(sum / count as f64, 4)
        },
    )
}
