//! Playing what was recorded.

use std::collections::BTreeSet;
use std::sync::Arc;

use sentinel_env::SLOTS;
use sentinel_env::trust::{Action, Observation, Session, Setup};

use super::{EpisodeKey, EpisodeRows, Replay, ReplayRow, Row};
use crate::{Heuristic, Policy};

/// One episode of a replay as a policy.
///
/// Where the replay has no row for the steps used so far, [`Heuristic::REPLAY_MISS`] acts, as in
/// the reference; unlike there, the miss is counted and can be asked for.
#[derive(Clone, Debug)]
pub struct ReplayEpisode {
    rows: Arc<EpisodeRows>,
    current: Option<u8>,
    hits: BTreeSet<u8>,
    misses: BTreeSet<u8>,
}

impl ReplayEpisode {
    /// The episode `key` of a replay; all misses when the replay does not have it.
    #[must_use]
    pub fn new(replay: &Replay, key: &EpisodeKey) -> Self {
        Self {
            rows: replay.episode(key).cloned().unwrap_or_default(),
            current: None,
            hits: BTreeSet::new(),
            misses: BTreeSet::new(),
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

impl Policy for ReplayEpisode {
    fn observe(&mut self, observation: &Observation) {
        self.current = Some(observation.step_count);
    }

    fn choose(&mut self, observation: &Observation) -> Action {
        let step = observation.step_count;
        self.current = Some(step);
        if let Some(row) = self.rows.get(step) {
            self.hits.insert(step);
            row.row.action.action
        } else {
            self.misses.insert(step);
            let mut fallback = Heuristic::REPLAY_MISS;
            fallback.choose(observation)
        }
    }

    fn belief(&self) -> Option<[[f64; SLOTS]; SLOTS]> {
        self.current()?.belief.as_deref().copied()
    }
}

/// An episode that was played from a replay.
#[derive(Clone, Debug)]
pub struct Playback {
    /// The episode at its end.
    pub session: Session,
    /// Which steps were recorded and which were not.
    pub source: ReplayEpisode,
}

impl Playback {
    /// Rows that name another scenario than the one that was played: they were recorded with
    /// another build, scenario or stream mode.
    pub fn mismatches(&self) -> impl Iterator<Item = &Row> {
        self.source
            .mismatches(self.session.episode().scenario().id())
    }
}

/// Plays an episode from a replay to its end.
#[must_use]
pub fn play(replay: &Replay, setup: &Setup) -> Playback {
    let mut session = Session::new(setup);
    let mut source = ReplayEpisode::new(replay, &EpisodeKey::from(setup));
    while !session.episode().observation().done() {
        let action = source.choose(session.episode().observation());
        // The loop's condition keeps steps from coming after the end.
        if session.act(action).is_err() {
            break;
        }
    }
    Playback { session, source }
}
