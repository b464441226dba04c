//! Playing what was recorded.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::Arc;

use sentinel_env::SLOTS;
use sentinel_env::trust::TrustWorld;

use super::{EpisodeKey, EpisodeRows, Replay, ReplayRow, Row};
use crate::play::{Policy, Run, run_with};
use crate::world::Playable;

/// One episode of a replay as a policy.
///
/// Where the replay has no row for the steps used so far, [`Playable::fallback`] acts, as in the
/// reference; unlike there, the miss is counted and can be asked for.
#[derive(Clone, Debug)]
pub struct ReplayEpisode<W: Playable = TrustWorld> {
    rows: Arc<EpisodeRows>,
    current: Option<u8>,
    hits: BTreeSet<u8>,
    misses: BTreeSet<u8>,
    of: PhantomData<W>,
}

impl<W: Playable> ReplayEpisode<W> {
    /// The episode `key` of a replay; all misses when the replay does not have it.
    #[must_use]
    pub fn new(replay: &Replay, key: &EpisodeKey) -> Self {
        Self {
            rows: replay.episode(key).cloned().unwrap_or_default(),
            current: None,
            hits: BTreeSet::new(),
            misses: BTreeSet::new(),
            of: PhantomData,
        }
    }

    /// The rows that are played.
    #[must_use]
    pub fn rows(&self) -> &EpisodeRows {
        &self.rows
    }

    /// Values of `step_count` at which a recorded action was played.
    #[must_use]
    pub const fn hits(&self) -> &BTreeSet<u8> {
        &self.hits
    }

    /// Values of `step_count` at which there was no row and the heuristic acted.
    #[must_use]
    pub const fn misses(&self) -> &BTreeSet<u8> {
        &self.misses
    }

    /// How many of the rows that were played stand for something that was no action, so that they hold
    /// what [`Playable::fallback`] did when they were recorded.
    #[must_use]
    pub fn fallbacks(&self) -> usize {
        let played = self.hits.iter().filter_map(|step| self.rows.get(*step));
        let said = played.filter_map(|row| row.row.text.as_deref());
        said.filter(|text| text.fallback).count()
    }

    /// Rows that were not played. After the end of the episode: rows that do not fit it.
    pub fn unused(&self) -> impl Iterator<Item = &Row> {
        self.rows
            .iter()
            .filter(|row| !self.hits.contains(&row.row.step))
    }

    /// Rows that name another scenario than `scenario`, the id of the one that is played.
    pub fn mismatches(&self, scenario: String) -> impl Iterator<Item = &Row> {
        self.rows
            .iter()
            .filter(move |row| row.row.scenario_id != scenario)
    }

    /// The row for the observation taken in last.
    #[must_use]
    pub fn current(&self) -> Option<&ReplayRow> {
        self.rows.get(self.current?).map(|row| &row.row)
    }
}

impl<W: Playable> Policy<W> for ReplayEpisode<W> {
    fn observe(&mut self, observation: &W::Observation) {
        self.current = Some(W::steps_used(observation));
    }

    fn choose(&mut self, observation: &W::Observation) -> W::Action {
        let step = W::steps_used(observation);
        self.current = Some(step);
        let row = self.rows.get(step);
        if let Some(action) = row.and_then(|row| W::narrow(row.row.action.action)) {
            self.hits.insert(step);
            action
        } else {
            self.misses.insert(step);
            W::fallback(observation)
        }
    }

    fn belief(&self) -> Option<[[f64; SLOTS]; SLOTS]> {
        self.current()?.belief.as_deref().copied()
    }

    fn probabilities(&self) -> Option<W::PerAction> {
        let row = self.current()?;
        row.probabilities.as_deref()?.try_into().ok()
    }
}

/// An episode that was played from a replay.
#[derive(Clone, Debug)]
pub struct Playback<W: Playable> {
    /// The episode at its end.
    pub run: Run<W>,
    /// Which steps were recorded and which were not.
    pub source: ReplayEpisode<W>,
}

impl<W: Playable> Playback<W> {
    /// Rows that name another scenario than the one that was played: they were recorded with
    /// another build, scenario or stream mode.
    pub fn mismatches(&self) -> impl Iterator<Item = &Row> {
        self.source.mismatches(W::scenario_id(self.run.episode()))
    }
}

/// Plays an episode from a replay to its end.
#[must_use]
pub fn play<W: Playable>(replay: &Replay, setup: &W::Setup) -> Playback<W> {
    let mut source = ReplayEpisode::<W>::new(replay, &EpisodeKey::made_by::<W>(setup));
    let run = run_with(setup, |episode| {
        let observation = W::observation(episode);
        (!W::is_done(observation)).then(|| source.choose(observation))
    });
    Playback { run, source }
}
