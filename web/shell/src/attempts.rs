//! The play of a policy while it is trained: its attempts at one episode at some times, and its rates
//! at first and now.

use sentinel_page_protocol::{Attempt, Rate};
use serde::{Deserialize, Serialize};

use crate::number_format::fixed;

/// Seconds of training from which on an attempt is kept.
const KEPT_FROM: [f64; 5] = [0.0, 5.0, 15.0, 30.0, 60.0];

/// The attempts and rates of a run. Its size does not grow with the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AttemptLog {
    rows: Vec<(f64, Attempt)>,
    first: Vec<Rate>,
    newest: Vec<Rate>,
}

impl AttemptLog {
    /// Adds the results of an evaluation after `seconds` of training. Of the attempts so far, the first one
    /// at or after each of some times stays.
    pub fn push(&mut self, seconds: f64, rates: Vec<Rate>, attempt: Option<Attempt>) {
        if self.first.is_empty() {
            self.first.clone_from(&rates);
        }
        self.newest = rates;
        let Some(attempt) = attempt else {
            return;
        };
        let passed = |at: f64| KEPT_FROM.iter().filter(|from| at >= **from).count();
        let count = self.rows.len();
        let before_last = count.checked_sub(2).map_or(0, |at| passed(self.rows[at].0));
        // The last row stood for the newest policy only.
        if self
            .rows
            .last()
            .is_some_and(|(at, _)| passed(*at) <= before_last)
        {
            self.rows.pop();
        }
        self.rows.push((seconds, attempt));
    }

    /// Returns the attempts that are kept, each with the seconds of training before it; the last one is
    /// the newest.
    #[must_use]
    pub fn rows(&self) -> &[(f64, Attempt)] {
        &self.rows
    }

    /// Returns the rates at the first and at the newest evaluation.
    pub fn rates(&self) -> impl Iterator<Item = (&Rate, &Rate)> {
        self.first.iter().zip(&self.newest)
    }

    /// Returns the name of a row: the seconds of training, or `now`.
    #[must_use]
    pub fn name(&self, row: usize) -> String {
        match row > 0 && row + 1 == self.rows.len() {
            true => "now".to_owned(),
            false => fixed(self.rows[row].0, 0) + " s",
        }
    }

    /// Returns what a row shows, as a sentence.
    #[must_use]
    pub fn sentence(&self, row: usize) -> String {
        let (seconds, attempt) = &self.rows[row];
        let now = if self.name(row) == "now" {
            "Now, a"
        } else {
            "A"
        };
        format!(
            "{now}fter {} s: score {}; {}",
            fixed(*seconds, 0),
            fixed(attempt.score, 2),
            attempt.summary
        )
    }
}

/// Returns how many of 100 a rate counts; a dash if there was nothing to count.
#[must_use]
pub fn of_100(rate: &Rate) -> String {
    let share = rate.count / rate.of * 100.0;
    let is_small = share > 0.0 && share < 9.95;
    fixed(share, u32::from(is_small))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(times: &[f64]) -> AttemptLog {
        let mut log = AttemptLog::default();
        for (index, seconds) in times.iter().enumerate() {
            let rate = Rate {
                count: index as f64,
                of: 8.0,
                ..Rate::default()
            };
            let attempt = Attempt {
                score: 0.777,
                summary: "9 delegations, fooled once".to_owned(),
                ..Attempt::default()
            };
            log.push(*seconds, vec![rate], Some(attempt));
        }
        log
    }

    fn times(log: &AttemptLog) -> Vec<f64> {
        log.rows().iter().map(|(seconds, _)| *seconds).collect()
    }

    #[test]
    fn some_attempts_and_the_newest_stay() {
        assert_eq!(times(&log(&[0.4])), [0.4]);
        assert_eq!(times(&log(&[0.4, 3.0])), [0.4, 3.0]);
        assert_eq!(times(&log(&[0.4, 3.0, 4.0])), [0.4, 4.0]);
        assert_eq!(times(&log(&[0.4, 3.0, 5.5, 8.0, 16.0])), [0.4, 5.5, 16.0]);
        // An evaluation may pass two times at once.
        assert_eq!(times(&log(&[0.4, 20.0, 25.0, 31.0])), [0.4, 20.0, 31.0]);
        let long: Vec<f64> = (0..400).map(f64::from).collect();
        let kept = times(&log(&long));
        assert_eq!(kept, [0.0, 5.0, 15.0, 30.0, 60.0, 399.0]);
    }

    #[test]
    fn rows_have_names_and_sentences() {
        let log = log(&[0.4, 5.5, 8.0]);
        let names: Vec<_> = (0..3).map(|row| log.name(row)).collect();
        assert_eq!(names, ["0 s", "6 s", "now"]);
        let text = "fter 6 s: score 0.78; 9 delegations, fooled once";
        assert_eq!(log.sentence(1), "A".to_owned() + text);
        assert_eq!(
            log.sentence(2),
            "Now, a".to_owned() + &text.replace('6', "8")
        );
    }

    #[test]
    fn rates_are_of_one_hundred() {
        let log = log(&[0.0, 5.0, 9.0]);
        let shown: Vec<_> = log
            .rates()
            .map(|(first, newest)| [of_100(first), of_100(newest)])
            .collect();
        assert_eq!(shown, [["0", "25"]]);
        let rate = |count, of| Rate {
            count,
            of,
            ..Rate::default()
        };
        assert_eq!(of_100(&rate(1.0, 80.0)), "1.3");
        assert_eq!(of_100(&rate(0.0, 0.0)), "–");
    }
}
