//! Rewards by name, logged apart: what a model earns, and what it only seems to earn.

use sentinel_policy::text::{Heard, TextWorld};

use super::play::Trajectory;
use crate::rl::advantage::Rewards;

/// How a row is credited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Credit {
    /// By the reward of its own step.
    Step,
    /// By the mean reward of the events from it on.
    #[default]
    ToGo,
    /// By the score of its episode.
    Episode,
}

/// A reward with the name under which it is logged.
#[derive(Clone, Copy, Debug)]
pub struct RewardFunction<W: TextWorld> {
    /// The name.
    pub name: &'static str,
    /// The reward of a row of a trajectory; none where it does not apply.
    pub of: fn(&Trajectory<W>, usize) -> Option<f64>,
}

/// Rewards of all rows, as advantages take them.
#[derive(Clone, Debug, PartialEq)]
pub struct RewardTable {
    /// The name of each reward.
    pub names: Vec<&'static str>,
    /// `[rows, names]`.
    pub values: Vec<Option<f64>>,
}

/// The environment's reward first, as it is credited; then what is watched, weighted 0 unless
/// somebody decides otherwise:
///
/// * `valid_format`: 1 for a completion that was read without a repair;
/// * `repeated_action`: -1 for the action of the row before, none at the first;
/// * `constant_policy`: -1 in a trajectory of which every row has the same action.
#[must_use]
pub fn reward_functions<W: TextWorld>(credit: Credit) -> [RewardFunction<W>; 4] {
    let of: fn(&Trajectory<W>, usize) -> Option<f64> = match credit {
        Credit::Step => |t, row| Some(t.rows.get(row)?.reward),
        Credit::ToGo => |t, row| Some(t.rows.get(row)?.to_go),
        Credit::Episode => |t, _| Some(t.score),
    };
    let name = "environment";
    [
        RewardFunction { name, of },
        RewardFunction {
            name: "valid_format",
            of: |t, row| {
                let heard = &t.rows.get(row)?.heard;
                Some(unit(matches!(
                    heard,
                    Ok(Heard {
                        repaired: false,
                        ..
                    })
                )))
            },
        },
        RewardFunction {
            name: "repeated_action",
            of: |t, row| Some(-unit(repeats(t, row)?)),
        },
        RewardFunction {
            name: "constant_policy",
            of: |t, _| Some(-unit(is_constant(t)?)),
        },
    ]
}

impl RewardTable {
    /// The rewards of all rows, trajectory by trajectory.
    #[must_use]
    pub fn of<W: TextWorld>(
        trajectories: &[Trajectory<W>],
        functions: &[RewardFunction<W>],
    ) -> Self {
        let rows = (trajectories.iter()).flat_map(|t| (0..t.rows.len()).map(move |row| (t, row)));
        let values = rows.flat_map(|(t, row)| functions.iter().map(move |f| (f.of)(t, row)));
        Self {
            names: functions.iter().map(|function| function.name).collect(),
            values: values.collect(),
        }
    }

    /// The same, as [`crate::rl::advantage::advantages`] takes it.
    #[must_use]
    pub fn rewards(&self) -> Rewards<'_> {
        Rewards {
            names: &self.names,
            values: &self.values,
        }
    }
}

fn unit(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// What a row did, in words: what an action states beside itself does not count.
fn done<W: TextWorld>(t: &Trajectory<W>, row: usize) -> Option<String> {
    t.rows.get(row)?.action.map(|action| action.to_string())
}

/// Whether a row repeats the action of the one before; none at the first, and where there is none.
pub(super) fn repeats<W: TextWorld>(t: &Trajectory<W>, row: usize) -> Option<bool> {
    let before = done(t, row.checked_sub(1)?)?;
    Some(done(t, row)? == before)
}

/// Whether all rows have the same action; none where there are not two.
pub(super) fn is_constant<W: TextWorld>(t: &Trajectory<W>) -> Option<bool> {
    let mut pairs = (1..t.rows.len())
        .filter_map(|row| repeats(t, row))
        .peekable();
    pairs.peek()?;
    Some(pairs.all(|same| same))
}
