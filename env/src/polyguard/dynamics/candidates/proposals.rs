//! A list of proposed acts with priorities, from which the best are taken.

use crate::polyguard::model::candidate::{Act, ActArg, ActKind};
use crate::polyguard::model::regimen::Drug;

/// Maximum number of proposals, more than the rules can make for a full regimen.
const ROOM: usize = 256;

/// An act packed into one integer, so that equal acts are found quickly.
pub(super) type ActKey = u32;

/// Packed value that stands for no medicine.
const NO_DRUG_KEY: u8 = 0xff;
/// First packed value of an argument that is a medicine.
const TARGETS: u8 = 3;

/// Packs an act into a key.
pub(super) fn act_key(act: Act) -> ActKey {
    let drug = act.drug.map_or(NO_DRUG_KEY, Drug::number);
    let arg = match act.arg {
        ActArg::None => 0,
        ActArg::Dose(by) => 1 + u8::from(by > 0),
        ActArg::Target(drug) => TARGETS + drug.number(),
    };
    u32::from(act.kind as u8) << 16 | u32::from(drug) << 8 | u32::from(arg)
}

/// Unpacks a key made by [`act_key`] into an act.
fn act(key: ActKey) -> Act {
    let [arg, drug, kind, _] = key.to_le_bytes();
    Act {
        kind: ActKind::ALL[usize::from(kind)],
        drug: (drug != NO_DRUG_KEY).then(|| Drug::from_number(drug)),
        arg: match arg {
            0 => ActArg::None,
            1 | 2 => ActArg::Dose(2 * arg.cast_signed() - 3),
            _ => ActArg::Target(Drug::from_number(arg - TARGETS)),
        },
    }
}

/// Proposals in the order in which they were added, with priorities in thousandths.
pub(super) struct Proposals {
    priorities: [i16; ROOM],
    keys: [ActKey; ROOM],
    len: usize,
}

/// Priority of a proposal that has been taken or dropped.
const TAKEN: i16 = i16::MIN;

impl Proposals {
    pub(super) const fn new() -> Self {
        Self {
            priorities: [TAKEN; ROOM],
            keys: [0; ROOM],
            len: 0,
        }
    }

    #[inline]
    pub(super) fn add(&mut self, priority: i16, kind: ActKind, drug: Drug, arg: ActArg) {
        if self.len < ROOM {
            self.priorities[self.len] = priority;
            self.keys[self.len] = act_key(Act {
                kind,
                drug: Some(drug),
                arg,
            });
            self.len += 1;
        }
    }

    /// Removes and returns the act with the highest priority, the first one on ties, and drops all
    /// other proposals of the same act.
    pub(super) fn take_best(&mut self) -> Option<Act> {
        let priorities = &self.priorities[..self.len];
        let best = priorities.iter().copied().fold(TAKEN, i16::max);
        if best == TAKEN {
            return None;
        }
        let at = priorities.iter().position(|priority| *priority == best)?;
        let key = self.keys[at];
        self.drop_key(key);
        Some(act(key))
    }

    /// Drops all proposals of an act.
    pub(super) fn drop_act(&mut self, act: Act) {
        self.drop_key(act_key(act));
    }

    fn drop_key(&mut self, key: ActKey) {
        let keys = &self.keys[..self.len];
        for (priority, other) in self.priorities[..self.len].iter_mut().zip(keys) {
            *priority = if *other == key { TAKEN } else { *priority };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::polyguard::model::formulary::Formulary;

    #[test]
    fn act_keys_are_unique_and_reversible() {
        let drugs = || {
            let known = Formulary::extended().ids().map(Drug::Known);
            known.chain([Drug::Product])
        };
        let mut keys = std::collections::BTreeSet::new();
        for kind in ActKind::ALL {
            for drug in drugs().map(Some).chain([None]) {
                let plain = [ActArg::None, ActArg::Dose(-1), ActArg::Dose(1)];
                for arg in plain.into_iter().chain(drugs().map(ActArg::Target)) {
                    let own = Act { kind, drug, arg };
                    assert!(keys.insert(act_key(own)), "{own:?}");
                    assert_eq!(act(act_key(own)), own);
                }
            }
        }
    }
}
