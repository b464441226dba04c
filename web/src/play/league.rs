//! Standings: every policy on the same seeds, played a few steps at a time so that the page stays alive.

use std::sync::Arc;

use sentinel_env::num::round_to;

use crate::state::{Source, View};
use crate::world::{Actor, Files, Named, World};

/// Seeds that the standings are played on: `0..SEEDS`.
pub const SEEDS: u64 = 100;

/// How one policy did so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing<W: World> {
    /// Who.
    pub who: Source<W>,
    /// Score of each seed from 0 on.
    pub scores: Vec<f64>,
}

impl<W: World> Standing<W> {
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

/// The standings of one task, under one set of rules and streams.
#[derive(Clone, Debug)]
pub struct League<W: World> {
    /// What is played, but for the seed and the player.
    view: View<W>,
    model: Option<Arc<W::Model>>,
    /// One per policy.
    pub standings: Vec<Standing<W>>,
}

impl<W: World> League<W> {
    /// Nothing played yet. The trained policy takes part when its weights are there.
    #[must_use]
    pub fn new(view: View<W>, model: Option<Arc<W::Model>>) -> Self {
        let standing = |who| Standing {
            who,
            scores: Vec::new(),
        };
        let quick = |policy: &&W::Policy| !W::slow(**policy);
        let scripted = W::Policy::all().iter().filter(quick);
        let scripted = scripted.map(|policy| Source::Policy(*policy));
        let all = scripted.chain(model.as_ref().map(|_| Source::Trained));
        Self {
            view,
            standings: all.map(standing).collect(),
            model,
        }
    }

    /// Episodes played, and episodes in all.
    #[must_use]
    pub fn progress(&self) -> (usize, usize) {
        let played = self.standings.iter().map(|s| s.scores.len()).sum();
        (played, self.standings.len() * SEEDS as usize)
    }

    /// The next episode; none when all are played.
    #[must_use]
    pub fn next(&self) -> Option<Bout<W>> {
        let fewest = self.standings.iter().map(|s| s.scores.len()).min()?;
        let number = self
            .standings
            .iter()
            .position(|s| s.scores.len() == fewest)?;
        if fewest as u64 >= SEEDS {
            return None;
        }
        let view = View {
            seed: fewest as u64,
            ..self.view.clone()
        };
        let files = Files {
            replay: None,
            model: self.model.as_ref(),
        };
        Some(Bout {
            number,
            session: W::start(&view),
            actor: W::actor(&view, &self.standings[number].who, files),
        })
    }

    /// Takes in an episode that has ended.
    pub fn record(&mut self, bout: &Bout<W>) {
        if let Some(standing) = self.standings.get_mut(bout.number) {
            // Rounded as the evaluation rounds its rows, so that the means are equal too.
            let score = W::score(W::episode(&bout.session));
            standing.scores.push(round_to(score, 4));
        }
    }
}

/// One episode of the standings, without frames.
pub struct Bout<W: World> {
    number: usize,
    session: W::Session,
    actor: Option<W::Actor>,
}

impl<W: World> Bout<W> {
    /// Plays one more action; `false` when there is none.
    pub fn advance(&mut self) -> bool {
        let Some(actor) = &mut self.actor else {
            return false;
        };
        let episode = W::episode(&self.session);
        if W::done(episode) {
            return false;
        }
        actor.watch(episode);
        let action = actor.act(episode).0;
        action.is_some_and(|action| W::act(&mut self.session, action).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Cluster;
    use crate::trust::Trust;
    use sentinel_env::rng::Streams;
    use sentinel_env::trust::Task;
    use sentinel_policy::cluster;
    use sentinel_policy::trust::PolicyName;

    fn view<W: World<Task = Task>>() -> View<W> {
        View {
            task: Task::Task1,
            streams: Streams::Reference,
            ..View::default()
        }
    }

    fn played<W: World>(mut league: League<W>, seeds: usize) -> League<W> {
        while let Some(mut bout) = league.next() {
            while bout.advance() {}
            league.record(&bout);
            if league.progress().0 == seeds * league.standings.len() {
                break;
            }
        }
        league
    }

    fn mean<W: World>(league: &League<W>, policy: W::Policy) -> f64 {
        let mut all = league.standings.iter();
        let found = all.find(|s| s.who == Source::Policy(policy));
        found.map_or(0.0, |s| (s.mean() * 1e4).round() / 1e4)
    }

    /// The same means as the command line's evaluation of the same seeds.
    #[test]
    fn standings_are_the_evaluation_s_means() {
        let league = played(League::<Trust>::new(view(), None), 30);
        assert_eq!(mean(&league, PolicyName::Random), 0.7635);
        assert_eq!(mean(&league, PolicyName::Heuristic), 0.8504);
        assert_eq!(mean(&league, PolicyName::OracleLite), 0.9011);
        assert_eq!(league.progress().0, 30 * league.standings.len());
        // The reference's own table, spec cluster §11.
        let league = played(League::<Cluster>::new(view(), None), 30);
        assert_eq!(mean(&league, cluster::PolicyName::Random), 0.1118);
        assert_eq!(mean(&league, cluster::PolicyName::Blind), 0.2033);
    }

    #[test]
    fn extremes_and_intervals() {
        let standing = |scores| Standing::<Trust> {
            who: Source::You,
            scores,
        };
        let some = standing(vec![0.5, 0.25, 0.75, 0.25]);
        assert_eq!(some.extremes(), Some((1, 2)));
        assert!((some.half_interval() - 0.234570).abs() < 1e-5);
        let none = standing(vec![]);
        assert_eq!(
            (none.mean(), none.half_interval(), none.extremes()),
            (0.0, 0.0, None)
        );
    }
}
