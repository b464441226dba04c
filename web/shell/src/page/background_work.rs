//! Long work on episodes that the visitor asks for: the analysis of one, and tournaments of many.

use super::*;

impl Page {
    /// Starts the analysis of an episode, or ends it.
    pub fn analyze(&self, episode: EpisodeView, start: bool) {
        let run = episode.run.get_value();
        episode.analysis.set(start.then(Arc::default));
        episode.truth.analysis.set(None);
        self.send(Role::Play, &Request::Analyze { run, start });
    }

    /// Takes another action after `at` actions, in place of the one that was taken there.
    pub fn replace_action(&self, at: usize, code: &str) {
        let played = self.main.steps.get_untracked();
        self.playing.set(false);
        self.state
            .update(|state| state.take_action(&played, at, code));
    }

    /// Starts a tournament in place of the previous one. Several engines share its episodes.
    pub fn start_tournament(&self, mut spec: TournamentSpec) {
        self.stop_tournament();
        let run = self.next_run();
        let tasks = to_u32(spec.tasks.len());
        let engines = u32::from(browser::engines_for_long_work());
        spec.parts = engines.min(spec.seeds.saturating_mul(tasks)).max(1);
        let now = browser::now_ms();
        self.tournament.set(Tournament {
            run,
            spec: spec.clone(),
            started_ms: now,
            updated_ms: now,
            ..Tournament::default()
        });
        self.send_to_parts(|part| {
            spec.part = u32::from(part);
            let spec = spec.clone();
            Request::Tournament { run, spec }
        });
    }

    /// Sends a request to each engine that plays a part of the tournament.
    fn send_to_parts(&self, mut request: impl FnMut(u8) -> Request) {
        let parts = self.tournament.with_untracked(|t| t.spec.parts);
        for part in 0..u8::try_from(parts).unwrap_or(u8::MAX) {
            self.send(Role::Tournament(part), &request(part));
        }
    }

    /// Pauses or continues the tournament.
    pub fn pause_tournament(&self, paused: bool) {
        let run = self.tournament.with_untracked(|tournament| tournament.run);
        self.send_to_parts(|_| Request::Pause { run, paused });
        self.tournament.update(|tournament| {
            let now = browser::now_ms();
            if !paused {
                tournament.started_ms += now - tournament.updated_ms;
            }
            tournament.updated_ms = now;
            tournament.paused = paused;
        });
    }

    /// Stops the tournament; its results stay.
    pub fn stop_tournament(&self) {
        let run = self.tournament.with_untracked(|tournament| tournament.run);
        if run == 0 {
            return;
        }
        self.send_to_parts(|_| Request::Stop { run });
        self.tournament
            .update(|tournament| tournament.stopped = true);
    }

    /// Compares the players of the tournament with another one; with the best one if `player` is
    /// empty.
    pub fn compare_players(&self, player: String) {
        let run = self.tournament.with_untracked(|tournament| tournament.run);
        self.tournament
            .update(|tournament| tournament.spec.reference.clone_from(&player));
        self.send(Role::Tournament(0), &Request::Reference { run, player });
    }

    /// Handles a message about the results of the tournament.
    pub(super) fn handle_results(&self, reply: Reply) {
        match reply {
            Reply::Standings(standings)
                if self.tournament.with_untracked(|t| t.run == standings.run) =>
            {
                self.tournament.update(|tournament| {
                    if !tournament.paused {
                        tournament.updated_ms = browser::now_ms();
                    }
                    tournament.standings = Some(standings);
                });
            }
            Reply::Standings(standings) => self.handle_comparison(standings),
            Reply::Scores { run, scores } => {
                self.send(Role::Tournament(0), &Request::Scores { run, scores });
            }
            _ => {}
        }
    }
}
