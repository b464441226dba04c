//! Playing what was recorded.

use std::collections::BTreeSet;
use std::sync::Arc;

use sentinel_env::Origin;

use super::{EpisodeRows, LocatedRow, Recordable, Replay, ReplayRow};
use crate::policy::Policy;
use crate::rollout::{Run, run_with};

/// One episode of a replay as a policy.
///
/// Where the replay has no row for the steps used so far, [`Recordable::fallback`] acts, as in the
/// reference; unlike there, the miss is counted and can be asked for.
#[derive(Clone, Debug)]
pub struct ReplayEpisode<W: Recordable> {
    rows: Arc<EpisodeRows<W>>,
    current: Option<u32>,
    hits: BTreeSet<u32>,
    misses: BTreeSet<u32>,
}

impl<W: Recordable> ReplayEpisode<W> {
    /// The episode `origin` of a replay; all misses when the replay does not have it.
    #[must_use]
    pub fn new(replay: &Replay<W>, origin: &Origin<W>) -> Self {
        Self {
            rows: replay.episode(origin).cloned().unwrap_or_default(),
            current: None,
            hits: BTreeSet::new(),
            misses: BTreeSet::new(),
        }
    }

    /// The rows that are played.
    #[must_use]
    pub fn rows(&self) -> &EpisodeRows<W> {
        &self.rows
    }

    /// Values of `step_count` at which a recorded action was played.
    #[must_use]
    pub const fn hits(&self) -> &BTreeSet<u32> {
        &self.hits
    }

    /// Values of `step_count` at which there was no row and [`Recordable::fallback`] acted.
    #[must_use]
    pub const fn misses(&self) -> &BTreeSet<u32> {
        &self.misses
    }

    /// How many of the rows that were played stand for something that was no action, so that they hold
    /// what [`Recordable::fallback`] did when they were recorded.
    #[must_use]
    pub fn fallbacks(&self) -> usize {
        let played = self.hits.iter().filter_map(|step| self.rows.get(*step));
        let said = played.filter_map(|row| row.row.transcript.as_deref());
        said.filter(|text| text.fallback).count()
    }

    /// Rows that were not played. After the end of the episode: rows that do not fit it.
    pub fn unused(&self) -> impl Iterator<Item = &LocatedRow<W>> {
        self.rows
            .iter()
            .filter(|row| !self.hits.contains(&row.row.step))
    }

    /// Rows that name another scenario than `scenario`, the id of the one that is played.
    pub fn mismatches(&self, scenario: String) -> impl Iterator<Item = &LocatedRow<W>> {
        self.rows
            .iter()
            .filter(move |row| row.row.scenario_id != scenario)
    }

    /// The row for the observation taken in last.
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
pub struct Playback<W: Recordable> {
    /// The episode at its end.
    pub run: Run<W>,
    /// Which steps were recorded and which were not.
    pub source: ReplayEpisode<W>,
}

impl<W: Recordable> Playback<W> {
    /// Rows that name another scenario than the one that was played: they were recorded with
    /// another build, scenario or stream mode.
    pub fn mismatches(&self) -> impl Iterator<Item = &LocatedRow<W>> {
        self.source.mismatches(self.run.episode().scenario_id())
    }
}

/// Plays an episode from a replay to its end.
#[must_use]
pub fn play<W: Recordable>(replay: &Replay<W>, setup: &W::Setup) -> Playback<W> {
    let mut source = ReplayEpisode::new(replay, &W::origin(setup));
    let run = run_with(setup, |episode: &W| {
        let observation = episode.observation();
        (!W::is_done(observation)).then(|| source.choose(observation))
    });
    Playback { run, source }
}
