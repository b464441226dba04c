//! Which examples share a row: best fit, the longest first (arXiv:2404.10830), as TRL packs.

use std::collections::{BTreeMap, VecDeque};

/// Puts lengths into rows of at most `limit`: the longest first, each into the row that it leaves the
/// least room in, into a new one where it fits nowhere. Of equal lengths the earlier comes first, of rows
/// with equal room the one that has had it longest. A length above the limit gets a row of its own.
///
/// Gives the places of the lengths, row by row.
#[must_use]
pub fn pack(lengths: &[usize], limit: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|place| std::cmp::Reverse(lengths[*place]));
    let mut rows: Vec<Vec<usize>> = Vec::new();
    // Rows with room, by how much it is.
    let mut open: BTreeMap<usize, VecDeque<usize>> = BTreeMap::new();
    for place in order {
        let length = lengths[place];
        let fitting = open.range_mut(length..).next();
        let found = fitting.and_then(|(room, rows)| Some((*room, rows.pop_front()?)));
        let (room, row) = found.unwrap_or_else(|| {
            rows.push(Vec::new());
            (limit, rows.len() - 1)
        });
        if open.get(&room).is_some_and(VecDeque::is_empty) {
            open.remove(&room);
        }
        rows[row].push(place);
        let left = room.saturating_sub(length);
        if left > 0 {
            open.entry(left).or_default().push_back(row);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `trl.data_utils.pack_dataset(…, strategy="bfd")` of TRL 1.16.0 on rows of these lengths.
    #[test]
    fn rows_are_those_of_trl() {
        let found = pack(&[5, 3, 7, 2, 6, 1, 4, 8, 3, 5], 8);
        let rows: [&[usize]; 6] = [&[7], &[2, 5], &[4, 3], &[0, 1], &[9, 8], &[6]];
        assert_eq!(found, rows);
        let found = pack(&[3, 3, 3, 3, 3, 5, 5, 2, 2, 2, 9, 1], 10);
        let rows: [&[usize]; 5] = [&[10, 11], &[5, 6], &[0, 1, 2], &[3, 4, 7, 8], &[9]];
        assert_eq!(found, rows);
        let lengths = [
            16, 38, 35, 9, 24, 39, 31, 38, 5, 39, 1, 31, 17, 36, 15, 13, 31, 35, 36, 31, 26, 10,
            15, 10,
        ];
        let found = pack(&lengths, 40);
        let rows: [&[usize]; 16] = [
            &[5, 10],
            &[9],
            &[1],
            &[7],
            &[13],
            &[18],
            &[2, 8],
            &[17],
            &[6, 3],
            &[11],
            &[16],
            &[19],
            &[20, 15],
            &[4, 0],
            &[12, 14],
            &[22, 21, 23],
        ];
        assert_eq!(found, rows);
        assert_eq!(pack(&[], 5), Vec::<Vec<usize>>::new());
    }

    proptest! {
        #[test]
        fn everything_is_in_one_row_that_holds_it(
            lengths in prop::collection::vec(1_usize..50, 0..60),
            limit in 1_usize..60,
        ) {
            let rows = pack(&lengths, limit);
            let mut places: Vec<usize> = rows.concat();
            places.sort_unstable();
            prop_assert_eq!(places, (0..lengths.len()).collect::<Vec<_>>());
            for row in &rows {
                let sum: usize = row.iter().map(|place| lengths[*place]).sum();
                prop_assert!(sum <= limit || row.len() == 1);
            }
        }
    }
}
