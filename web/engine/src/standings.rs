//! The statistics of a tournament: means with intervals, paired differences, histograms, and the
//! episodes at either end. Tasks count alike, as in the trainer's evaluations.

use sentinel_page_protocol::{Difference, EpisodeScore, Placement, Standings, Tone};
use sentinel_policy::insertion_sort::sort;
use sentinel_policy::interval::{ConfidenceInterval, PairedInterval, mean_of_cells};

use crate::format::grouped;

/// Number of bars of a histogram; odd, so that one bar of the differences is around 0.
pub const BARS: usize = 21;
/// Number of episodes that are named at either end.
const NAMED: usize = 5;
/// Step of the ends of a histogram's range.
const RANGE_STEP: f64 = 0.1;

/// A score or a difference, with the number of its episode.
type Numbered = (usize, f64);

/// State of one episode of one player.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Outcome {
    /// It was not played so far.
    #[default]
    Open,
    /// It cannot be played, because the player's replay does not hold it.
    LeftOut,
    /// It was played to its end, with this final score.
    Score(f64),
}

impl Outcome {
    const fn score(self) -> Option<f64> {
        match self {
            Self::Score(score) => Some(score),
            Self::Open | Self::LeftOut => None,
        }
    }
}

/// A player with the outcomes of its episodes.
pub struct PlayerResults {
    /// The player as the address writes it.
    pub player: String,
    /// Readable name of the player.
    pub label: String,
    /// Outcomes by the number of the episode; those beyond the end are open.
    pub outcomes: Vec<Outcome>,
    /// Number of recorded actions that the fallback had taken when a replay was recorded.
    pub fallbacks: usize,
    /// `true` if its file could not be loaded, so that it takes no part.
    pub is_gone: bool,
}

impl PlayerResults {
    /// Sets the outcome of an episode.
    pub fn set(&mut self, episode: usize, outcome: Outcome) {
        if self.outcomes.len() <= episode {
            self.outcomes.resize(episode + 1, Outcome::Open);
        }
        self.outcomes[episode] = outcome;
    }

    fn outcome(&self, episode: usize) -> Outcome {
        self.outcomes.get(episode).copied().unwrap_or_default()
    }

    /// Returns the scores with the numbers of their episodes, in the order of the episodes.
    fn scores(&self) -> Vec<Numbered> {
        let outcomes = self.outcomes.iter().enumerate();
        outcomes
            .filter_map(|(episode, outcome)| Some((episode, outcome.score()?)))
            .collect()
    }

    /// Returns the differences to the scores of `other`, with the numbers of the episodes that both
    /// have played.
    fn differences(&self, other: &Self) -> Vec<Numbered> {
        let own = self.scores().into_iter();
        own.filter_map(|(episode, score)| Some((episode, score - other.outcome(episode).score()?)))
            .collect()
    }

    fn count(&self, is_counted: impl Fn(Outcome) -> bool) -> u32 {
        let counted = self.outcomes.iter().filter(|outcome| is_counted(**outcome));
        to_u32(counted.count())
    }
}

/// The episodes of a tournament by number: tasks alternate, then seeds follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbering {
    /// Number of tasks of the tournament.
    pub tasks: usize,
    /// Lowest seed of the tournament.
    pub first_seed: u64,
    /// Number of all episodes of one player.
    pub episodes: usize,
}

impl Numbering {
    /// Returns the index of the task and the seed of an episode.
    #[must_use]
    pub fn place(&self, episode: usize) -> (usize, u64) {
        let tasks = self.tasks.max(1);
        let seed = u64::try_from(episode / tasks).unwrap_or(u64::MAX);
        (episode % tasks, self.first_seed.saturating_add(seed))
    }

    /// Returns the values of each task that has any.
    fn cells(&self, values: &[Numbered]) -> Vec<Vec<f64>> {
        let mut cells = vec![Vec::new(); self.tasks.max(1)];
        for (episode, value) in values {
            cells[self.place(*episode).0].push(*value);
        }
        cells.retain(|cell| !cell.is_empty());
        cells
    }

    fn named(&self, (episode, score): Numbered) -> EpisodeScore {
        let (task, seed) = self.place(episode);
        EpisodeScore {
            task: u16::try_from(task).unwrap_or(u16::MAX),
            seed,
            score: score as f32,
        }
    }
}

/// A player with its scores.
struct Scored<'a> {
    results: &'a PlayerResults,
    scores: Vec<Numbered>,
    /// The mean before it is rounded.
    mean: f64,
    interval: ConfidenceInterval,
}

