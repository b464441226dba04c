//! Truncation of text that may be very long.

/// Returns the first `max` characters of `text`.
#[must_use]
pub fn truncate_chars(text: &str, max: usize) -> &str {
    match text.char_indices().nth(max) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// Returns the first `max` characters of `text`, followed by an ellipsis if the text is longer.
#[must_use]
pub fn abbreviate(text: &str, max: usize) -> String {
    let start = truncate_chars(text, max);
    let mark = if start.len() < text.len() { "…" } else { "" };
    format!("{start}{mark}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clip_and_abbreviate_respect_char_boundaries() {
        assert_eq!(truncate_chars("größer", 3), "grö");
        assert_eq!(truncate_chars("größer", 6), "größer");
        assert_eq!(abbreviate("größer", 3), "grö…");
        assert_eq!(abbreviate("größer", 6), "größer");
        assert_eq!(abbreviate("", 0), "");
    }
}
