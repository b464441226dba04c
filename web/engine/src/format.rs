//! Formatting of numbers for people.

use sentinel_page_protocol::number_format;

/// Formats a whole number with thin spaces between groups of three digits.
#[must_use]
pub fn grouped(number: usize) -> String {
    number_format::grouped(number as u64)
}

/// Formats a share in percent, without decimals unless it is below one percent.
#[must_use]
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        small if small > 0.0 && small < 0.95 => format!("{small:.1} %"),
        all => format!("{all:.0} %"),
    }
}

/// Formats `count` with a noun in singular or plural.
#[must_use]
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// Returns the text with its first letter in upper case.
#[must_use]
pub fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
