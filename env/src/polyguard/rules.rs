//! The one change to the published reward.

use crate::rules::Change;

/// A change to the published rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// A step that is refused or cheats earns nothing.
    Gated,
}

impl Change for Edit {
    const ALL: &'static [Self] = &[Self::Gated];

    fn name(self) -> &'static str {
        "gated"
    }

    fn describe(self) -> &'static str {
        "a step that is illegal, invalid or an exploit earns .001 instead of a weighted mean"
    }

    fn index(self) -> u8 {
        0
    }
}
