//! Tournaments: every player plays the same episodes, one step at a time so that messages are
//! answered in between. Several engines may share the episodes; engine 0 gathers the scores, so that
//! the results do not depend on the division.

use sentinel_env::EpisodeSpec;
use sentinel_env::num::round_to;
use sentinel_env::rules::Rules;
use sentinel_page_protocol::{DeferredReply, Standings, TournamentSpec, decode};

use sentinel_policy::SEED_MAX;

use crate::actor::{Actor, Recording};
use crate::run::encoded;
use crate::standings::{Numbering, Outcome, PlayerResults, standings};
use crate::world::PageWorld;

/// Number of slices between two messages about the results.
const QUIET_SLICES: u32 = 6;

/// Creates the actor of a player for an episode; `None` if its file is not here.
pub type Start<'a, W> = &'a dyn Fn(&str, &EpisodeSpec<W>) -> Option<Box<dyn Actor<W>>>;

/// A score in a message between engines: player, episode, the final score (`None` if the episode was
/// left out), and the number of recorded actions that a fallback had taken.
type SentScore = (u32, u32, Option<f64>, u32);

/// An episode that is being played.
struct Current<W: PageWorld> {
    player: usize,
    number: usize,
    episode: W,
    actor: Box<dyn Actor<W>>,
}

/// A tournament in progress.
pub struct Tournament<W: PageWorld> {
    run: u32,
    /// The episodes of the lowest seed, one for each task.
    first: Vec<EpisodeSpec<W>>,
    numbering: Numbering,
    part: usize,
    parts: usize,
    results: Vec<PlayerResults>,
    /// Number of the next episode of each player in this part.
    next: Vec<usize>,
    current: Option<Current<W>>,
    reference: String,
    /// Scores that engine 0 does not have; empty in engine 0 itself.
    unsent: Vec<SentScore>,
    has_news: bool,
    slices: u32,
    /// `true` while the shell has paused it.
    pub paused: bool,
    /// `true` once the shell has stopped it.
    pub stopped: bool,
}

impl<W: PageWorld> Tournament<W> {
    /// Creates a tournament of `(name, label)` players. `first` are the episodes of its lowest seed,
    /// one for each task.
    #[must_use]
    pub fn new(
        run: u32,
        spec: &TournamentSpec,
        first: Vec<EpisodeSpec<W>>,
        players: Vec<(String, String)>,
    ) -> Self {
        // Seeds end at the highest one.
        let seeds = u64::from(spec.seeds).min((SEED_MAX + 1).saturating_sub(spec.first_seed));
        let seeds = usize::try_from(seeds).unwrap_or(usize::MAX);
        let unplayed = |(player, label)| PlayerResults {
            player,
            label,
            outcomes: Vec::new(),
            fallbacks: 0,
            is_gone: false,
        };
        let size = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let mut tournament = Self {
            run,
            numbering: Numbering {
                tasks: first.len(),
                first_seed: spec.first_seed,
                // The number of an episode must fit a message.
                episodes: seeds.saturating_mul(first.len()).min(u32::MAX as usize),
            },
            first,
            part: size(spec.part),
            parts: size(spec.parts).max(1),
            next: Vec::new(),
            results: players.into_iter().map(unplayed).collect(),
            current: None,
            reference: spec.reference.clone(),
            unsent: Vec::new(),
            has_news: true,
            slices: 0,
            paused: false,
            stopped: false,
        };
        tournament.next = vec![tournament.next_own(0); tournament.results.len()];
        tournament
    }

    /// Returns the number that the shell gave the tournament.
    #[must_use]
    pub const fn run(&self) -> u32 {
        self.run
    }

    /// Returns the rules, which are the same in all episodes.
    #[must_use]
    pub fn rules(&self) -> Rules<W::Change> {
        let first = self.first.first();
        first.map_or(Rules::REFERENCE, |first| first.rules)
    }

    /// Returns the players that take part.
    pub fn players(&self) -> impl Iterator<Item = &str> {
        let present = self.results.iter().filter(|results| !results.is_gone);
        present.map(|results| results.player.as_str())
    }

    /// Changes the player with which the others are compared.
    pub fn set_reference(&mut self, player: String) {
        self.reference = player;
        self.report_soon();
    }

    /// Lets the next [`Tournament::report`] report, although it may be early.
    pub const fn report_soon(&mut self) {
        self.has_news = true;
        self.slices = QUIET_SLICES;
    }

    /// Returns `true` if an episode of this part is left to play and may be played now.
    #[must_use]
    pub fn is_playing(&self) -> bool {
        let left = || self.current.is_some() || self.next_player().is_some();
        !self.paused && !self.stopped && left()
    }

