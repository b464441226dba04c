//! A step as the page keeps it: what the environment says of it, with what stood there before.

use sentinel_env::Environment;
use sentinel_env::TrajectoryDigest;
use std::sync::Arc;

use sentinel_env::polyguard::{Act, Episode, Observation, Step};

use super::pick::Pick;

/// An episode with the digest of its trajectory.
pub struct Session {
    episode: Episode,
    trajectory: TrajectoryDigest,
}

/// A step, and the observation that it answered.
#[derive(Clone, Debug)]
pub struct Turn {
    /// What the environment says of it.
    pub step: Step,
    /// What was answered.
    pub pick: Pick,
    /// What could be seen then.
    pub before: Arc<Observation>,
    /// Risk that could be seen before and after.
    pub seen: [f64; 2],
}

impl Session {
    pub(super) fn new(episode: Episode) -> Self {
        Self {
            episode,
            trajectory: TrajectoryDigest::default(),
        }
    }

    pub(super) const fn episode(&self) -> &Episode {
        &self.episode
    }

    pub(super) fn digest(&self) -> String {
        self.trajectory.digest().to_string()
    }

    /// Takes an answer.
    pub(super) fn act(&mut self, pick: Pick) -> Result<Turn, String> {
        let before = Arc::new(self.episode.observation().clone());
        let step = self.episode.step(pick.action(&before));
        let step = step.map_err(|e| e.to_string())?.info;
        self.trajectory.push(&self.episode, &step);
        Ok(Turn {
            step,
            pick,
            seen: [before.risk, self.episode.observation().risk],
            before,
        })
    }
}

impl Turn {
    /// What was carried out; nothing where the answer was refused.
    #[must_use]
    pub fn done(&self) -> Option<Act> {
        let honest = self.step.violation.is_none() && self.step.exploit.is_none();
        self.step.act.filter(|_| honest)
    }
}
