//! Playing a whole replay again, to see whether it fits this build.

use sentinel_env::digest::Digest;
use sentinel_env::num::round_to;
use sentinel_env::rng::Streams;
use sentinel_env::text::clip;
use serde::ser::Serializer;

use sentinel_env::{Origin, WorldName};

use super::fields::QUOTED_MAX;
use super::{Diagnostic, EpisodeId, Playback, Recordable, Replay, play};

/// One episode of a replay, played again.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct EpisodeCheck {
    /// World, rules, task, streams and seed.
    #[serde(flatten)]
    pub id: EpisodeId,
    /// The recomputed score, four decimals.
    pub score: f64,
    /// Actions taken.
    pub actions: usize,
    /// Steps used.
    pub steps: u32,
    /// Actions that were recorded.
    pub hits: usize,
    /// Values of `step_count` for which there was no row.
    pub misses: Vec<u32>,
    /// Rows that were never reached.
    pub unused: usize,
    /// Rows that name another scenario.
    pub mismatches: usize,
    /// Rows whose prompt or completion is not what their episode and action are.
    #[serde(skip_serializing_if = "is_zero")]
    pub texts: usize,
    /// Unused rows, the first row with another scenario, and the first with another text, by line.
    pub findings: Vec<Diagnostic>,
    /// Size and hash of the trajectory.
    #[serde(serialize_with = "as_text")]
    pub digest: Digest,
}

fn as_text<S: Serializer>(digest: &Digest, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(digest)
}

/// The mean score over the episodes of one task, played one way.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct TaskMean {
    /// The world; left out for the first world of the registry.
    #[serde(skip_serializing_if = "is_unnamed")]
    pub world: &'static str,
    /// The rules; left out for the reference's.
    #[serde(skip_serializing_if = "is_reference")]
    pub rules: String,
    /// How the streams are seeded.
    pub streams: Streams,
    /// The task.
    pub task: &'static str,
    /// How many episodes.
    pub episodes: usize,
    /// Mean of their scores, four decimals.
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
    *world == WorldName::UNNAMED.name()
}

fn is_reference(rules: &str) -> bool {
    rules == "reference"
}

/// All episodes of a replay, played again.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Verification {
    /// How many.
    pub episode_count: usize,
    /// Actions that were recorded.
    pub hits: usize,
    /// Actions for which there was no row.
    pub misses: usize,
    /// Rows that were never reached.
    pub unused: usize,
    /// Rows that name another scenario.
    pub mismatches: usize,
    /// Rows whose prompt or completion is not what their episode and action are.
    #[serde(skip_serializing_if = "is_zero")]
    pub texts: usize,
    /// Mean score over all episodes, four decimals; 0 without any.
    pub score: f64,
    /// The same by stream mode and task.
    pub means: Vec<TaskMean>,
    /// Digest over the digests of all episodes, in order.
    #[serde(serialize_with = "as_text")]
    pub digest: Digest,
    /// Each episode, in order.
    pub episodes: Vec<EpisodeCheck>,
}

/// Plays one episode of a replay again.
#[must_use]
pub fn verify_episode<W: Recordable>(replay: &Replay<W>, origin: &Origin<W>) -> EpisodeCheck {
    let (setup, id) = (origin.setup(), EpisodeId::from(*origin));
    let played = play(replay, &setup);
    let Playback { run, source } = &played;
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
            clip(&row.row.scenario_id, QUOTED_MAX)
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
        "no action falls on it".to_owned()
    };
    Diagnostic {
        line,
        reason: format!("step {step} of {id} is never reached: {why}"),
    }
}

/// Plays all episodes of a replay again.
#[must_use]
pub fn verify<W: Recordable>(replay: &Replay<W>) -> Verification {
    let checks = replay
        .episodes()
        .map(|origin| verify_episode(replay, origin));
    Verification::from_checks(checks.collect())
}

impl Verification {
    /// Sums up episodes, which must be in order.
    #[must_use]
    pub fn from_checks(episodes: Vec<EpisodeCheck>) -> Self {
        let mut digest = Digest::default();
        for check in &episodes {
            let id = &check.id;
            digest.bytes(id.world.as_bytes());
            digest.bytes(id.rules.as_bytes());
            digest.bytes(id.streams.name().as_bytes());
            digest.bytes(id.task.as_bytes());
            digest.int(id.seed);
            digest.int(u64::from(check.digest.size));
            digest.int(check.digest.hash);
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

    /// Whether every recorded action was played and nothing else was.
    #[must_use]
    pub const fn fits(&self) -> bool {
        self.misses == 0 && self.unused == 0 && self.mismatches == 0 && self.texts == 0
    }
}

/// One mean for each run of episodes that differ in their seed alone; they come in order.
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

/// How many values, and their mean as the evaluation rounds it.
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
