//! Standings: every policy on the same seeds, played a few episodes at a time so that the
//! page stays alive.

use std::sync::Arc;

use sentinel_env::num::round_to;
use sentinel_env::rng::Streams;
use sentinel_env::trust::{Setup, Task};
use sentinel_policy::{Model, Player, PolicyName, Trained, run_episode};

use crate::state::Source;

/// Seeds that the standings are played on: `0..SEEDS`.
pub const SEEDS: u64 = 100;

/// Who can be in the standings.
#[derive(Clone, Debug, PartialEq)]
pub enum Contestant {
    /// A scripted policy.
    Scripted(PolicyName),
    /// The policy of these weights.
    Trained(Arc<Model>),
}

impl Contestant {
    /// The source that plays the same.
    #[must_use]
    pub const fn source(&self) -> Source {
        match self {
            Self::Scripted(policy) => Source::Policy(*policy),
            Self::Trained(_) => Source::Trained,
        }
    }

    /// Whether it reads hidden state.
    #[must_use]
    pub const fn cheats(&self) -> bool {
        matches!(self, Self::Scripted(policy) if policy.cheats())
    }

    fn player(&self, seed: u64, streams: Streams) -> Player {
        match self {
            Self::Scripted(policy) => policy.player(seed, streams),
            Self::Trained(model) => Player::Public(Box::new(Trained::new(Arc::clone(model)))),
        }
    }
}

/// How one policy did so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Who.
    pub who: Contestant,
    /// Score of each seed from 0 on.
    pub scores: Vec<f64>,
}

impl Standing {
    /// Mean score; 0 before the first episode.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let n = self.scores.len().max(1) as f64;
        self.scores.iter().fold(0.0, |sum, score| sum + score) / n
    }

    /// Half the width of the 95 % interval of the mean, by the normal approximation.
    #[must_use]
    pub fn half_interval(&self) -> f64 {
        let (n, mean) = (self.scores.len() as f64, self.mean());
        if n < 2.0 {
            return 0.0;
        }
        let squares = self.scores.iter().map(|s| (s - mean) * (s - mean));
        1.96 * (squares.fold(0.0, |sum, s| sum + s) / (n - 1.0) / n).sqrt()
    }

    /// The seeds with the lowest and the highest score; the first of equals.
    #[must_use]
    pub fn extremes(&self) -> Option<(u64, u64)> {
        let index = |better: fn(f64, f64) -> bool| {
            let mut best = 0;
            for (i, score) in self.scores.iter().enumerate() {
                if better(*score, self.scores[best]) {
                    best = i;
                }
            }
            best as u64
        };
        (!self.scores.is_empty()).then(|| (index(|a, b| a < b), index(|a, b| a > b)))
    }
}

/// The standings of one task and stream mode.
#[derive(Clone, Debug, PartialEq)]
pub struct League {
    /// The task.
    pub task: Task,
    /// How the streams are seeded.
    pub streams: Streams,
    /// One per policy.
    pub standings: Vec<Standing>,
}

impl League {
    /// Nothing played yet. The trained policy takes part when its weights are there.
    #[must_use]
    pub fn new(task: Task, streams: Streams, model: Option<Arc<Model>>) -> Self {
        let standing = |who| Standing {
            who,
            scores: Vec::new(),
        };
        let scripted = PolicyName::ALL.into_iter().map(Contestant::Scripted);
        let all = scripted.chain(model.map(Contestant::Trained));
        Self {
            task,
            streams,
            standings: all.map(standing).collect(),
        }
    }

    /// Episodes played, and episodes in all.
    #[must_use]
    pub fn progress(&self) -> (usize, usize) {
        let played = self.standings.iter().map(|s| s.scores.len()).sum();
        (played, self.standings.len() * SEEDS as usize)
    }

    /// Plays the next seed with every policy that has not played it; whether any is left after.
    pub fn advance(&mut self) -> bool {
        for standing in &mut self.standings {
            let seed = standing.scores.len() as u64;
            if seed < SEEDS {
                let setup = Setup::new(self.task, seed, self.streams);
                let session = run_episode(&setup, &mut standing.who.player(seed, self.streams));
                // Rounded as the evaluation rounds its rows, so that the means are equal too.
                let score = session.episode().tally().score();
                standing.scores.push(round_to(score, 4));
            }
        }
        let (played, all) = self.progress();
        played < all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same means as the command line's evaluation of the same seeds.
    #[test]
    fn standings_are_the_evaluation_s_means() {
        let mut league = League::new(Task::Task1, Streams::Reference, None);
        for _ in 0..30 {
            assert!(league.advance());
        }
        let mean = |policy| {
            let found = league
                .standings
                .iter()
                .find(|s| s.who == Contestant::Scripted(policy));
            found.map_or(0.0, |s| (s.mean() * 1e4).round() / 1e4)
        };
        assert_eq!(mean(PolicyName::Random), 0.7635);
        assert_eq!(mean(PolicyName::Heuristic), 0.8504);
        assert_eq!(mean(PolicyName::OracleLite), 0.9011);
        assert_eq!(league.progress(), (180, 600));
    }

    #[test]
    fn extremes_and_intervals() {
        let standing = Standing {
            who: Contestant::Scripted(PolicyName::Random),
            scores: vec![0.5, 0.25, 0.75, 0.25],
        };
        assert_eq!(standing.extremes(), Some((1, 2)));
        assert!((standing.half_interval() - 0.234570).abs() < 1e-5);
        let none = Standing {
            who: Contestant::Scripted(PolicyName::Random),
            scores: vec![],
        };
        assert_eq!(
            (none.mean(), none.half_interval(), none.extremes()),
            (0.0, 0.0, None)
        );
    }
}
