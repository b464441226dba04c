//! One digest per episode, the same on every target.
//!
//! A list is recorded natively (`golden-digests`) and checked natively and in wasm. A digest that
//! differs is followed to the first step that does.

use sentinel_env::rng::Streams;
use sentinel_env::trust::{Session, Setup, Task};
use sentinel_policy::{PolicyName, run_episode};
use serde::{Deserialize, Serialize};

use crate::Outcome;

/// Seeds at the edges of what a seed can be, besides the first thirty.
const EDGE_SEEDS: [u64; 4] = [1 << 32, (1 << 53) + 1, sentinel_policy::SEED_MAX, u64::MAX];

/// Seeds that the look-ahead policy plays: it is slower than the others.
const BAYES_SEEDS: u64 = 8;

/// The recorded list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DigestList {
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
    /// Plays every episode of the list.
    #[must_use]
    pub fn record() -> Self {
        let mut episodes = Vec::new();
        for streams in [Streams::Reference, Streams::Independent] {
            for policy in PolicyName::ALL {
                for task in Task::ALL {
                    let seeds = if policy == PolicyName::Bayes {
                        BAYES_SEEDS
                    } else {
                        30
                    };
                    for seed in (0..seeds).chain(EDGE_SEEDS) {
                        episodes.push(Entry::record(task, seed, policy, streams));
                    }
                }
            }
        }
        Self { episodes }
    }
}

impl Entry {
    fn record(task: Task, seed: u64, policy: PolicyName, streams: Streams) -> Self {
        let setup = Setup::new(task, seed, streams);
        let session = run_episode(&setup, &mut policy.player(seed, streams));
        Self {
            task: task.name().to_owned(),
            seed,
            policy: policy.name().to_owned(),
            streams: streams.name().to_owned(),
            digest: session.fingerprints().digest().to_string(),
            trail: trail(&session),
        }
    }

    /// What is different when the episode is played here.
    fn differences(&self) -> Vec<String> {
        let known = (
            Task::parse(&self.task),
            PolicyName::parse(&self.policy),
            Streams::parse(&self.streams),
        );
        let (Some(task), Some(policy), Some(streams)) = known else {
            return vec!["unknown task, policy or streams".to_owned()];
        };
        let ours = Self::record(task, self.seed, policy, streams);
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

fn trail(session: &Session) -> String {
    session
        .fingerprints()
        .trail()
        .iter()
        .map(|hash| format!("{:04x}", hash & 0xffff))
        .collect()
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
                outcome.row(&place, &entry.differences());
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
        let good = Entry::record(Task::Task1, 3, PolicyName::Heuristic, Streams::Reference);
        let mut bad = good.clone();
        bad.trail.replace_range(8..12, "zzzz");
        bad.digest = "0:0".to_owned();
        let list = DigestList {
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
