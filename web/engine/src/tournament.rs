//! Tournaments: every player plays the same episodes, one step at a time so that messages are
//! answered in between.

use sentinel_env::EpisodeSpec;
use sentinel_env::num::round_to;
use sentinel_page_protocol::{Difference, EpisodeScore, Placement, Standings};

use sentinel_policy::insertion_sort::sort;

use crate::actor::Actor;
use crate::world::PageWorld;

/// Creates the actor of a player for an episode; `None` if its file is not here.
pub type Start<'a, W> = &'a dyn Fn(&str, &EpisodeSpec<W>) -> Option<Box<dyn Actor<W>>>;

/// A player with its scores so far.
struct Entrant {
    player: String,
    label: String,
    scores: Vec<f64>,
}

/// A tournament in progress.
pub struct Tournament<W: PageWorld> {
    run: u32,
    /// Number of tasks, which alternate in `episodes`.
    tasks: usize,
    episodes: Vec<EpisodeSpec<W>>,
    entrants: Vec<Entrant>,
    current: Option<(usize, W, Box<dyn Actor<W>>)>,
    /// `true` while the shell has paused it.
    pub paused: bool,
}

impl<W: PageWorld> Tournament<W> {
    /// Creates a tournament of `(name, label)` players on `episodes`, in which `tasks` tasks
    /// alternate.
    #[must_use]
    pub fn new(
        run: u32,
        tasks: usize,
        episodes: Vec<EpisodeSpec<W>>,
        players: Vec<(String, String)>,
    ) -> Self {
        let entrant = |(player, label)| Entrant {
            player,
            label,
            scores: Vec::new(),
        };
        Self {
            run,
            tasks,
            episodes,
            entrants: players.into_iter().map(entrant).collect(),
            current: None,
            paused: false,
        }
    }

    /// Returns the number that the shell gave the tournament.
    #[must_use]
    pub const fn run(&self) -> u32 {
        self.run
    }

    /// Returns `true` if all episodes have been played.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.entrants
            .iter()
            .all(|entrant| entrant.scores.len() >= self.episodes.len())
    }

    /// Takes one action of one episode. Players take turns, so that their means are comparable at
    /// any time. Returns `false` when all episodes have been played.
    pub fn advance(&mut self, start: Start<'_, W>) -> bool {
        let Some((number, mut episode, mut actor)) = self.current.take() else {
            return self.begin(start);
        };
        actor.observe(&episode);
        let action = actor.choose(&episode).0;
        let went_on = action.is_some_and(|action| episode.step(action).is_ok());
        if went_on && !W::is_done(episode.observation()) {
            self.current = Some((number, episode, actor));
        } else {
            // Rounded as the evaluation rounds its rows, so that the means are equal too.
            self.entrants[number]
                .scores
                .push(round_to(episode.score(), 4));
        }
        true
    }

    fn begin(&mut self, start: Start<'_, W>) -> bool {
        let scores = self.entrants.iter().map(|entrant| entrant.scores.len());
        let next = scores.enumerate().min_by_key(|(_, count)| *count);
        let Some((number, origin)) =
            next.and_then(|(number, count)| Some((number, self.episodes.get(count)?)))
        else {
            return false;
        };
        match start(&self.entrants[number].player, origin) {
            Some(actor) => self.current = Some((number, W::reset(&origin.setup()), actor)),
            // A player whose file is gone takes no further part.
            None => {
                self.entrants.remove(number);
            }
        }
        true
    }

    /// Returns the results so far.
    #[must_use]
    pub fn standings(&self) -> Standings {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let mut order: Vec<&Entrant> = self.entrants.iter().collect();
        sort(&mut order, |a, b| mean(&a.scores) > mean(&b.scores));
        let placements = order.iter().map(|entrant| Placement {
            player: entrant.player.clone(),
            label: entrant.label.clone(),
            mean: mean(&entrant.scores),
            half_width: half_width(&entrant.scores),
            worst: self.first_extreme(entrant, |score, worst| score < worst),
            best: self.first_extreme(entrant, |score, best| score > best),
        });
        let differences = order.iter().skip(1).map(|entrant| {
            let pairs = entrant.scores.iter().zip(&order[0].scores);
            let pairs: Vec<f64> = pairs.map(|(own, best)| own - best).collect();
            Difference {
                player: entrant.player.clone(),
                mean: mean(&pairs),
                half_width: half_width(&pairs),
            }
        });
        Standings {
            run: self.run,
            played: count(
                self.entrants
                    .iter()
                    .map(|entrant| entrant.scores.len())
                    .sum(),
            ),
            total: count(self.entrants.len() * self.episodes.len()),
            placements: placements.collect(),
            differences: differences.collect(),
        }
    }

    /// Returns the first episode whose score is better than that of all others, by `is_better`.
    fn first_extreme(
        &self,
        entrant: &Entrant,
        is_better: fn(f64, f64) -> bool,
    ) -> Option<EpisodeScore> {
        let mut found: Option<(usize, f64)> = None;
        for (number, score) in entrant.scores.iter().enumerate() {
            if found.is_none_or(|(_, extreme)| is_better(*score, extreme)) {
                found = Some((number, *score));
            }
        }
        let (number, score) = found?;
        Some(EpisodeScore {
            task: u16::try_from(number % self.tasks.max(1)).unwrap_or(u16::MAX),
            seed: self.episodes.get(number)?.seed,
            score: score as f32,
        })
    }
}

/// Returns the mean of `values`; 0 if there are none.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns half the width of the 95 % interval of the mean by the normal approximation; NaN for
/// fewer than two values.
fn half_width(values: &[f64]) -> f64 {
    let (count, mean) = (values.len() as f64, mean(values));
    let squares: f64 = values
        .iter()
        .map(|value| (value - mean) * (value - mean))
        .sum();
    if values.len() < 2 {
        f64::NAN
    } else {
        1.96 * (squares / (count - 1.0) / count).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_width_is_that_of_the_normal_approximation() {
        assert!((half_width(&[0.5, 0.25, 0.75, 0.25]) - 0.234_570).abs() < 1e-5);
        assert!(half_width(&[0.5]).is_nan() && half_width(&[]).is_nan());
    }
}
