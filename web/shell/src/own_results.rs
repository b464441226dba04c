//! The record of the visitor's own results, kept as CSV in the browser's local storage.

use crate::number_format::fixed;
use crate::query::plain_word;
use crate::state::PageState;

/// First line of the record, which names its columns.
const HEADER: &str = "date,world,task,seed,streams,rules,actions,score,best_policy,best_score";
/// Largest number of results that are kept.
const RESULTS_MAX: usize = 1000;

/// A score in units of 0.001, as the page shows every score: with a finer unit, a score could be
/// rounded twice, and the record would show another one than the episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Score(u16);

impl Score {
    /// Rounds a score to the unit.
    #[must_use]
    pub fn new(score: f64) -> Self {
        Self((score.clamp(0.0, 1.0) * 1000.0).round() as u16)
    }

    /// Returns the score as a number, `0..=1`.
    #[must_use]
    pub fn value(self) -> f64 {
        f64::from(self.0) / 1000.0
    }

    /// Parses a score such as `0.874`. The standard library's parser of floats would be larger than
    /// this module.
    fn parse(text: &str) -> Option<Self> {
        let (whole, rest) = text.split_once('.')?;
        let is_short = rest.len() == 3 && rest.bytes().all(|byte| byte.is_ascii_digit());
        let score = match whole {
            "0" => rest.parse().ok(),
            "1" => Some(1000).filter(|_| rest == "000"),
            _ => None,
        };
        score.filter(|_| is_short).map(Self)
    }
}

/// The final score of an episode in which the visitor chose every action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnResult {
    /// Day on which the episode ended, such as `2026-11-23`.
    pub date: String,
    /// Name of the world.
    pub world: String,
    /// Name of the task.
    pub task: String,
    /// Seed of the episode.
    pub seed: u64,
    /// Name of the stream mode.
    pub streams: String,
    /// Value of the `rules` parameter.
    pub rules: String,
    /// Number of actions of the episode.
    pub actions: u32,
    /// Final score of the episode.
    pub score: Score,
    /// Name and score of the best policy on the same episode, if they are known.
    pub best: Option<(String, Score)>,
}

impl OwnResult {
    /// Returns `true` if the result is one of the episode that `state` shows; with `any_seed` the
    /// seed may differ.
    #[must_use]
    pub fn fits(&self, state: &PageState, any_seed: bool) -> bool {
        let is_like = self.world == state.world
            && self.task == state.task
            && self.streams == state.streams
            && self.rules == state.rules;
        is_like && (any_seed || self.seed == state.seed)
    }

    fn parse(line: &str) -> Option<Self> {
        let mut cells = line.split(',');
        let mut cell = || cells.next();
        let date = cell().filter(|date| is_date(date))?.to_owned();
        let (world, task) = (plain_word(cell()?)?, plain_word(cell()?)?);
        let seed = crate::query::parse_seed(cell()?)?;
        let (streams, rules) = (plain_word(cell()?)?, plain_word(cell()?)?);
        let actions = cell()?.parse().ok()?;
        let score = Score::parse(cell()?)?;
        let (player, best) = (cell()?, cell()?);
        let best = match player {
            "" => None,
            _ => Some((plain_word(player)?, Score::parse(best)?)),
        };
        cells.next().is_none().then_some(Self {
            date,
            world,
            task,
            seed,
            streams,
            rules,
            actions,
            score,
            best,
        })
    }
}

