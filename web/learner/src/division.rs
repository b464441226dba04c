//! Work that is divided into parts, which several engines take in any order.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Number of parts for each engine: small ones, so that the engines end at about the same time.
const PARTS: u64 = 5;
/// Largest number of rollouts in a part, which takes seconds on a slow machine.
const PART_MAX: u64 = 1024;

/// Work on the indices from 0 on, with the results of the parts that are done.
#[derive(Debug)]
pub(crate) struct Division<T> {
    /// Parts that nobody works on, in order.
    pending: VecDeque<Range<u64>>,
    /// Parts that somebody works on.
    taken: Vec<Range<u64>>,
    /// Results by the first index of their part.
    done: BTreeMap<u64, T>,
}

impl<T> Division<T> {
    /// Divides the episodes below `count`, of which each has `rollouts` rollouts, among engines.
    pub(crate) fn among(count: u64, engines: u64, rollouts: u64) -> Self {
        Self::new(count, engines * PARTS, PART_MAX / rollouts.max(1))
    }

    /// Divides the indices below `count` into `parts` parts of nearly equal size: fewer if there are fewer
    /// indices, and more if a part had more than `largest` otherwise.
    fn new(count: u64, parts: u64, largest: u64) -> Self {
        let parts = parts.max(count.div_ceil(largest.max(1)));
        let parts = parts.clamp(1, count.max(1));
        let bound = |part| count * part / parts;
        let all = (0..parts).map(|part| bound(part)..bound(part + 1));
        Self {
            pending: all.filter(|part| !part.is_empty()).collect(),
            taken: Vec::new(),
            done: BTreeMap::new(),
        }
    }

    /// Takes the next part; `None` if all are taken or done.
    pub(crate) fn take(&mut self) -> Option<Range<u64>> {
        let part = self.pending.pop_front()?;
        self.taken.push(part.clone());
        Some(part)
    }

    /// Puts the result of a part; ignores one that was not taken, or was given back.
    pub(crate) fn put(&mut self, part: &Range<u64>, result: T) {
        if let Some(place) = self.taken.iter().position(|taken| taken == part) {
            self.taken.swap_remove(place);
            self.done.insert(part.start, result);
        }
    }

    /// Gives back all parts that are taken but not done.
    pub(crate) fn give_back(&mut self) {
        self.pending.extend(self.taken.drain(..));
    }

    /// Returns `true` if all parts are done.
    pub(crate) fn is_complete(&self) -> bool {
        self.pending.is_empty() && self.taken.is_empty()
    }

    /// Returns the results of all parts in the order of their indices.
    pub(crate) fn into_results(self) -> impl Iterator<Item = T> {
        self.done.into_values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_whoever_worked() {
        let mut division = Division::new(10, 4, 5);
        let mut parts: Vec<_> = std::iter::from_fn(|| division.take()).collect();
        assert_eq!(parts, [0..2, 2..5, 5..7, 7..10]);
        parts.reverse();
        division.put(&parts[0], 9);
        // Nobody has taken it.
        division.put(&(0..3), 7);
        division.give_back();
        assert!(!division.is_complete());
        // It comes too late, since the part was given back.
        division.put(&parts[3], 8);
        while let Some(part) = division.take() {
            division.put(&part, part.start);
        }
        assert!(division.is_complete());
        assert_eq!(division.into_results().collect::<Vec<_>>(), [0, 2, 5, 9]);
    }

    #[test]
    fn there_are_no_empty_parts() {
        assert!(Division::<()>::new(0, 3, 5).is_complete());
        let mut few = Division::<()>::new(2, 9, 5);
        assert_eq!(
            (few.take(), few.take(), few.take()),
            (Some(0..1), Some(1..2), None)
        );
        let mut many = Division::<()>::new(10, 1, 4);
        let parts: Vec<_> = std::iter::from_fn(|| many.take()).collect();
        assert_eq!(parts, [0..3, 3..6, 6..10]);
    }
}
