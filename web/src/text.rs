//! Numbers as a person reads them, and short lists in order.

/// A whole number with a thin space between thousands.
#[must_use]
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// Three decimals, as the observation shows numbers.
#[must_use]
pub fn three(value: f64) -> String {
    format!("{value:.3}")
}

/// Sorts a short list, or one that is nearly in order; equals stay as they are. The library's sort is faster for
/// long ones, and 3 kB of code for every kind of list.
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
    use super::{grouped, sort};

    #[test]
    fn equals_keep_their_order() {
        let mut items = [(2, 'a'), (1, 'b'), (2, 'c'), (0, 'd'), (1, 'e')];
        sort(&mut items, |a, b| a.0 < b.0);
        assert_eq!(items, [(0, 'd'), (1, 'b'), (1, 'e'), (2, 'a'), (2, 'c')]);
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(grouped(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(grouped(999), "999");
    }
}
