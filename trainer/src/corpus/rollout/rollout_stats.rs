//! Signals to watch while a model trains: numbers that degrade before the score does.

use std::collections::BTreeMap;

use sentinel_policy::text::TextWorld;
use serde::Serialize;

use super::play::{Ending, Trajectory};

/// Counts and means over the rows or trajectories of a batch; rates are in `[0, 1]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RolloutStats {
    /// The number of trajectories.
    pub episodes: usize,
    /// The number of completions.
    pub rows: usize,
    /// The mean score of the trajectories.
    pub avg_score: f64,
    /// The share of completions that are not an action.
    pub invalid_rate: f64,
    /// The share of completions that were parsed only after a repair.
    pub repaired_rate: f64,
    /// The share of trajectories that were aborted.
    pub aborted_rate: f64,
    /// The share of rows after the first that repeat the previous action: a policy that found one
    /// action that pays.
    pub repeated_action_rate: f64,
    /// The share of trajectories that consist of one repeated action.
    pub constant_policy_rate: f64,
    /// The mean reward of first steps. Training on first steps alone raises only this signal.
    pub first_step_reward: f64,
    /// The mean reward of later steps.
    pub later_reward: f64,
    /// The mean number of characters per completion.
    pub completion_characters: f64,
    /// The number of invalid completions by reason.
    pub reasons: BTreeMap<&'static str, usize>,
}

impl RolloutStats {
    /// Computes the signals of a batch; all 0 for an empty one.
    #[must_use]
    pub fn from_trajectories<W: TextWorld>(trajectories: &[Trajectory<W>]) -> Self {
        let rows = || trajectories.iter().flat_map(|t| t.rows.iter());
        let mut reasons = BTreeMap::new();
        for fault in rows().filter_map(|row| row.parsed.as_ref().err()) {
            *reasons.entry(fault.reason.name()).or_default() += 1;
        }
        let repaired = |parsed: bool| if parsed { 1.0 } else { 0.0 };
        let later = || trajectories.iter().flat_map(|t| t.rows.iter().skip(1));
        Self {
            episodes: trajectories.len(),
            rows: rows().count(),
            avg_score: mean(trajectories.iter().map(|t| t.score)),
            invalid_rate: share(rows().map(|row| row.parsed.is_err())),
            repaired_rate: mean(
                rows().map(|row| repaired(row.parsed.as_ref().is_ok_and(|parsed| parsed.repaired))),
            ),
            aborted_rate: share(trajectories.iter().map(|t| t.ending == Ending::Aborted)),
            repeated_action_rate: share(
                (trajectories.iter())
                    .flat_map(|t| (0..t.rows.len()).filter_map(move |row| repeats(t, row))),
            ),
            constant_policy_rate: share(trajectories.iter().filter_map(is_constant)),
            first_step_reward: mean(
                (trajectories.iter()).filter_map(|t| t.rows.first().map(|row| row.reward)),
            ),
            later_reward: mean(later().map(|row| row.reward)),
            completion_characters: mean(rows().map(|row| row.completion.chars().count() as f64)),
            reasons,
        }
    }
}

fn share(holds: impl Iterator<Item = bool>) -> f64 {
    mean(holds.map(|holds| f64::from(u8::from(holds))))
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0_u32, 0.0), |(n, sum), value| (n + 1, sum + value));
    sum / f64::from(count.max(1))
}

/// Returns the action of a row as text; reasons that an action states are not part of it.
fn done<W: TextWorld>(t: &Trajectory<W>, row: usize) -> Option<String> {
    t.rows.get(row)?.action.map(|action| action.to_string())
}

/// Returns `true` if a row repeats the previous action; `None` for the first row or without an
/// action.
fn repeats<W: TextWorld>(t: &Trajectory<W>, row: usize) -> Option<bool> {
    let before = done(t, row.checked_sub(1)?)?;
    Some(done(t, row)? == before)
}

/// Returns `true` if all rows have the same action; `None` if there are not two actions to compare.
fn is_constant<W: TextWorld>(t: &Trajectory<W>) -> Option<bool> {
    let mut pairs = (1..t.rows.len())
        .filter_map(|row| repeats(t, row))
        .peekable();
    pairs.peek()?;
    Some(pairs.all(|same| same))
}
