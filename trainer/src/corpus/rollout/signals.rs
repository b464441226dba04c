//! What to watch while a model trains: numbers that go wrong before the score does.

use std::collections::BTreeMap;

use sentinel_policy::text::TextWorld;
use serde::Serialize;

use super::play::{Ending, Trajectory};

/// Rates over the rows or trajectories of a batch, 0..1.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Signals {
    /// Trajectories.
    pub episodes: usize,
    /// Completions.
    pub rows: usize,
    /// Mean score.
    pub avg_score: f64,
    /// Share of the completions that are no action.
    pub invalid_rate: f64,
    /// Share of the completions that were read only after a repair.
    pub repaired_rate: f64,
    /// Share of the trajectories that broke off.
    pub broken_off_rate: f64,
    /// Share of the rows after the first that repeat the action before: a policy that found one
    /// action that pays.
    pub repeated_action_rate: f64,
    /// Share of the trajectories of one action alone.
    pub constant_policy_rate: f64,
    /// Mean reward of first steps. Training on first steps alone lifts this one only.
    pub first_step_reward: f64,
    /// Mean reward of later steps.
    pub later_reward: f64,
    /// Mean characters of a completion.
    pub completion_characters: f64,
    /// How often each reason made a completion no action.
    pub reasons: BTreeMap<&'static str, usize>,
}

impl Signals {
    /// Of a batch; all 0 without any.
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
            broken_off_rate: share(trajectories.iter().map(|t| t.ending == Ending::Aborted)),
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

/// What a row did, in words: what an action states beside itself does not count.
fn done<W: TextWorld>(t: &Trajectory<W>, row: usize) -> Option<String> {
    t.rows.get(row)?.action.map(|action| action.to_string())
}

/// Whether a row repeats the action of the one before; none at the first, and where there is none.
fn repeats<W: TextWorld>(t: &Trajectory<W>, row: usize) -> Option<bool> {
    let before = done(t, row.checked_sub(1)?)?;
    Some(done(t, row)? == before)
}

/// Whether all rows have the same action; none where there are not two.
fn is_constant<W: TextWorld>(t: &Trajectory<W>) -> Option<bool> {
    let mut pairs = (1..t.rows.len())
        .filter_map(|row| repeats(t, row))
        .peekable();
    pairs.peek()?;
    Some(pairs.all(|same| same))
}
