//! What was done in an episode.

use super::candidates::{Arg, Kind};
use super::regimen::Drug;
use super::violation::Violation;

/// Most steps of an episode.
pub const STEPS: usize = 10;

/// What an act does: a kind, a medicine, an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Act {
    /// Kind.
    pub kind: Kind,
    /// The medicine that it is about.
    pub drug: Option<Drug>,
    /// What else it needs.
    pub arg: Arg,
}

/// A step that was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Past {
    /// What was chosen; none where nothing that exists was.
    pub act: Option<Act>,
    /// Why it was refused.
    pub violation: Option<Violation>,
    /// Whether it brought information.
    pub gained: bool,
}

/// The steps of an episode, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    steps: [Option<Past>; STEPS],
    len: u8,
}

impl History {
    pub(super) fn push(&mut self, past: Past) {
        if let Some(free) = self.steps.get_mut(usize::from(self.len)) {
            *free = Some(past);
            self.len += 1;
        }
    }

    /// The steps, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Past> + Clone {
        self.steps[..usize::from(self.len)].iter().flatten()
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether nothing was done yet.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The last one.
    #[must_use]
    pub fn last(&self) -> Option<&Past> {
        self.iter().next_back()
    }

    /// Whether an act of this kind was carried out.
    #[must_use]
    pub fn did(&self, kind: Kind) -> bool {
        self.count(|k| k == kind) > 0
    }

    /// How many acts of such kinds were carried out.
    pub fn count(&self, counts: impl Fn(Kind) -> bool) -> usize {
        let carried_out = self.iter().filter(|past| past.violation.is_none());
        carried_out
            .filter_map(|past| past.act)
            .filter(|act| counts(act.kind))
            .count()
    }
}
