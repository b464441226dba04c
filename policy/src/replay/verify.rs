//! Playing a whole replay again, to see whether it fits this build.

use sentinel_env::digest::Digest;
use sentinel_env::num::round_to;
use sentinel_env::rng::Streams;
use serde::ser::Serializer;

use super::{EpisodeKey, Playback, Problem, Replay, play, spoken};
use crate::text::TextWorld;
use crate::{WorldName, in_world};

/// One episode of a replay, played again.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct EpisodeCheck {
    /// World, rules, task, streams and seed.
    #[serde(flatten)]
    pub key: EpisodeKey,
    /// The recomputed score, four decimals.
    pub score: f64,
    /// Actions taken.
    pub actions: u16,
    /// Steps used.
    pub steps: u8,
    /// Actions that were recorded.
    pub hits: usize,
    /// Values of `step_count` for which there was no row.
    pub misses: Vec<u8>,
    /// Rows that were never reached.
    pub unused: usize,
    /// Rows that name another scenario.
    pub mismatches: usize,
    /// Rows whose prompt or completion is not what their episode and action are.
    #[serde(skip_serializing_if = "is_zero")]
    pub texts: usize,
    /// Unused rows, the first row with another scenario, and the first with another text, by line.
    pub findings: Vec<Problem>,
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
    /// The world; left out for the trust world.
    #[serde(skip_serializing_if = "is_default")]
    pub world: WorldName,
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

fn is_default(world: &WorldName) -> bool {
    *world == WorldName::default()
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
pub fn verify_episode(replay: &Replay, key: &EpisodeKey) -> EpisodeCheck {
    in_world!(key.world, W => verify_in::<W>(replay, key))
}

fn verify_in<W: TextWorld>(replay: &Replay, key: &EpisodeKey) -> EpisodeCheck {
    let Some(setup) = key.setup::<W>() else {
        return unplayable(replay, key);
    };
    let played = play::<W>(replay, &setup);
    let Playback { run, source } = &played;
    let episode = run.episode();
    let steps = W::steps_used(W::observation(episode));
    let mut findings: Vec<Problem> = source
        .unused()
        .map(|row| unused(row.line, row.row.step, key, steps))
        .collect();
    let unused = findings.len();
    let scenario = W::scenario_id(episode);
    let mut others = played.mismatches();
    let first = others.next();
    if let Some(row) = first {
        let reason = format!(
            "scenario_id is {:?} but {key} plays {scenario}: recorded with another build, \
             scenario or stream mode",
            clip(&row.row.scenario_id)
        );
        findings.push(Problem {
            line: row.line,
            reason,
        });
    }
    let mut texts = spoken::faults::<W>(source.rows(), &setup).into_iter();
    let text = texts.next();
    let texts = usize::from(text.is_some()) + texts.count();
    findings.extend(text);
    EpisodeCheck {
        key: *key,
        score: round_to(W::score(episode), 4),
        actions: W::actions_taken(episode),
        steps,
        hits: source.hits().len(),
        misses: source.misses().iter().copied().collect(),
        unused,
        mismatches: usize::from(first.is_some()) + others.count(),
        texts,
        findings,
        digest: W::digest(run.fingerprints()),
    }
}

/// A key that was not read from a file may name a task that its world does not have.
fn unplayable(replay: &Replay, key: &EpisodeKey) -> EpisodeCheck {
    let rows = replay.episode(key).into_iter().flat_map(|rows| rows.iter());
    let problem = |row: &super::Row| Problem {
        line: row.line,
        reason: format!("world {} has no such task", key.world.name()),
    };
    let findings: Vec<Problem> = rows.map(problem).collect();
    EpisodeCheck {
        key: *key,
        score: 0.0,
        actions: 0,
        steps: 0,
        hits: 0,
        misses: Vec::new(),
        unused: findings.len(),
        mismatches: 0,
        texts: 0,
        findings,
        digest: Digest::default(),
    }
}

fn unused(line: usize, step: u8, key: &EpisodeKey, used: u8) -> Problem {
    let why = if step >= used {
        format!("the episode has ended after {used} steps")
    } else {
        "no action falls on it".to_owned()
    };
    Problem {
        line,
        reason: format!("step {step} of {key} is never reached: {why}"),
    }
}

fn clip(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Plays all episodes of a replay again.
#[must_use]
pub fn verify(replay: &Replay) -> Verification {
    Verification::of(
        replay
            .episodes()
            .map(|key| verify_episode(replay, key))
            .collect(),
    )
}

impl Verification {
    /// Sums up episodes, which must be in order.
    #[must_use]
    pub fn of(episodes: Vec<EpisodeCheck>) -> Self {
        let mut digest = Digest::default();
        for check in &episodes {
            let key = &check.key;
            digest.bytes(key.world.name().as_bytes());
            if !key.rules.are_reference() {
                digest.bytes(key.rules_text().as_bytes());
            }
            digest.bytes(key.streams.name().as_bytes());
            digest.bytes(key.task_name().as_bytes());
            digest.int(key.seed);
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
    let place = |e: &EpisodeCheck| (e.key.world, e.key.rules, e.key.streams, e.key.task);
    let alike = episodes.chunk_by(|a, b| place(a) == place(b));
    let mean = |alike: &[EpisodeCheck]| {
        let (episodes, score) = mean(alike.iter().map(|e| e.score));
        let key = alike.first()?.key;
        Some(TaskMean {
            world: key.world,
            rules: key.rules_text(),
            streams: key.streams,
            task: key.task_name(),
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
