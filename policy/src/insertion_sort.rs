//! A small stable sort for short lists.

/// Sorts `items` in place with a stable insertion sort, where `before` is a strict ordering.
///
/// Takes quadratic time in the worst case, so use it for lists that are short or nearly sorted. The
/// standard library's sort is faster on long lists, but each element type that uses it adds about 4
/// kB to the page's initial download.
pub fn sort<T>(items: &mut [T], before: impl Fn(&T, &T) -> bool) {
    for end in 1..items.len() {
        let mut at = end;
        while at > 0 && before(&items[at], &items[at - 1]) {
            items.swap(at, at - 1);
            at -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::sort;

    #[test]
    fn insertion_sort_matches_std_stable_sort() {
        for seed in 0..50_u64 {
            let digit = |at: u64| (seed.wrapping_mul(0x9E37_79B9).wrapping_add(at * 7919) >> 5) % 5;
            let mut ours: Vec<(u64, u64)> = (0..40).map(|at| (digit(at), at)).collect();
            let mut library = ours.clone();
            library.sort_by_key(|row| row.0);
            sort(&mut ours, |a, b| a.0 < b.0);
            assert_eq!(ours, library);
        }
    }
}
