//! Counts of passed and failed checks.

/// The counts of a run's checks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of checks that passed.
    pub passed: u64,
    /// The number of checks that failed.
    pub failed: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// Sums up the `test result:` lines of cargo test.
pub(crate) fn count(lines: &[String]) -> Tally {
    let mut tally = Tally::default();
    for line in lines {
        let Some(rest) = line.trim_start().strip_prefix("test result: ") else {
            continue;
        };
        tally.passed += number_before(rest, " passed");
        tally.failed += number_before(rest, " failed");
    }
    tally
}

fn number_before(text: &str, word: &str) -> u64 {
    let before = text.split(word).next().unwrap_or_default();
    let digits = before.rsplit(|c: char| !c.is_ascii_digit()).next();
    digits
        .and_then(|digits| digits.parse().ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_results_are_summed() {
        let lines: Vec<String> = [
            "running 3 tests",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.2s",
            "a line with 9 passed, which is not a result",
        ]
        .map(String::from)
        .into();
        let sum = Tally {
            passed: 15,
            failed: 2,
        };
        assert_eq!(count(&lines), sum);
        assert_eq!(count(&[]), Tally::default());
    }
}
