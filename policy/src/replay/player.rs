//! Playing recorded episodes again.

use std::collections::BTreeSet;
use std::sync::Arc;

use sentinel_env::EpisodeSpec;

use super::{EpisodeRows, LocatedRow, Recordable, Replay, ReplayRow};
use crate::policy::Policy;
use crate::rollout::{EpisodeRun, run_with_choices};

/// A policy that plays the recorded actions of one episode.
///
/// At a step without a row, [`Recordable::fallback`] chooses the action, as in the reference.
/// Unlike the reference, it counts these steps, see [`ReplayEpisode::misses`].
#[derive(Clone, Debug)]
pub struct ReplayEpisode<W: Recordable> {
    rows: Arc<EpisodeRows<W>>,
    current: Option<u32>,
    hits: BTreeSet<u32>,
    misses: BTreeSet<u32>,
}

impl<W: Recordable> ReplayEpisode<W> {
    /// Creates the policy for the episode `origin` of a replay. If the replay does not have the
    /// episode, every step is a miss.
    #[must_use]
    pub fn new(replay: &Replay<W>, origin: &EpisodeSpec<W>) -> Self {
        Self {
            rows: replay.episode(origin).cloned().unwrap_or_default(),
            current: None,
            hits: BTreeSet::new(),
            misses: BTreeSet::new(),
        }
    }

    /// Returns the rows of the episode.
    #[must_use]
    pub fn rows(&self) -> &EpisodeRows<W> {
        &self.rows
    }

    /// Returns the values of `step_count` at which a recorded action was played.
    #[must_use]
    pub const fn hits(&self) -> &BTreeSet<u32> {
        &self.hits
    }

    /// Returns the values of `step_count` that had no row, so that [`Recordable::fallback`] chose.
    #[must_use]
    pub const fn misses(&self) -> &BTreeSet<u32> {
        &self.misses
    }

    /// Returns the number of played rows whose completion was not a valid action when it was
    /// recorded, so that they hold the action of [`Recordable::fallback`].
    #[must_use]
    pub fn fallbacks(&self) -> usize {
        let played = self.hits.iter().filter_map(|step| self.rows.get(*step));
        let said = played.filter_map(|row| row.row.transcript.as_deref());
        said.filter(|text| text.fallback).count()
    }

    /// Returns the rows that were not played so far. After the end of the episode, these rows do
    /// not fit it.
    pub fn unused(&self) -> impl Iterator<Item = &LocatedRow<W>> {
        self.rows
            .iter()
            .filter(|row| !self.hits.contains(&row.row.step))
    }

    /// Returns the rows whose scenario id differs from `scenario`, the id of the episode being
    /// played.
    pub fn mismatches(&self, scenario: String) -> impl Iterator<Item = &LocatedRow<W>> {
        self.rows
            .iter()
            .filter(move |row| row.row.scenario_id != scenario)
    }

    /// Returns the row for the latest observation, if there is one.
    #[must_use]
    pub fn current(&self) -> Option<&ReplayRow<W>> {
        self.rows.get(self.current?).map(|row| &row.row)
    }
}

impl<W: Recordable> Policy<W> for ReplayEpisode<W> {
    fn observe(&mut self, observation: &W::Observation) {
        self.current = Some(W::step_count(observation));
    }

    fn choose(&mut self, observation: &W::Observation) -> W::Action {
        let step = W::step_count(observation);
        self.current = Some(step);
        match self.rows.get(step) {
            Some(row) => {
                self.hits.insert(step);
                row.row.action.action
            }
            None => {
                self.misses.insert(step);
                W::fallback(observation)
            }
        }
    }

    fn belief(&self) -> Option<Vec<Vec<f64>>> {
        self.current()?.belief.clone()
    }

    fn probabilities(&self) -> Option<Vec<f64>> {
        self.current()?.probabilities.clone()
    }
}

/// An episode that was played from a replay.
#[derive(Clone, Debug)]
pub struct ReplayedEpisode<W: Recordable> {
    /// The finished episode with its rewards and digest.
    pub run: EpisodeRun<W>,
    /// The policy that played it, with its hits and misses.
    pub source: ReplayEpisode<W>,
}

impl<W: Recordable> ReplayedEpisode<W> {
    /// Returns the rows whose scenario id differs from that of the played episode. They were
    /// recorded with another build, scenario or stream mode.
    pub fn mismatches(&self) -> impl Iterator<Item = &LocatedRow<W>> {
        self.source.mismatches(self.run.episode().scenario_id())
    }
}

/// Plays an episode from a replay to its end.
#[must_use]
pub fn play_replay<W: Recordable>(replay: &Replay<W>, setup: &W::Setup) -> ReplayedEpisode<W> {
    let mut source = ReplayEpisode::new(replay, &W::episode_spec(setup));
    let run = run_with_choices(setup, |episode: &W| {
        let observation = episode.observation();
        (!W::is_done(observation)).then(|| source.choose(observation))
    });
    ReplayedEpisode { run, source }
}
