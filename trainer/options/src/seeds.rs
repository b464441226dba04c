//! Seeds and ranges of seeds, with their form on the command line.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use sentinel_policy::SEED_MAX;
use serde::{Deserialize, Serialize};

/// The maximum number of seeds in a range, so that a typing error does not exhaust the memory.
const COUNT_MAX: u64 = 1_000_000;

/// The seeds for training, in every world and for every kind of model.
pub const TRAINING: SeedRange = SeedRange::new(100_000, 1_000_000);
/// The seeds on which a model is selected while it is trained.
pub const VALIDATION: SeedRange = SeedRange::new(5_000, 6_000);

/// A non-empty range of seeds: `3..9` is 3 to 8, `3..=9` is 3 to 9, `7` is 7 alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SeedRange {
    start: u64,
    end: u64,
}

/// The reason why a text is not a seed, a range of seeds or a number of episodes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SeedError {
    /// The seed is below 0.
    #[error("seed {0} is negative: seeds are integers from 0 to {SEED_MAX}")]
    Negative(String),
    /// The seed is 2^63 or more.
    #[error("seed {0} is too large: seeds are integers from 0 to {SEED_MAX}")]
    TooLarge(String),
    /// The text is not an integer.
    #[error("seed {0:?} is not an integer: seeds are integers from 0 to {SEED_MAX}")]
    NotAnInteger(String),
    /// The range is empty.
    #[error("the range {0} holds no seed: write the smaller end first, as in 0..30")]
    Empty(String),
    /// The range is too large.
    #[error("the range {0} holds more than {COUNT_MAX} seeds: use several runs")]
    TooMany(String),
    /// The text is not a number of episodes.
    #[error("{0:?} is not a number of episodes: use an integer from 1 to {COUNT_MAX}")]
    Episodes(String),
}

/// Parses the seed that is written as `text`.
///
/// # Errors
/// Returns an error if it is not an integer in `0..=SEED_MAX`.
pub fn parse_seed(text: &str) -> Result<u64, SeedError> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(SeedError::NotAnInteger(text.to_owned()));
    }
    if digits.len() < text.len() {
        return Err(SeedError::Negative(text.to_owned()));
    }
    let seed = digits.parse().ok().filter(|seed| *seed <= SEED_MAX);
    seed.ok_or_else(|| SeedError::TooLarge(text.to_owned()))
}

impl SeedRange {
    /// Returns the seeds `0..count`, for a count as it is written.
    ///
    /// # Errors
    /// Returns an error if it is not an integer in `1..=1000000`.
    pub fn from_count(count: &str) -> Result<Self, SeedError> {
        let number = count.parse().ok().filter(|n| (1..=COUNT_MAX).contains(n));
        let end = number.ok_or_else(|| SeedError::Episodes(count.to_owned()))?;
        Ok(Self { start: 0, end })
    }

    /// Returns the seeds `start..end`, for constants.
    ///
    /// # Panics
    /// Panics if the range is empty.
    #[must_use]
    pub const fn new(start: u64, end: u64) -> Self {
        assert!(start < end, "a range holds a seed");
        Self { start, end }
    }

    /// Returns `true` if the two ranges have a seed in common.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Returns `true` if this range contains all seeds of the other.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    fn checked(start: u64, end: u64, text: &str) -> Result<Self, SeedError> {
        match end.checked_sub(start) {
            None | Some(0) => Err(SeedError::Empty(text.to_owned())),
            Some(count) if count > COUNT_MAX => Err(SeedError::TooMany(text.to_owned())),
            Some(_) => Ok(Self { start, end }),
        }
    }

    /// Returns the seeds as a standard range.
    #[must_use]
    pub const fn range(self) -> Range<u64> {
        self.start..self.end
    }

    /// Returns the number of seeds.
    #[must_use]
    pub const fn count(self) -> u64 {
        self.end - self.start
    }
}

impl FromStr for SeedRange {
    type Err = SeedError;

    fn from_str(text: &str) -> Result<Self, SeedError> {
        let Some((start, end)) = text.split_once("..") else {
            let seed = parse_seed(text)?;
            return Self::checked(seed, seed + 1, text);
        };
        let (end, included) = match end.strip_prefix('=') {
            Some(end) => (end, 1),
            None => (end, 0),
        };
        // SEED_MAX + 1 still fits.
        Self::checked(parse_seed(start)?, parse_seed(end)? + included, text)
    }
}

impl TryFrom<String> for SeedRange {
    type Error = SeedError;

    fn try_from(text: String) -> Result<Self, SeedError> {
        text.parse()
    }
}

impl From<SeedRange> for String {
    fn from(range: SeedRange) -> Self {
        range.to_string()
    }
}

impl fmt::Display for SeedRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> String {
        text.parse::<SeedRange>()
            .map_or_else(|e| e.to_string(), |range| range.to_string())
    }

    #[test]
    fn seed_ranges_parse_rust_syntax() {
        assert_eq!(parsed("0..30"), "0..30");
        assert_eq!(parsed("0..=29"), "0..30");
        assert_eq!(parsed("7"), "7..8");
        let last = SEED_MAX.to_string();
        assert_eq!(parsed(&last), format!("{SEED_MAX}..9223372036854775808"));
    }

    #[test]
    fn invalid_seed_range_error_names_reason() {
        assert!(parsed("5..2").contains("the range 5..2 holds no seed"));
        assert!(parsed("5..5").contains("holds no seed"));
        assert!(parsed("-3..5").contains("seed -3 is negative"));
        assert!(parsed("0..9223372036854775808").contains("is too large"));
        assert!(parsed("0..99999999999999999999999").contains("is too large"));
        assert!(parsed("0..9223372036854775807").contains("more than 1000000 seeds"));
        for text in [
            "", "..", "a..b", "1..", "..4", "1.5", "+3", "0...3", "１..２",
        ] {
            assert!(
                parsed(text).contains("is not an integer"),
                "{text}: {}",
                parsed(text)
            );
        }
    }
}