impl<'a> Scored<'a> {
    fn new(numbering: &Numbering, results: &'a PlayerResults) -> Self {
        let scores = results.scores();
        let cells = numbering.cells(&scores);
        Self {
            results,
            scores,
            mean: mean_of_cells(&cells),
            interval: ConfidenceInterval::from_cells(&cells),
        }
    }

    /// Returns the value by which players are sorted; players without a score come last.
    const fn rank(&self) -> f64 {
        if self.scores.is_empty() {
            f64::NEG_INFINITY
        } else {
            self.mean
        }
    }
}

/// Returns the results so far. The players are compared with `reference`; with the best one if it
/// takes no part.
#[must_use]
pub fn standings(numbering: &Numbering, players: &[PlayerResults], reference: &str) -> Standings {
    let present = players.iter().filter(|results| !results.is_gone);
    let mut order: Vec<Scored<'_>> = present
        .map(|results| Scored::new(numbering, results))
        .collect();
    sort(&mut order, |a, b| a.rank() > b.rank());
    let score_range = score_range(order.iter().flat_map(|player| &player.scores));
    let chosen = order.iter().map(|player| player.results);
    let chosen = chosen.clone().find(|results| results.player == reference);
    let reference = chosen.or_else(|| best(&order));
    let others = order.iter().map(|player| player.results);
    let pairs: Vec<(&PlayerResults, Vec<Numbered>)> = others
        .filter(|results| reference.is_some_and(|reference| reference.player != results.player))
        .filter_map(|results| Some((results, results.differences(reference?))))
        .collect();
    let difference_range = difference_range(pairs.iter().flat_map(|(_, pairs)| pairs));
    let count = |is_counted: fn(Outcome) -> bool| {
        let counts = order.iter().map(|player| player.results.count(is_counted));
        counts.fold(0, u32::saturating_add)
    };
    let mut placements: Vec<Placement> = order
        .iter()
        .map(|player| placement(numbering, player, score_range))
        .collect();
    placements.extend(players.iter().filter(|e| e.is_gone).map(absent));
    let differences = pairs
        .iter()
        .map(|(results, pairs)| difference(numbering, results, pairs, difference_range));
    Standings {
        run: 0,
        played: count(|outcome| outcome != Outcome::Open),
        total: to_u32(order.len().saturating_mul(numbering.episodes)),
        left_out: count(|outcome| outcome == Outcome::LeftOut),
        reference: reference.map_or_else(String::new, |reference| reference.player.clone()),
        score_range,
        difference_range,
        placements,
        differences: differences.collect(),
    }
}

/// Returns the best player: of those from which no episode is left out, if there are any. A replay
/// of a few easy episodes is not the best.
fn best<'a>(order: &[Scored<'a>]) -> Option<&'a PlayerResults> {
    let mut players = order.iter().map(|player| player.results);
    let first = players.clone().next();
    let is_whole = |results: &&PlayerResults| results.count(|o| o == Outcome::LeftOut) == 0;
    players.find(is_whole).or(first)
}

fn placement(numbering: &Numbering, player: &Scored<'_>, range: [f64; 2]) -> Placement {
    let (results, scores) = (player.results, player.scores.as_slice());
    let named = |scores: Vec<Numbered>| scores.into_iter().map(|score| numbering.named(score));
    Placement {
        player: results.player.clone(),
        label: results.label.clone(),
        scored: to_u32(scores.len()),
        note: note(numbering, results, scores.len()),
        mean: player.interval.mean,
        half_width: match scores {
            [] => f64::NAN,
            _ => player.interval.half_width,
        },
        histogram: histogram(scores, range),
        worst: named(first_by(scores, |a, b| a < b)).collect(),
        best: named(first_by(scores, |a, b| a > b)).collect(),
    }
}

/// Returns the placement of a player whose file could not be loaded.
fn absent(results: &PlayerResults) -> Placement {
    Placement {
        player: results.player.clone(),
        label: results.label.clone(),
        note: "takes no part: its file could not be loaded".to_owned(),
        mean: f64::NAN,
        half_width: f64::NAN,
        ..Placement::default()
    }
}

/// Returns a sentence about episodes that were left out, and recorded actions of a fallback.
fn note(numbering: &Numbering, results: &PlayerResults, scored: usize) -> String {
    let mut parts = Vec::new();
    if results.count(|outcome| outcome == Outcome::LeftOut) > 0 {
        parts.push(format!(
            "{} of {} episodes",
            grouped(scored),
            grouped(numbering.episodes)
        ));
    }
    if results.fallbacks > 0 {
        parts.push(format!(
            "{} recorded actions by a fallback, where the model’s answer was not an action",
            results.fallbacks
        ));
    }
    parts.join("; ")
}

