//! The assignment of jobs to the steps in which they start.

/// Returns the largest sum of values if each row gets a column of its own. There are at least as many
/// columns as rows, and all rows have the same length.
///
/// Uses the Hungarian algorithm with potentials, in rows² · columns operations.
pub(super) fn highest_sum(values: &[&[f64]]) -> f64 {
    let columns = values.first().map_or(0, |row| row.len());
    // Row and column 0 stand for none.
    let (mut of_row, mut of_column) = (vec![0.0; values.len() + 1], vec![0.0; columns + 1]);
    let mut row_at = vec![0; columns + 1];
    for row in 1..=values.len() {
        row_at[0] = row;
        let mut column = 0;
        let mut slack = vec![f64::INFINITY; columns + 1];
        let mut previous = vec![0; columns + 1];
        let mut is_used = vec![false; columns + 1];
        while row_at[column] != 0 {
            is_used[column] = true;
            let (at, mut delta, mut next) = (row_at[column], f64::INFINITY, 0);
            for other in (1..=columns).filter(|other| !is_used[*other]) {
                let cost = -values[at - 1][other - 1] - of_row[at] - of_column[other];
                if cost < slack[other] {
                    slack[other] = cost;
                    previous[other] = column;
                }
                if slack[other] < delta {
                    delta = slack[other];
                    next = other;
                }
            }
            for other in 0..=columns {
                if is_used[other] {
                    of_row[row_at[other]] += delta;
                    of_column[other] -= delta;
                } else {
                    slack[other] -= delta;
                }
            }
            column = next;
        }
        while column != 0 {
            row_at[column] = row_at[previous[column]];
            column = previous[column];
        }
    }
    let placed = row_at
        .iter()
        .enumerate()
        .skip(1)
        .filter(|(_, row)| **row > 0);
    placed
        .map(|(column, row)| values[row - 1][column - 1])
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the largest sum by trying every assignment.
    fn exhaustive(values: &[Vec<f64>], taken: u32) -> f64 {
        let Some((first, rest)) = values.split_first() else {
            return 0.0;
        };
        let free = (0..first.len()).filter(|column| taken >> column & 1 == 0);
        free.map(|column| first[column] + exhaustive(rest, taken | 1 << column))
            .fold(f64::NEG_INFINITY, f64::max)
    }

    proptest! {
        #[test]
        fn sum_is_that_of_the_best_assignment(
            values in prop::collection::vec(prop::collection::vec(-5.0..5.0f64, 6), 0..6)
        ) {
            let rows: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
            prop_assert!((highest_sum(&rows) - exhaustive(&values, 0)).abs() < 1e-9);
        }
    }
}
