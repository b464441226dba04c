//! Proposals with priorities, of which only the best are ever taken.

use super::{Arg, Kind};
use crate::polyguard::history::Act;
use crate::polyguard::regimen::Drug;

/// More than the rules can propose for a full regimen.
const ROOM: usize = 256;

/// A proposal; the priority in thousandths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proposal {
    priority: i16,
    pub(super) act: Act,
}

const NOTHING: Proposal = Proposal {
    priority: i16::MIN,
    act: Act {
        kind: Kind::KeepRegimen,
        drug: None,
        arg: Arg::None,
    },
};

/// Proposals in the order in which they were made.
pub(super) struct Proposals {
    rows: [Proposal; ROOM],
    len: usize,
}

impl Proposals {
    pub(super) const fn new() -> Self {
        Self {
            rows: [NOTHING; ROOM],
            len: 0,
        }
    }

    pub(super) const fn add(&mut self, priority: i16, kind: Kind, drug: Drug, arg: Arg) {
        if self.len < ROOM {
            self.rows[self.len] = Proposal {
                priority,
                act: Act {
                    kind,
                    drug: Some(drug),
                    arg,
                },
            };
            self.len += 1;
        }
    }

    /// Takes the best proposal out, and all others of the same act; the first of equals.
    pub(super) fn take_best(&mut self) -> Option<Act> {
        let rows = &mut self.rows[..self.len];
        let mut best = rows.first()?;
        for row in rows.iter() {
            if row.priority > best.priority {
                best = row;
            }
        }
        if best.priority == i16::MIN {
            return None;
        }
        let act = best.act;
        for row in rows {
            if row.act == act {
                row.priority = i16::MIN;
            }
        }
        Some(act)
    }

    /// Drops all proposals of an act.
    pub(super) fn drop_act(&mut self, act: Act) {
        for row in &mut self.rows[..self.len] {
            if row.act == act {
                row.priority = i16::MIN;
            }
        }
    }
}
