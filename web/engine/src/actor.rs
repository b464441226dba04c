//! Players of an episode: a policy, or the recorded actions of a replay file.

use sentinel_policy::policy::{Player, Policy as _};
use sentinel_policy::replay::{Replay, ReplayEpisode};

use crate::world::{PageWorld, SetupOf};

/// The beliefs, probabilities and values of a player before its next action.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyOutput {
    /// Posterior over hidden variables, `[variables, classes]`; `None` if the player has none.
    pub belief: Option<Vec<Vec<f64>>>,
    /// Probability of each kind of action; `None` if the player has none.
    pub probabilities: Option<Vec<f64>>,
    /// Value of each kind of action at the next choice; `None` if the player has none.
    pub values: Option<Vec<f64>>,
    /// Assessments of the next action, one for each part of a composite player.
    pub remarks: Vec<Remark>,
}

/// The assessment of the next action by one part of a composite player.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Remark {
    /// Name of the part.
    pub speaker: String,
    /// Task of the part within the composite player.
    pub role: String,
    /// Result of the assessment in a few words.
    pub verdict: String,
    /// Further sentences about the result.
    pub notes: Vec<String>,
    /// Scores of single candidates, with their numbers.
    pub scores: Vec<(String, f64)>,
}

/// Fit between a replay file and an episode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Names of the recorded policies, from `model_source` of the rows.
    pub source: String,
    /// Number of recorded actions that were played.
    pub hits: usize,
    /// Number of these actions that the fallback took when they were recorded.
    pub fallbacks: usize,
    /// Number of rows that were not reached.
    pub unused: usize,
    /// Lines of rows that were recorded in another scenario.
    pub mismatches: Vec<usize>,
}

/// Largest number of names of a replay's policies.
const SOURCES_MAX: usize = 3;

/// A player of an episode: a policy, or the recorded actions of a replay.
pub trait Actor<W: PageWorld> {
    /// Updates the player with the state that an action led to.
    fn observe(&mut self, episode: &W);
    /// Chooses the next action; the flag is `true` if a replay's fallback chose it.
    fn choose(&mut self, episode: &W) -> (Option<W::Action>, bool);
    /// Returns the player's assessment of the state that it observed last.
    fn policy_output(&self, episode: &W) -> PolicyOutput;
    /// Adds the values that the player computed for its last choice.
    fn add_values(&self, _output: &mut PolicyOutput) {}
    /// Returns how well a recording fits the episode; `None` for players without a recording.
    fn recording(&self, _episode: &W) -> Option<Recording> {
        None
    }
}

/// An actor that plays a policy of the policy crate.
pub struct PolicyActor<W: PageWorld>(pub Player<W>);

impl<W: PageWorld> Actor<W> for PolicyActor<W> {
    fn observe(&mut self, episode: &W) {
        self.0.observe(episode);
    }

    fn choose(&mut self, episode: &W) -> (Option<W::Action>, bool) {
        (self.0.choose(episode), false)
    }

    fn policy_output(&self, episode: &W) -> PolicyOutput {
        let done = W::is_done(episode.observation());
        PolicyOutput {
            belief: self.0.belief(),
            probabilities: self.0.probabilities().filter(|_| !done),
            ..PolicyOutput::default()
        }
    }

    fn add_values(&self, policy_output: &mut PolicyOutput) {
        policy_output.values = self.0.action_values();
    }
}

/// An actor that plays the recorded actions of one episode.
pub struct ReplayActor<W: PageWorld>(ReplayEpisode<W>);

impl<W: PageWorld> ReplayActor<W> {
    /// Creates the actor for the episode of `setup`.
    #[must_use]
    pub fn new(replay: &Replay<W>, setup: &SetupOf<W>) -> Self {
        Self(ReplayEpisode::new(replay, &W::episode_spec(setup)))
    }
}

impl<W: PageWorld> Actor<W> for ReplayActor<W> {
    fn observe(&mut self, episode: &W) {
        self.0.observe(episode.observation());
    }

    fn choose(&mut self, episode: &W) -> (Option<W::Action>, bool) {
        let observation = episode.observation();
        if W::is_done(observation) {
            return (None, false);
        }
        let action = self.0.choose(observation);
        let missed = self.0.misses().contains(&W::step_count(observation));
        (Some(action), missed)
    }

    fn policy_output(&self, episode: &W) -> PolicyOutput {
        let done = W::is_done(episode.observation());
        PolicyOutput {
            belief: self.0.belief(),
            probabilities: self.0.probabilities().filter(|_| !done),
            ..PolicyOutput::default()
        }
    }

    fn recording(&self, episode: &W) -> Option<Recording> {
        let mut sources: Vec<&str> = Vec::new();
        for row in self.0.rows().iter() {
            let source = row.row.model_source.as_str();
            if sources.len() < SOURCES_MAX && !sources.contains(&source) {
                sources.push(source);
            }
        }
        let mismatches = self.0.mismatches(episode.scenario_id());
        Some(Recording {
            source: sources.join(" and "),
            hits: self.0.hits().len(),
            fallbacks: self.0.fallbacks(),
            unused: self.0.unused().count(),
            mismatches: mismatches.map(|row| row.line).collect(),
        })
    }
}
