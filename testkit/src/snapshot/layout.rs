//! Numbers, lines and headings of a snapshot.

use std::fmt::Write as _;

/// Formats a number with three decimals. The digests cover the remaining ones.
pub(super) fn number(value: f64) -> String {
    // Adding 0 removes the sign of a negative zero.
    format!("{:.3}", (value * 1000.0).round() / 1000.0 + 0.0)
}

pub(super) fn line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

pub(super) fn heading(out: &mut String, text: &str) {
    // Writing to a string cannot fail.
    let _ = write!(out, "\n{text}\n{}\n", "-".repeat(text.len()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_zero_is_formatted_without_sign() {
        assert_eq!(
            [-0.0001, 0.0, 0.12345].map(number),
            ["0.000", "0.000", "0.123"]
        );
    }
}