    /// Takes one action of one episode. Players take turns, so that their means are comparable at
    /// any time. Returns `false` when all episodes of this part have been played.
    pub fn advance(&mut self, start: Start<'_, W>) -> bool {
        let Some(mut current) = self.current.take() else {
            return self.begin(start);
        };
        let Current { episode, actor, .. } = &mut current;
        actor.observe(episode);
        let (action, missed) = actor.choose(episode);
        let action = action.filter(|_| !missed);
        let went_on = action.is_some_and(|action| episode.step(action).is_ok());
        let is_done = W::is_done(episode.observation());
        if went_on && !is_done {
            self.current = Some(current);
            return true;
        }
        let recording = actor.recording(episode);
        // Rows that were never reached belong to another episode.
        let fits = recording.as_ref().is_none_or(|found| found.unused == 0);
        let (outcome, fallbacks) = if is_done && fits {
            // Rounded as the evaluation rounds its rows, so that the means are equal too.
            let score = Outcome::Score(round_to(episode.score(), 4));
            (score, recording.map_or(0, |found| found.fallbacks))
        } else {
            (Outcome::LeftOut, 0)
        };
        self.record(current.player, current.number, outcome, fallbacks);
        true
    }

    /// Starts the next episode, or leaves it out; returns `false` if there is none.
    fn begin(&mut self, start: Start<'_, W>) -> bool {
        let Some(player) = self.next_player() else {
            return false;
        };
        let number = self.next[player];
        let (task, seed) = self.numbering.place(number);
        let origin = EpisodeSpec {
            seed,
            ..self.first[task]
        };
        let Some(actor) = start(&self.results[player].player, &origin) else {
            // A player whose file is gone takes no further part.
            self.results[player].is_gone = true;
            self.has_news = true;
            return true;
        };
        let episode = W::reset(&origin.setup());
        let recording = actor.recording(&episode);
        if recording.as_ref().is_some_and(|found| !holds(found)) {
            self.record(player, number, Outcome::LeftOut, 0);
        } else {
            self.current = Some(Current {
                player,
                number,
                episode,
                actor,
            });
        }
        true
    }

    fn record(&mut self, player: usize, number: usize, outcome: Outcome, fallbacks: usize) {
        self.results[player].set(number, outcome);
        self.results[player].fallbacks += fallbacks;
        self.next[player] = self.next_own(number + 1);
        self.has_news = true;
        if self.part > 0 {
            let index = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
            let score = match outcome {
                Outcome::Score(score) => Some(score),
                Outcome::Open | Outcome::LeftOut => None,
            };
            let sent = (index(player), index(number), score, index(fallbacks));
            self.unsent.push(sent);
        }
    }

    /// Returns the player whose turn it is; `None` if nothing is left to play.
    fn next_player(&self) -> Option<usize> {
        let players = self.results.iter().zip(&self.next).enumerate();
        let open = players
            .filter(|(_, (results, next))| !results.is_gone && **next < self.numbering.episodes);
        let next = open.min_by_key(|(_, (_, next))| **next);
        next.map(|(index, _)| index)
    }

    /// Returns the first episode of this part from number `from` on. Parts alternate over tasks and
    /// over seeds, so that each gets as many of every task.
    fn next_own(&self, from: usize) -> usize {
        let tasks = self.numbering.tasks.max(1);
        let is_own = |number: &usize| (number / tasks + number % tasks) % self.parts == self.part;
        let mut own = (from..self.numbering.episodes).filter(is_own);
        own.next().unwrap_or(self.numbering.episodes)
    }

    /// Adds scores that another engine has sent.
    pub fn add_scores(&mut self, scores: &[u8]) {
        let scores: Vec<SentScore> = decode(scores).unwrap_or_default();
        for (player, number, score, fallbacks) in scores {
            let place = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
            let number = place(number);
            let results = self.results.get_mut(place(player));
            if let Some(results) = results.filter(|_| number < self.numbering.episodes) {
                results.set(number, score.map_or(Outcome::LeftOut, Outcome::Score));
                results.fallbacks += place(fallbacks);
            }
            self.has_news = true;
        }
    }

    /// Returns a message about the results, or the scores for engine 0, if something has changed
    /// since the last one. While episodes are played it reports now and then.
    pub fn report(&mut self) -> Option<DeferredReply> {
        self.slices = self.slices.saturating_add(1);
        if !self.has_news || self.slices < QUIET_SLICES && self.is_playing() {
            return None;
        }
        (self.has_news, self.slices) = (false, 0);
        if self.part > 0 {
            let scores = std::mem::take(&mut self.unsent);
            return (!scores.is_empty()).then(|| DeferredReply::PartialResults {
                run: self.run,
                results: encoded(&scores),
            });
        }
        Some(DeferredReply::Standings(self.standings()))
    }

    /// Returns the results so far.
    #[must_use]
    pub fn standings(&self) -> Standings {
        Standings {
            run: self.run,
            ..standings(&self.numbering, &self.results, &self.reference)
        }
    }
}

/// Returns `true` if a replay holds the episode that starts: it has rows, and all are of this
/// scenario.
fn holds(recording: &Recording) -> bool {
    recording.unused > 0 && recording.mismatches.is_empty()
}
