//! A player that follows an episode which others may also act in.

use pyo3::prelude::*;
use sentinel_policy::Player;

use crate::policy::PyPolicy;
use crate::space_encoding::PythonWorld;
use crate::spec::{ended, value_error};

/// A player with the observations that it has seen. Each observation is shown to it once, in order,
/// whoever acted.
pub(crate) struct Follower<W: PythonWorld> {
    player: Player<W>,
    setup: W::Setup,
    /// The episode after `seen` actions.
    past: W,
    seen: usize,
    /// The latest choice, with the number of actions before it.
    chosen: Option<(usize, W::Action)>,
    /// The numbers of actions before all choices.
    choices: Vec<usize>,
}

impl<W: PythonWorld> Follower<W> {
    /// Starts a player of `policy` at the beginning of an episode.
    pub(crate) fn new(policy: &PyPolicy, setup: &W::Setup) -> PyResult<Self> {
        Ok(Self {
            player: policy.of::<W>()?.start(setup),
            setup: *setup,
            past: W::reset(setup),
            seen: 0,
            chosen: None,
            choices: Vec::new(),
        })
    }

    /// Returns the player.
    pub(crate) const fn player(&self) -> &Player<W> {
        &self.player
    }

    /// Returns the numbers of actions after which the player has chosen. The same choices give another
    /// player the same state.
    pub(crate) fn choices(&self) -> &[usize] {
        &self.choices
    }

    /// Chooses the next action of the episode `setup` after `actions`. The same choice is returned
    /// until another action is added.
    pub(crate) fn choose(
        &mut self,
        setup: &W::Setup,
        actions: &[W::Action],
    ) -> PyResult<W::Action> {
        let now = actions.len();
        if self.setup != *setup || self.seen > now {
            return Err(value_error(
                "the player belongs to another episode: make a new one",
            ));
        }
        if let Some((at, action)) = self.chosen
            && at == now
        {
            return Ok(action);
        }
        for (at, action) in actions.iter().enumerate().skip(self.seen) {
            // The observation of the latest choice was seen then.
            if self.chosen.is_none_or(|(chosen, _)| chosen != at) {
                self.player.observe(&self.past);
            }
            self.past.step(*action).map_err(value_error)?;
        }
        self.seen = now;
        let action = self.player.act(&self.past).ok_or_else(ended)?;
        self.chosen = Some((now, action));
        self.choices.push(now);
        Ok(action)
    }
}
