//! The mean scores of many episodes, which stand beside the score of a single one.

use leptos::prelude::untrack;

use super::*;

/// Number of seeds over which the mean scores are computed.
pub const MEAN_SEEDS: u32 = 200;

/// Mean scores of the trained policy and of the player that is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct MeanScores {
    run: u32,
    spec: TournamentSpec,
    world: String,
    /// `true` if its engine failed.
    failed: bool,
    /// Scores so far; `None` before the first one.
    standings: Option<Standings>,
}

/// The mean score of a player.
#[derive(Clone, Debug, PartialEq)]
pub struct MeanScore {
    /// Name of the player.
    pub player: String,
    /// Label of the player.
    pub label: String,
    /// Mean and half width of its interval; `None` if the player has no score.
    pub mean: Option<(f64, f64)>,
}

impl MeanScores {
    fn is_running(&self) -> bool {
        let standings = self.standings.as_ref();
        !self.failed && standings.is_none_or(|standings| standings.played < standings.total)
    }

    fn mean_of(&self, player: &str) -> Option<(f64, f64)> {
        let mut all = self.standings.as_ref()?.placements.iter();
        let found = all.find(|found| found.player == player && found.scored > 0)?;
        Some((found.mean, found.half_width))
    }
}

impl Page {
    /// Computes the mean scores whenever the end of an episode is shown.
    pub(super) fn connect_mean_scores(self) {
        let is_wanted = memo(move || {
            // An embedded episode has no room for them.
            let is_embedded = self.without_cursor.with(|state| state.embed);
            let shows_score = match self.screen() {
                Screen::Spot => true,
                Screen::Episode => !is_embedded,
                _ => false,
            };
            // The module that is loaded later takes the scores.
            shows_score && self.shows_end() && self.deferred.with(Option::is_some)
        });
        // Of another run with the same end the scores may be others.
        let ended = memo(move || is_wanted.get().then(|| self.main.shown_run()));
        effect(move || {
            if ended.get().is_some() {
                untrack(|| self.compute_means());
            }
        });
    }

    /// Returns the mean scores of the trained policy and of the player that is shown; `None` while they
    /// are computed.
    #[must_use]
    pub fn mean_scores(&self) -> Option<Vec<MeanScore>> {
        let means = self.means.get().filter(|means| !means.is_running())?;
        let info = self.info.get()?;
        let players = means.spec.players.iter();
        let score = |player: &String| MeanScore {
            player: player.clone(),
            label: info
                .players
                .iter()
                .find(|found| found.name == *player)
                .map_or_else(|| player.clone(), |found| found.label.clone()),
            mean: means.mean_of(player),
        };
        Some(players.map(score).collect())
    }

    /// Plays the episodes of the mean scores, unless they are known.
    fn compute_means(&self) {
        let Some(info) = self.info.get_untracked() else {
            return;
        };
        let state = self.state.get_untracked();
        let mut players = vec![info.default_player.clone()];
        // Others take too long, or know a few episodes only.
        let is_quick = |found: &&sentinel_page_protocol::PlayerInfo| {
            found.name == state.player && !found.slow && found.name != VISITOR
        };
        let quick = info.players.iter().find(is_quick);
        players.extend(
            quick
                .map(|found| found.name.clone())
                .filter(|name| *name != players[0]),
        );
        let spec = TournamentSpec {
            tasks: vec![state.task],
            players,
            first_seed: info.spot.mean_seed,
            seeds: MEAN_SEEDS,
            streams: state.streams,
            rules: state.rules,
            ..TournamentSpec::default()
        };
        let is_same = |found: &MeanScores| found.spec == spec && found.world == info.name;
        let is_known = |means: &Option<MeanScores>| means.as_ref().is_some_and(is_same);
        if self.means.with_untracked(is_known) {
            return;
        }
        self.forget_means();
        let run = self.next_run();
        self.means.set(Some(MeanScores {
            run,
            spec: spec.clone(),
            world: info.name.clone(),
            failed: false,
            standings: None,
        }));
        self.send(Role::Mean, &Request::Tournament { run, spec });
    }

    /// Takes mean scores; returns the standings if they belong to another tournament.
    pub(super) fn handle_means(&self, standings: Standings) -> Option<Standings> {
        let is_ours = |means: &MeanScores| means.run == standings.run;
        let is_ours = |means: &Option<MeanScores>| means.as_ref().is_some_and(is_ours);
        if !self.means.with_untracked(is_ours) {
            return Some(standings);
        }
        let is_complete = standings.played >= standings.total;
        self.means.update(|means| {
            if let Some(means) = means {
                means.standings = Some(standings);
            }
        });
        if is_complete {
            self.stop_means();
        }
        None
    }

    /// Notes that the engine of the mean scores failed.
    pub(super) fn fail_means(&self) {
        self.means.update(|means| {
            if let Some(means) = means {
                means.failed = true;
            }
        });
    }

    /// Ends the computation of mean scores, and forgets those that there are.
    pub(super) fn forget_means(&self) {
        self.stop_means();
        self.means.set(None);
    }

    fn stop_means(&self) {
        self.engines
            .update_value(|engines| engines.stop_all(|role| role == Role::Mean));
    }
}
