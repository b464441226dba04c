//! One digest per episode, the same on every target.
//!
//! A list is recorded natively (`golden-digests`) and checked natively and in wasm. A digest that
//! differs is followed to the first step that does.

use sentinel_env::cluster;
use sentinel_env::digest::Digest;
use sentinel_env::rng::Streams;
use sentinel_env::trust::{Setup, Task};
use sentinel_policy::cluster::PolicyName as ClusterPolicy;
use sentinel_policy::{PolicyName, run_episode};
use serde::{Deserialize, Serialize};

use crate::Outcome;

/// Seeds at the edges of what a seed can be, besides the first thirty.
const EDGE_SEEDS: [u64; 4] = [1 << 32, (1 << 53) + 1, sentinel_policy::SEED_MAX, u64::MAX];

/// Seeds that the look-ahead policy plays: it is slower than the others.
const BAYES_SEEDS: u64 = 8;

/// Seeds of the cluster world, whose episodes are longer.
const CLUSTER_SEEDS: u64 = 10;

/// The world of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum World {
    /// The trust world; its list does not say so.
    #[default]
    Trust,
    /// The cluster world.
    Cluster,
}

impl World {
    fn is_trust(&self) -> bool {
        *self == Self::Trust
    }
}

/// The recorded list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DigestList {
    /// Which world was played.
    #[serde(default, skip_serializing_if = "World::is_trust")]
    pub world: World,
    /// One per episode.
    pub episodes: Vec<Entry>,
}

/// The digest of one episode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// `task1`..`task3`.
    pub task: String,
    /// The seed.
    pub seed: u64,
    /// Who plays.
    pub policy: String,
    /// How the streams are seeded.
    pub streams: String,
    /// Bytes and hash of the whole trajectory.
    pub digest: String,
    /// Four hexadecimal digits of the running hash after each step.
    pub trail: String,
}

impl DigestList {
    /// Plays every episode of a world's list.
    #[must_use]
    pub fn record(world: World) -> Self {
        let mut episodes = Vec::new();
        for streams in [Streams::Reference, Streams::Independent] {
            for (policy, seeds) in policies(world) {
                for task in Task::ALL {
                    for seed in (0..seeds).chain(EDGE_SEEDS) {
                        episodes.extend(Entry::record(world, task, seed, policy, streams));
                    }
                }
            }
        }
        Self { world, episodes }
    }
}

/// Who plays in a world's list, and how many seeds besides the edges.
fn policies(world: World) -> Vec<(&'static str, u64)> {
    let seeds = |policy| match policy {
        PolicyName::Bayes => BAYES_SEEDS,
        _ => 30,
    };
    match world {
        World::Trust => {
            let all = PolicyName::ALL.into_iter();
            all.map(|policy| (policy.name(), seeds(policy))).collect()
        }
        World::Cluster => {
            let all = ClusterPolicy::ALL.into_iter();
            all.map(|policy| (policy.name(), CLUSTER_SEEDS)).collect()
        }
    }
}

impl Entry {
    /// Plays an episode; `None` when the world has no such policy.
    fn record(world: World, task: Task, seed: u64, policy: &str, streams: Streams) -> Option<Self> {
        let (digest, trail) = match world {
            World::Trust => trust(task, seed, PolicyName::parse(policy)?, streams),
            World::Cluster => cluster(task, seed, ClusterPolicy::parse(policy)?, streams),
        };
        Some(Self {
            task: task.name().to_owned(),
            seed,
            policy: policy.to_owned(),
            streams: streams.name().to_owned(),
            digest: digest.to_string(),
            trail,
        })
    }

    /// What is different when the episode is played here.
    fn differences(&self, world: World) -> Vec<String> {
        let known = (Task::parse(&self.task), Streams::parse(&self.streams));
        let (Some(task), Some(streams)) = known else {
            return vec!["unknown task or streams".to_owned()];
        };
        let Some(ours) = Self::record(world, task, self.seed, &self.policy, streams) else {
            return vec!["unknown policy".to_owned()];
        };
        if ours == *self {
            return Vec::new();
        }
        let pairs = self
            .trail
            .as_bytes()
            .chunks(4)
            .zip(ours.trail.as_bytes().chunks(4));
        let first = pairs.take_while(|(theirs, ours)| theirs == ours).count() + 1;
        vec![format!(
            "expected {}, got {}; first differing step {first}",
            self.digest, ours.digest
        )]
    }
}

fn trust(task: Task, seed: u64, policy: PolicyName, streams: Streams) -> (Digest, String) {
    let setup = Setup::new(task, seed, streams);
    let session = run_episode(&setup, &mut policy.player(seed, streams));
    let prints = session.fingerprints();
    (prints.digest(), trail(prints.trail()))
}

fn cluster(task: Task, seed: u64, policy: ClusterPolicy, streams: Streams) -> (Digest, String) {
    let setup = cluster::Setup::new(task, seed, streams);
    let run = run_episode(&setup, &mut policy.player(seed, streams));
    let prints = run.fingerprints();
    (prints.digest(), trail(prints.trail()))
}

fn trail(marks: &[u32]) -> String {
    let marks = marks.iter();
    marks.map(|hash| format!("{:04x}", hash & 0xffff)).collect()
}

/// Plays every episode of a recorded list (JSON) and compares digests. A failure names task, seed,
/// policy, streams and the first differing step.
#[must_use]
pub fn check_digests(text: &str) -> Outcome {
    let mut outcome = Outcome::default();
    match serde_json::from_str::<DigestList>(text) {
        Err(error) => outcome.row("digests", &[format!("not a digest list: {error}")]),
        Ok(list) => {
            for entry in &list.episodes {
                let Entry {
                    task,
                    seed,
                    policy,
                    streams,
                    ..
                } = entry;
                let place = format!("{task} seed {seed} {policy} ({streams} streams)");
                outcome.row(&place, &entry.differences(list.world));
            }
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_first_differing_step() {
        let streams = Streams::Reference;
        let good = Entry::record(World::Trust, Task::Task1, 3, "heuristic", streams);
        let good = good.expect("a known policy");
        let mut bad = good.clone();
        bad.trail.replace_range(8..12, "zzzz");
        bad.digest = "0:0".to_owned();
        let list = DigestList {
            world: World::Trust,
            episodes: vec![good, bad],
        };
        let outcome = check_digests(&serde_json::to_string(&list).expect("serialises"));
        assert_eq!((outcome.checked, outcome.failed), (2, 1));
        let message = &outcome.messages[0];
        for part in [
            "task1",
            "seed 3",
            "heuristic",
            "reference",
            "first differing step 3",
        ] {
            assert!(message.contains(part), "{message}");
        }
    }
}
