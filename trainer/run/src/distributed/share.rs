//! The division of work among ranks.

use std::ops::Range;

/// The part of some work that one rank does. The parts of all ranks are disjoint, and together they
/// are the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Number of the rank, below `size`.
    pub rank: usize,
    /// Number of ranks that share the work.
    pub size: usize,
}

impl Share {
    /// The share of the only process.
    pub const WHOLE: Self = Self { rank: 0, size: 1 };

    /// Returns the contiguous part of `count` items that the rank takes. The numbers of items of two
    /// ranks differ by at most 1, and lower ranks come first.
    #[must_use]
    pub const fn block(self, count: usize) -> Range<usize> {
        let (each, more) = (count / self.size, count % self.size);
        let before = if self.rank < more { self.rank } else { more };
        let start = each * self.rank + before;
        let own = each + if self.rank < more { 1 } else { 0 };
        start..start + own
    }

    /// Returns `true` if the rank takes item `index` when items are dealt in turn. Items that are
    /// sorted by their cost are divided more evenly so than in blocks.
    #[must_use]
    pub const fn takes(self, index: usize) -> bool {
        index % self.size == self.rank
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No item is taken twice or left out, and no rank has two items more than another.
    #[test]
    fn every_item_belongs_to_exactly_one_rank() {
        for size in 1..9 {
            for count in 0..40 {
                let shares: Vec<Share> = (0..size).map(|rank| Share { rank, size }).collect();
                let blocks: Vec<Range<usize>> = shares.iter().map(|s| s.block(count)).collect();
                let joined: Vec<usize> = blocks.iter().cloned().flatten().collect();
                assert_eq!(joined, (0..count).collect::<Vec<_>>(), "{size} {count}");
                let lengths = || blocks.iter().map(Range::len);
                assert!(lengths().max() <= lengths().min().map(|least| least + 1));
                for index in 0..count {
                    let takers = shares.iter().filter(|share| share.takes(index));
                    assert_eq!(takers.count(), 1, "{size} {index}");
                }
            }
        }
    }
}