/// Returns `true` for a text such as `2026-11-23`.
fn is_date(text: &str) -> bool {
    let fits = |(index, byte): (usize, u8)| match index {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    text.len() == 10 && text.bytes().enumerate().all(fits)
}

/// Parses a record; returns its results, oldest first, and the number of lines that are not
/// understood. Nothing of a text with another header is.
#[must_use]
pub fn parse_record(text: &str) -> (Vec<OwnResult>, usize) {
    let mut lines = text.lines().filter(|line| !line.is_empty());
    if lines.next().is_some_and(|line| line != HEADER) {
        return (Vec::new(), lines.count() + 1);
    }
    let (mut results, mut unread) = (Vec::new(), 0);
    for line in lines {
        match OwnResult::parse(line) {
            Some(result) => results.push(result),
            None => unread += 1,
        }
    }
    (results, unread)
}

/// Formats a record as CSV. The cells are words and numbers, which need no quotes.
#[must_use]
pub fn format_record(results: &[OwnResult]) -> String {
    let mut text = HEADER.to_owned();
    let old = results.len().saturating_sub(RESULTS_MAX);
    for result in &results[old..] {
        let (player, best) = match &result.best {
            Some((player, best)) => (player.as_str(), fixed(best.value(), 3)),
            None => ("", String::new()),
        };
        let (seed, actions) = (result.seed.to_string(), result.actions.to_string());
        let score = fixed(result.score.value(), 3);
        let cells = [
            &result.date,
            &result.world,
            &result.task,
            &seed,
            &result.streams,
            &result.rules,
            &actions,
            &score,
            player,
            &best,
        ];
        text.push('\n');
        text.push_str(&cells.join(","));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(seed: u64, score: f64) -> OwnResult {
        OwnResult {
            date: "2026-11-23".to_owned(),
            world: "trust".to_owned(),
            task: "task3".to_owned(),
            seed,
            streams: "independent".to_owned(),
            rules: "reference+health".to_owned(),
            actions: 22,
            score: Score::new(score),
            best: None,
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let mut results = vec![result(40_780, 0.874), result(u64::MAX >> 1, 1.0)];
        results[1].best = Some(("oracle_lite".to_owned(), Score::new(0.91239)));
        let text = format_record(&results);
        assert!(
            text.contains(
                "\n2026-11-23,trust,task3,40780,independent,reference+health,22,0.874,,\n"
            )
        );
        assert!(text.contains(",1.000,oracle_lite,0.912\n"), "{text}");
        assert_eq!(parse_record(&text), (results, 0));
        assert_eq!(parse_record(""), (Vec::new(), 0));
    }

    #[test]
    fn a_recorded_score_is_the_one_that_the_page_shows() {
        for hundred_thousandths in 0..=100_000 {
            let score = f64::from(hundred_thousandths) / 100_000.0;
            let recorded = fixed(Score::new(score).value(), 3);
            assert_eq!(recorded, fixed(score, 3), "{score}");
            assert_eq!(Score::parse(&recorded), Some(Score::new(score)), "{score}");
        }
    }

    #[test]
    fn foreign_lines_are_counted_and_the_rest_is_kept() {
        let good = format_record(&[result(1, 0.5)]);
        let line = good.lines().nth(1).expect("a line").to_owned();
        let bad = [
            "null".to_owned(),
            "\u{0}\u{feff}".to_owned(),
            line.replace("0.500", "1.500"),
            line.replace("0.500", "0.+12"),
            line.replace("0.500", "0.é0"),
            line.replace("0.500", "NaN"),
            line.replace("2026-11-23", "2026-11-2é"),
            line.replace("task3", "<b>"),
            line.replace(",1,", ",-1,"),
            line.clone() + ",more",
        ];
        for bad in bad {
            assert_eq!(parse_record(&format!("{good}{bad}\n")).1, 1, "{bad:?}");
            assert_eq!(
                parse_record(&format!("{good}{bad}\n")).0.len(),
                1,
                "{bad:?}"
            );
        }
        for foreign in ["{}", "[1, 2]\n[3]", "date,world\n1,2\n", "\u{ffff}"] {
            let (results, unread) = parse_record(foreign);
            assert_eq!((results.len(), unread), (0, foreign.lines().count()));
        }
    }

    #[test]
    fn a_long_record_loses_its_oldest_results() {
        let results: Vec<_> = (0..1200).map(|seed| result(seed, 0.1)).collect();
        let (kept, unread) = parse_record(&format_record(&results));
        assert_eq!((kept.len(), unread, kept[0].seed), (RESULTS_MAX, 0, 200));
    }

    #[test]
    fn results_belong_to_an_episode() {
        let mut state = PageState {
            world: "trust".to_owned(),
            task: "task3".to_owned(),
            seed: 7,
            streams: "independent".to_owned(),
            rules: "reference+health".to_owned(),
            ..PageState::default()
        };
        assert!(result(7, 0.5).fits(&state, false));
        assert!(!result(8, 0.5).fits(&state, false) && result(8, 0.5).fits(&state, true));
        state.rules = "reference".to_owned();
        assert!(!result(7, 0.5).fits(&state, true));
    }
}
