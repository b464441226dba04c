//! Digest lists: one digest per episode, which must be the same on every target.
//!
//! A list is recorded natively (`golden-digests`) and checked natively and in WebAssembly. For a
//! digest that differs, the check finds the first differing step.

use sentinel_env::EpisodeSpec;
use sentinel_env::Named;
use sentinel_env::digest::Digest;
use sentinel_env::polyguard::TaskSpec;
use sentinel_env::rng::Streams;
use sentinel_env::rules::{RuleChange, Rules};
use sentinel_env::{TaskName, World};
use sentinel_env::{WorldName, in_world};
use sentinel_policy::cluster::PolicyName as ClusterPolicy;
use sentinel_policy::rollout::run_episode;
use sentinel_policy::trust::PolicyName;
use sentinel_policy::{Playable, Scripted};
use serde::{Deserialize, Serialize};

use crate::Outcome;

/// Seeds at the limits of the range, in addition to the first ones.
const EDGE_SEEDS: [u64; 4] = [1 << 32, (1 << 53) + 1, sentinel_policy::SEED_MAX, u64::MAX];

/// Number of seeds of the trust world's look-ahead policies, which are slow.
const BAYES_SEEDS: u64 = 8;

/// Number of seeds of a world without a number of its own.
const SEEDS: u64 = 100;

/// Number of seeds of the cluster world, whose episodes are longer.
const CLUSTER_SEEDS: u64 = 10;

/// Number of seeds of the polyguard world, which has 76 tasks.
const POLYGUARD_SEEDS: u64 = 2;

/// Largest number of seeds of a list under other rules than those of the reference.
const HARDENED_SEEDS: u64 = 7;

/// Name of the rules that a list omits.
const REFERENCE: &str = "reference";

/// A recorded list of digests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DigestList {
    /// World that was played; omitted for the trust world.
    #[serde(default, skip_serializing_if = "is_trust")]
    pub world: WorldName,
    /// Name of the rules; omitted for the reference rules.
    #[serde(default = "reference", skip_serializing_if = "is_reference")]
    pub rules: String,
    /// Digests, one per episode.
    pub episodes: Vec<Entry>,
}

fn reference() -> String {
    REFERENCE.to_owned()
}

fn is_trust(world: &WorldName) -> bool {
    *world == WorldName::Trust
}

fn is_reference(rules: &str) -> bool {
    rules == REFERENCE
}

/// The digest of one episode, with the key of the episode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Name of the task.
    pub task: String,
    /// Seed of the episode.
    pub seed: u64,
    /// Name of the policy.
    pub policy: String,
    /// Seeding of the random streams.
    pub streams: String,
    /// Size in bytes and hash of the whole trajectory.
    pub digest: String,
    /// Four hexadecimal digits of the running hash after each step.
    pub trail: String,
}

impl DigestList {
    /// Plays every episode of a world's list under the named rules and records its digest.
    #[must_use]
    pub fn record(world: WorldName, rules: &str) -> Self {
        let mut episodes = Vec::new();
        for streams in streams(world) {
            for (policy, seeds) in policies(world) {
                let seeds = if is_reference(rules) {
                    seeds
                } else {
                    seeds.min(HARDENED_SEEDS)
                };
                for task in tasks(world) {
                    for seed in (0..seeds).chain(EDGE_SEEDS) {
                        episodes.extend(Entry::record(world, rules, task, seed, policy, *streams));
                    }
                }
            }
        }
        Self {
            world,
            rules: rules.to_owned(),
            episodes,
        }
    }
}

/// Returns the rules that lists are recorded under: the reference rules, and the hardened ones if
/// the world has changes to its rules.
#[must_use]
pub fn rule_sets(world: WorldName) -> &'static [&'static str] {
    let changes = in_world!(world, W => <<W as World>::Change as RuleChange>::ALL.len());
    if changes == 0 {
        &[REFERENCE]
    } else {
        &[REFERENCE, "hardened"]
    }
}

fn streams(world: WorldName) -> &'static [Streams] {
    in_world!(world, W => W::STREAMS)
}

