//! The question of the day: a seed that follows from the date, and a result text that names nobody.

/// Milliseconds of a day.
const DAY_MS: f64 = 86_400_000.0;
/// Lowest seed of a day. No seed from here to [`LAST`] is used for training, for choosing a model or
/// for tests.
const FIRST: u64 = 20_000;
/// Highest seed of a day.
const LAST: u64 = 99_999;

/// Largest number of symbols in the row of a result.
const SYMBOLS_MAX: u32 = 30;

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

/// A visitor's answer to a world's question, beside that of the network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpotResult {
    /// Name of the question, such as `Spot the liar`.
    pub title: String,
    /// The day, such as `2026-11-23`; empty if it is not the question of a day.
    pub date: String,
    /// Number of steps of the episode.
    pub steps: u32,
    /// Step at which the visitor named the suspect that was kept, and whether it was right; `None` if
    /// nobody was named.
    pub own: Option<(u32, bool)>,
    /// Step from which on the network was sure, and whether it was right; `None` if it was not sure of
    /// anybody.
    pub network: Option<(u32, bool)>,
    /// Address of the question.
    pub link: String,
}

impl SpotResult {
    /// Returns the text to share. It names no suspect.
    #[must_use]
    pub fn text(&self) -> String {
        let Self {
            title, date, steps, ..
        } = self;
        let date = match date.as_str() {
            "" => String::new(),
            date => format!(", {date}"),
        };
        let verdict = |right| if right { "right" } else { "wrong" };
        let own = match self.own {
            Some((step, right)) => format!("I was {} at step {step} of {steps}", verdict(right)),
            None => "I named nobody".to_owned(),
        };
        let network = self.network.map_or_else(String::new, |(step, right)| {
            format!(", the network {} at step {step}", verdict(right))
        });
        let (row, link) = (self.row(), &self.link);
        format!("Sentinel, {title}{date}\n{own}{network}\n{row}\n{link}")
    }

    /// Returns a symbol for each step, or for several of a long episode: whether the visitor and the
    /// network were right there.
    fn row(&self) -> String {
        let width = (self.steps + 1).div_ceil(SYMBOLS_MAX).max(1);
        let is_at = |step: u32, first: u32| (first..first + width).contains(&step);
        // No emoji: not every system has a font with them.
        let symbol = |first: u32| match (self.own, self.network) {
            (Some((own, true)), _) if is_at(own, first) => '✓',
            (Some((own, false)), _) if is_at(own, first) => '✗',
            (_, Some((network, true))) if is_at(network, first) => '●',
            (_, Some((network, false))) if is_at(network, first) => '○',
            _ => '·',
        };
        (0..=self.steps)
            .step_by(width as usize)
            .map(symbol)
            .collect()
    }
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
    fn the_result_names_no_suspect() {
        let mut result = SpotResult {
            title: "Spot the liar".to_owned(),
            date: "2026-11-23".to_owned(),
            steps: 8,
            own: Some((3, false)),
            network: Some((6, true)),
            link: "https://example.org/?page=spot".to_owned(),
        };
        assert_eq!(
            result.text(),
            "Sentinel, Spot the liar, 2026-11-23\nI was wrong at step 3 of 8, the network right at step 6\n···✗··●··\nhttps://example.org/?page=spot"
        );
        (result.own, result.date) = (None, String::new());
        assert!(
            result
                .text()
                .starts_with("Sentinel, Spot the liar\nI named nobody, the network")
        );
        result.own = Some((6, true));
        assert!(result.text().contains("\n······✓··\n"));
        (result.steps, result.own) = (120, Some((119, false)));
        assert_eq!(result.row().chars().count(), 25);
        assert!(result.row().starts_with("·●···") && result.row().contains('✗'));
    }
}
