//! The episode of the day: a seed that follows from the date, and a result text that tells no
//! action.

use sentinel_page_protocol::{StepLine, Tone};

use crate::number_format::fixed;

/// Milliseconds of a day.
const DAY_MS: f64 = 86_400_000.0;
/// Lowest seed of a day. No seed from here to [`LAST`] is used for training, for choosing a model or
/// for tests.
const FIRST: u64 = 20_000;
/// Highest seed of a day.
const LAST: u64 = 99_999;
/// Number of symbols in a line of the result text.
const WIDTH: usize = 20;

/// Returns the number of days from 1970-01-01 (UTC) to a time in milliseconds; 0 before that.
#[must_use]
pub const fn day_of(ms: f64) -> u64 {
    (ms / DAY_MS) as u64
}

/// Returns the seed of a day.
#[must_use]
pub const fn seed_of(day: u64) -> u64 {
    FIRST + day % (LAST - FIRST + 1)
}

/// Formats a day as `YYYY-MM-DD`.
#[must_use]
pub fn date_of(day: u64) -> String {
    // Years start on March 1st here, so that the leap day comes last: 400 of them have 146 097 days.
    let shifted = day + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let (month, later) = match month_from_march {
        0..10 => (month_from_march + 3, 0),
        _ => (month_from_march - 9, 1),
    };
    format!(
        "{:04}-{month:02}-{day_of_month:02}",
        era * 400 + year + later
    )
}

/// A finished episode of the day.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DailyResult {
    /// Title of the world.
    pub world: String,
    /// The day, such as `2026-11-23`.
    pub date: String,
    /// The visitor's final score.
    pub score: f64,
    /// Name and score of the policy to compare with, if they are known.
    pub policy: Option<(String, f64)>,
    /// Number of lines that the visitor tried.
    pub lines: usize,
    /// One symbol for each action; see [`symbols`].
    pub symbols: String,
    /// Number of actions of the episode.
    pub actions: usize,
    /// Address of the episode, without the visitor's actions.
    pub link: String,
}

impl DailyResult {
    /// Returns the text to share. It names no action.
    #[must_use]
    pub fn text(&self) -> String {
        let Self {
            world,
            date,
            symbols,
            actions,
            link,
            ..
        } = self;
        let score = fixed(self.score, 3);
        let policy = self
            .policy
            .as_ref()
            .map_or_else(String::new, |(name, score)| {
                format!(", {name} {}", fixed(*score, 3))
            });
        let lines = match self.lines {
            0 | 1 => String::new(),
            lines => format!(", {lines} lines tried"),
        };
        format!(
            "Sentinel, {world}, {date}: {score}{policy}, {actions} actions{lines}\n{symbols}\n{link}"
        )
    }
}

/// Returns a symbol for the public result of each action, in lines of 20.
#[must_use]
pub fn symbols(steps: &[StepLine]) -> String {
    let mut text = String::new();
    for (index, step) in steps.iter().enumerate() {
        if index > 0 && index % WIDTH == 0 {
            text.push('\n');
        }
        // No emoji: not every system has a font with them.
        text.push(match step.tone {
            Tone::Good => '✓',
            Tone::Bad => '✗',
            Tone::Warn => '!',
            Tone::Open => '?',
            Tone::Neutral => '○',
            Tone::Quiet => '–',
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_follow_the_calendar() {
        for (ms, date) in [
            (0.0, "1970-01-01"),
            (951_782_400_000.0, "2000-02-29"),
            (951_868_800_000.0, "2000-03-01"),
            (1_735_689_599_999.0, "2024-12-31"),
            (1_735_689_600_000.0, "2025-01-01"),
            (1_795_392_000_000.0, "2026-11-23"),
            (4_107_542_400_000.0, "2100-03-01"),
        ] {
            assert_eq!(date_of(day_of(ms)), date, "{ms}");
        }
        assert_eq!(day_of(-5.0), 0);
        assert_eq!(day_of(f64::NAN), 0);
    }

    #[test]
    fn every_day_has_a_seed_that_nothing_else_uses() {
        let today = day_of(1_795_392_000_000.0);
        assert_eq!(seed_of(today), 40_780);
        assert_eq!(seed_of(today + 1), 40_781);
        for day in [0, 59_999, 79_999, 80_000, 1_000_000] {
            assert!((FIRST..=LAST).contains(&seed_of(day)), "{day}");
        }
    }

    #[test]
    fn the_result_names_no_action() {
        let step = |tone| StepLine {
            code: "v3".to_owned(),
            label: "Verifies S3".to_owned(),
            tone,
            ..StepLine::default()
        };
        let mut steps = vec![step(Tone::Good), step(Tone::Bad), step(Tone::Quiet)];
        let mut result = DailyResult {
            world: "Whom to trust".to_owned(),
            date: "2026-11-23".to_owned(),
            score: 0.874,
            policy: Some(("Trained policy (GRPO)".to_owned(), 0.8621)),
            lines: 1,
            symbols: symbols(&steps),
            actions: 3,
            link: "https://example.org/?task=task3".to_owned(),
        };
        assert_eq!(
            result.text(),
            "Sentinel, Whom to trust, 2026-11-23: 0.874, Trained policy (GRPO) 0.862, 3 actions\n✓✗–\nhttps://example.org/?task=task3"
        );
        (result.policy, result.lines) = (None, 2);
        assert!(
            result
                .text()
                .contains(": 0.874, 3 actions, 2 lines tried\n")
        );
        steps.resize(21, step(Tone::Open));
        assert_eq!(symbols(&steps).lines().count(), 2);
    }
}