/// Returns the tasks of a world's list. For the polyguard world these are the cases of every split
/// and formulary.
fn tasks(world: WorldName) -> Vec<&'static str> {
    fn names<T: TaskName>() -> Vec<&'static str> {
        T::ALL.iter().map(|task| task.name()).collect()
    }
    match world {
        WorldName::Polyguard => (0..100)
            .filter_map(TaskSpec::from_number)
            .map(TaskSpec::name)
            .collect(),
        _ => in_world!(world, W => names::<<W as World>::Task>()),
    }
}

/// Returns the policies of a world's list, each with its number of seeds besides the edge seeds.
fn policies(world: WorldName) -> Vec<(&'static str, u64)> {
    match world.name() {
        "trust" => {
            let seeds = |policy| match policy {
                PolicyName::Bayes | PolicyName::Oracle => BAYES_SEEDS,
                _ => 30,
            };
            let all = PolicyName::ALL.into_iter();
            all.map(|policy| (policy.name(), seeds(policy))).collect()
        }
        "cluster" => {
            let all = ClusterPolicy::ALL
                .into_iter()
                .filter(|policy| !slow(*policy));
            all.map(|policy| (policy.name(), CLUSTER_SEEDS)).collect()
        }
        "polyguard" => ["random", "rules_only", "imitation", "stack", "oracle"]
            .map(|policy| (policy, POLYGUARD_SEEDS))
            .to_vec(),
        _ => in_world!(world, W => vec![(W::ROLES.random, SEEDS), (W::ROLES.heuristic, SEEDS)]),
    }
}

/// Returns `true` if a policy simulates hundreds of episodes to choose one action, which takes
/// minutes in debug builds. It uses only the world and the planner, which the list covers.
fn slow(policy: ClusterPolicy) -> bool {
    matches!(policy, ClusterPolicy::Lookahead | ClusterPolicy::Oracle)
}

/// Plays an episode and returns its digest and trail; `None` if the world has no such task, policy
/// or rules.
fn play<W: Playable>(
    rules: &str,
    task: &str,
    seed: u64,
    policy: &str,
    streams: Streams,
) -> Option<(Digest, String)> {
    let task = W::Task::parse(task)?;
    let setup = EpisodeSpec::<W> {
        task,
        seed,
        streams,
        rules: Rules::parse(rules).ok()?,
    }
    .setup();
    let policy = W::PolicyName::parse(policy)?;
    let run = run_episode::<W>(&setup, &mut policy.start(&setup));
    let prints = run.digest();
    Some((prints.digest(), trail(prints.trail())))
}

impl Entry {
    fn record(
        world: WorldName,
        rules: &str,
        task: &str,
        seed: u64,
        policy: &str,
        streams: Streams,
    ) -> Option<Self> {
        let played = in_world!(world, W => play::<W>(rules, task, seed, policy, streams));
        let (digest, trail) = played?;
        Some(Self {
            task: task.to_owned(),
            seed,
            policy: policy.to_owned(),
            streams: streams.name().to_owned(),
            digest: digest.to_string(),
            trail,
        })
    }

    /// Returns the differences between the recorded digest and that of this build.
    fn differences(&self, world: WorldName, rules: &str) -> Vec<String> {
        let Some(streams) = Streams::parse(&self.streams) else {
            return vec!["unknown streams".to_owned()];
        };
        let ours = Self::record(world, rules, &self.task, self.seed, &self.policy, streams);
        let Some(ours) = ours else {
            return vec!["unknown task, policy or rules".to_owned()];
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
                outcome.row(&place, &entry.differences(list.world, &list.rules));
            }
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_failure_names_first_differing_step() {
        let streams = Streams::Reference;
        let good = Entry::record(
            WorldName::Trust,
            REFERENCE,
            "task1",
            3,
            "heuristic",
            streams,
        );
        let good = good.expect("a known policy");
        let mut bad = good.clone();
        bad.trail.replace_range(8..12, "zzzz");
        bad.digest = "0:0".to_owned();
        let list = DigestList {
            world: WorldName::Trust,
            rules: reference(),
            episodes: vec![good, bad],
        };
        let outcome = check_digests(&serde_json::to_string(&list).expect("serializes"));
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
