//! Players: policies that act in an episode.

use std::any::Any;
use std::sync::{Mutex, MutexGuard};

use pyo3::prelude::*;

use super::{AnyEpisode, EpisodeOf, PyEpisode};
use crate::follower::Follower;
use crate::space_encoding::{PythonWorld, encode};
use crate::spec::{lock, value_error};

/// A player of any world.
pub(super) trait AnyPlayer: Send {
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn choose(&mut self, episode: &dyn AnyEpisode) -> PyResult<(Option<Vec<i64>>, String)>;
    fn probabilities(&self) -> Option<Vec<f64>>;
    fn belief(&self) -> Option<Vec<Vec<f64>>>;
    /// Returns the numbers of actions after which the player has chosen.
    fn choices(&self) -> Vec<usize>;
}

impl<W: PythonWorld> AnyPlayer for Follower<W> {
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn choose(&mut self, episode: &dyn AnyEpisode) -> PyResult<(Option<Vec<i64>>, String)> {
        let episode: &EpisodeOf<W> = episode.as_any().downcast_ref().ok_or_else(other_world)?;
        episode.check_running()?;
        let session = &episode.session;
        let action = Self::choose(self, session.episode().setup(), session.actions())?;
        let values = encode::<W>(action, episode.observation());
        Ok((values, action.to_string()))
    }

    fn probabilities(&self) -> Option<Vec<f64>> {
        self.player().probabilities()
    }

    fn belief(&self) -> Option<Vec<Vec<f64>>> {
        self.player().belief()
    }

    fn choices(&self) -> Vec<usize> {
        Self::choices(self).to_vec()
    }
}

pub(super) fn other_episode() -> PyErr {
    value_error("the player belongs to another episode: make a new one")
}

pub(super) fn other_world() -> PyErr {
    value_error("the player and the episode are of different worlds")
}

/// A policy that plays one episode and remembers its observations.
#[pyclass(module = "sentinel_env._native", name = "Player", frozen)]
pub(crate) struct PyPlayer {
    pub(super) inner: Mutex<Box<dyn AnyPlayer>>,
}

impl PyPlayer {
    pub(super) fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Box<dyn AnyPlayer>> {
        lock(&self.inner, py)
    }
}

#[pymethods]
impl PyPlayer {
    /// Chooses an action for the current observation of the episode. Returns its numbers, `None` if
    /// it leaves out what numbers must name, and its text.
    fn act(&self, py: Python<'_>, episode: &PyEpisode) -> PyResult<(Option<Vec<i64>>, String)> {
        // The episode is always locked before its player, so that two threads cannot wait for each other.
        let (mut episode, mut player) = (episode.lock(py), self.lock(py));
        let (episode, player) = (episode.as_mut(), player.as_mut());
        py.detach(|| player.choose(episode))
    }

    /// Returns the probability of each kind of action at the latest choice, if the policy is a
    /// distribution.
    fn probabilities(&self, py: Python<'_>) -> Option<Vec<f64>> {
        self.lock(py).probabilities()
    }

    /// Returns the posterior over the hidden variables at the latest choice, if the policy has one.
    fn belief(&self, py: Python<'_>) -> Option<Vec<Vec<f64>>> {
        self.lock(py).belief()
    }

    /// Returns the numbers of actions after which the player has chosen, for a copy of it.
    fn choices(&self, py: Python<'_>) -> Vec<usize> {
        self.lock(py).choices()
    }
}
