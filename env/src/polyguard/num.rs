//! Number rules of this world (spec polyguard §1).

use crate::num::round_to;

/// `value` limited to `[0, 1]`.
#[must_use]
#[inline]
pub(super) const fn clip(value: f64) -> f64 {
    value.clamp(0.0, 1.0)
}

/// A published number: within `[0.001, 0.999]`, three decimals.
#[must_use]
#[inline]
pub(super) fn q(value: f64) -> f64 {
    round_to(value.clamp(0.001, 0.999), 3)
}