fn difference(
    numbering: &Numbering,
    results: &PlayerResults,
    pairs: &[Numbered],
    range: [f64; 2],
) -> Difference {
    let interval = PairedInterval::from_cells(&numbering.cells(pairs));
    let mean = interval.mean;
    let half_width = interval.half_width.unwrap_or(f64::NAN);
    let (verdict, tone) = verdict(pairs, mean, half_width);
    let count = |is_counted: fn(f64) -> bool| {
        to_u32(pairs.iter().filter(|(_, pair)| is_counted(*pair)).count())
    };
    let ends = |pairs: &[Numbered], comes_first: fn(f64, f64) -> bool| {
        let ends = first_by(pairs, comes_first).into_iter();
        ends.map(|pair| numbering.named(pair)).collect()
    };
    let (ahead, behind): (Vec<_>, Vec<_>) = pairs
        .iter()
        .copied()
        .filter(|(_, pair)| *pair != 0.0)
        .partition(|(_, pair)| *pair > 0.0);
    Difference {
        player: results.player.clone(),
        mean,
        half_width,
        verdict: verdict.to_owned(),
        tone,
        pairs: [
            count(|pair| pair > 0.0),
            count(|pair| pair == 0.0),
            count(|pair| pair < 0.0),
        ],
        histogram: histogram(pairs, range),
        ahead: ends(&ahead, |a, b| a > b),
        behind: ends(&behind, |a, b| a < b),
    }
}

/// Returns the verdict on paired differences. It is undecided if the interval contains 0, or if
/// a task has too few pairs for an interval.
fn verdict(pairs: &[Numbered], mean: f64, half_width: f64) -> (&'static str, Tone) {
    if pairs.is_empty() {
        return ("no pairs", Tone::Quiet);
    }
    if pairs.iter().all(|(_, pair)| *pair == 0.0) {
        return ("same", Tone::Neutral);
    }
    // A comparison with NaN is false.
    if mean - half_width > 0.0 {
        ("better", Tone::Good)
    } else if mean + half_width < 0.0 {
        ("worse", Tone::Bad)
    } else {
        ("undecided", Tone::Open)
    }
}

/// Returns the range of the histograms of all scores, with ends at tenths.
fn score_range<'a>(scores: impl Iterator<Item = &'a Numbered>) -> [f64; 2] {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for (_, score) in scores {
        low = low.min(*score);
        high = high.max(*score);
    }
    if low > high {
        return [0.0, 1.0];
    }
    let low = (low / RANGE_STEP + 1e-9).floor() * RANGE_STEP;
    let high = (high / RANGE_STEP - 1e-9).ceil() * RANGE_STEP;
    [low, high.max(low + RANGE_STEP)]
}

/// Returns the range of the histograms of all differences, which is as wide on either side of 0.
fn difference_range<'a>(pairs: impl Iterator<Item = &'a Numbered>) -> [f64; 2] {
    let widest = pairs.fold(0.0, |widest: f64, (_, pair)| widest.max(pair.abs()));
    let side = ((widest / RANGE_STEP - 1e-9).ceil() * RANGE_STEP).max(RANGE_STEP);
    [-side, side]
}

/// Returns the number of values in each of [`BARS`] equal parts of `range`.
fn histogram(values: &[Numbered], [low, high]: [f64; 2]) -> Vec<u32> {
    let mut counts = vec![0; BARS];
    for (_, value) in values {
        let share = (value - low) / (high - low);
        // Casts saturate, so that values outside are in the first or last part.
        let bar = (share * BARS as f64) as usize;
        counts[bar.min(BARS - 1)] += 1;
    }
    counts
}

/// Returns the few values that come first in an order, the first of equals first.
fn first_by(values: &[Numbered], comes_first: impl Fn(f64, f64) -> bool) -> Vec<Numbered> {
    let mut found: Vec<Numbered> = Vec::with_capacity(NAMED + 1);
    for (episode, value) in values {
        let place = found
            .iter()
            .position(|(_, other)| comes_first(*value, *other));
        match place {
            Some(place) => found.insert(place, (*episode, *value)),
            None if found.len() < NAMED => found.push((*episode, *value)),
            None => {}
        }
        found.truncate(NAMED);
    }
    found
}

fn to_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[path = "standings_tests.rs"]
mod tests;
