//! Playing a whole replay again, to see whether it fits this build.

use sentinel_env::digest::Digest;
use sentinel_env::num::round_to;
use sentinel_env::rng::Streams;
use sentinel_env::trust::{Session, Task};
use serde::ser::Serializer;

use super::{EpisodeKey, Playback, Problem, Replay, World, play};

/// One episode of a replay, played again.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct EpisodeCheck {
    /// The world.
    pub world: World,
    /// The task.
    pub task: Task,
    /// How the streams are seeded.
    pub streams: Streams,
    /// The seed.
    pub seed: u64,
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
    /// Unused rows and the first row with another scenario, by line.
    pub findings: Vec<Problem>,
    /// Size and hash of the trajectory.
    #[serde(serialize_with = "as_text")]
    pub digest: Digest,
}

fn as_text<S: Serializer>(digest: &Digest, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(digest)
}

/// The mean score over the episodes of one task and stream mode.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct TaskMean {
    /// How the streams are seeded.
    pub streams: Streams,
    /// The task.
    pub task: Task,
    /// How many episodes.
    pub episodes: usize,
    /// Mean of their scores, four decimals.
    pub score: f64,
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
    let played = play(replay, &key.setup());
    let Playback { session, source } = &played;
    let episode = session.episode();
    let mut findings: Vec<Problem> = source
        .unused()
        .map(|row| unused(row.line, row.row.step, key, session))
        .collect();
    let unused = findings.len();
    let scenario = episode.scenario().id();
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
    EpisodeCheck {
        world: key.world,
        task: key.task,
        streams: key.streams,
        seed: key.seed,
        score: round_to(episode.tally().score(), 4),
        actions: episode.tally().actions,
        steps: episode.observation().step_count,
        hits: source.hits().len(),
        misses: source.misses().iter().copied().collect(),
        unused,
        mismatches: usize::from(first.is_some()) + others.count(),
        findings,
        digest: session.fingerprints().digest(),
    }
}

fn unused(line: usize, step: u8, key: &EpisodeKey, session: &Session) -> Problem {
    let used = session.episode().observation().step_count;
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
            digest.bytes(check.world.name().as_bytes());
            digest.bytes(check.streams.name().as_bytes());
            digest.bytes(check.task.name().as_bytes());
            digest.int(check.seed);
            digest.int(u64::from(check.digest.size));
            digest.int(check.digest.hash);
        }
        Self {
            episode_count: episodes.len(),
            hits: episodes.iter().map(|e| e.hits).sum(),
            misses: episodes.iter().map(|e| e.misses.len()).sum(),
            unused: episodes.iter().map(|e| e.unused).sum(),
            mismatches: episodes.iter().map(|e| e.mismatches).sum(),
            score: mean(episodes.iter().map(|e| e.score)).1,
            means: means(&episodes),
            digest,
            episodes,
        }
    }

    /// Whether every recorded action was played and nothing else was.
    #[must_use]
    pub const fn fits(&self) -> bool {
        self.misses == 0 && self.unused == 0 && self.mismatches == 0
    }
}

fn means(episodes: &[EpisodeCheck]) -> Vec<TaskMean> {
    let mut means = Vec::new();
    for streams in [Streams::Reference, Streams::Independent] {
        for task in Task::ALL {
            let of = episodes
                .iter()
                .filter(|e| e.streams == streams && e.task == task);
            let (episodes, score) = mean(of.map(|e| e.score));
            if episodes > 0 {
                means.push(TaskMean {
                    streams,
                    task,
                    episodes,
                    score,
                });
            }
        }
    }
    means
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
