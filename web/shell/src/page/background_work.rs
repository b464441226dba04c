//! Long work on episodes that the visitor asks for: the analysis of one, and tournaments of many.

use leptos::prelude::untrack;

use super::*;

impl Page {
    /// Sends a request about a run to the engine that plays it and to those that help to analyze it.
    pub(super) fn send_run(&self, request: &Request) {
        self.use_engines(Role::Play, |engines, world| {
            engines.send_running(world, Role::is_analysis, request);
            engines.send(world, Role::Play, request)
        });
    }

    /// Starts the analysis of an episode, or ends it. Several engines divide its steps.
    pub fn analyze(&self, episode: EpisodeView, start: bool) {
        episode.analysis.set(start.then(Arc::default));
        episode.truth.analysis.set(None);
        let run = episode.run.get_value();
        if start {
            self.request_analysis(episode, u32::from(browser::engines_for_long_work()));
        } else {
            self.send_run(&analysis_request(run, false, (0, 1)));
            self.stop_idle_analysis();
        }
    }

    /// Analyzes the main episode by itself once its end is shown, where that is quick. It happens once for
    /// each run, so that a stopped analysis stays stopped.
    pub fn analyze_at_the_end(self) {
        let quick = memo(move || {
            let is_quick =
                |info: &Option<Arc<WorldInfo>>| info.as_ref().map(|info| info.quick_analysis);
            self.info.with(is_quick) == Some(true)
        });
        let ended = memo(move || match quick.get() && self.shows_end() {
            true => self.main.shown_run(),
            false => 0,
        });
        let last = self.main.analyzed_by_itself;
        effect(move || {
            let run = ended.get();
            if run == 0 || run == last.get_value() {
                return;
            }
            last.set_value(run);
            if !self.main.is_analysis_requested() {
                // One engine is enough, and it has the run already.
                untrack(|| {
                    self.main.analysis.set(Some(Arc::default()));
                    self.request_analysis(self.main, 1);
                });
            }
        });
    }

    fn request_analysis(&self, episode: EpisodeView, parts: u32) {
        let run = episode.run.get_value();
        episode.truth.is_complete.set_value(false);
        self.send(Role::Play, &analysis_request(run, true, (0, parts)));
        self.request_other_parts(episode, parts);
    }

    /// Asks engines to analyze all parts of the steps but the first.
    fn request_other_parts(&self, episode: EpisodeView, parts: u32) {
        episode.has_helpers.set_value(true);
        let run = episode.run.get_value();
        let play = episode.requested.with_value(|requested| {
            let inputs = requested.as_ref();
            inputs.map(|inputs| inputs.request(run))
        });
        let Some(play) = play else { return };
        let show = self.state.with_untracked(|state| state.truth);
        for part in 1..parts {
            let role = Role::Analysis(u8::try_from(part).unwrap_or(u8::MAX));
            self.send(role, &play);
            self.send(role, &Request::ShowTruth { run, show });
            self.send(role, &analysis_request(run, true, (part, parts)));
        }
    }

    /// Ends the engines that help to analyze once nothing is left to do for them.
    fn stop_idle_analysis(&self) {
        let truth = self.state.with_untracked(|state| state.truth);
        let episodes = [self.main, self.versus];
        let is_over = |episode: &EpisodeView| {
            !episode.is_analysis_requested() || episode.is_analysis_complete(truth)
        };
        if episodes.iter().all(is_over) {
            self.engines
                .update_value(|engines| engines.stop_all(Role::is_analysis));
            for episode in episodes {
                episode.has_helpers.set_value(false);
            }
        }
    }

    /// Starts engines that help to analyze from the true hidden state, if those that helped before have
    /// ended, and ends the helpers if nothing is left to do for them.
    pub(crate) fn update_helpers(&self) {
        let truth = self.state.with_untracked(|state| state.truth);
        for episode in [self.main, self.versus] {
            let is_wanted =
                truth && episode.is_analysis_requested() && !episode.is_analysis_complete(true);
            if is_wanted && !episode.has_helpers.get_value() {
                self.request_other_parts(episode, u32::from(browser::engines_for_long_work()));
            }
        }
        self.stop_idle_analysis();
    }

    /// Shows or hides the hidden state of the episodes.
    pub(super) fn show_truth(&self, show: bool) {
        for episode in [self.main, self.versus] {
            let run = episode.run.get_value();
            // What is still wanted is sent again.
            episode.clear_truth();
            if run != 0 {
                self.send_run(&Request::ShowTruth { run, show });
            }
        }
        self.with_deferred(|deferred| deferred.update_helpers);
    }

    /// Calls a function of the deferred code, if it is there. Only that code asks for an analysis.
    pub(super) fn with_deferred(&self, choose: fn(DeferredUi) -> fn(Self)) {
        if let Some(deferred) = self.deferred.get_untracked() {
            choose(deferred)(*self);
        }
    }

    /// Analyzes with one engine alone, after another one has failed.
    pub(crate) fn analyze_alone(&self) {
        self.engines
            .update_value(|engines| engines.stop_all(Role::is_analysis));
        for episode in [self.main, self.versus] {
            if episode.is_analysis_requested() {
                self.request_analysis(episode, 1);
            }
        }
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
        for part in 0..u8::try_from(spec.parts).unwrap_or(u8::MAX) {
            spec.part = u32::from(part);
            let spec = spec.clone();
            self.send(Role::Tournament(part), &Request::Tournament { run, spec });
        }
    }

    /// Sends a request to the engines that play parts of the tournament.
    fn send_to_parts(&self, request: &Request) {
        let world = self.state.with_untracked(|state| state.world.clone());
        self.engines.update_value(|engines| {
            engines.send_running(&world, Role::is_tournament, request);
        });
    }

    /// Ends the engines that played parts of the tournament. The first one stays: it has the scores.
    fn stop_parts(&self) {
        let is_over = |role| matches!(role, Role::Tournament(1..));
        self.engines
            .update_value(|engines| engines.stop_all(is_over));
    }

    /// Pauses or continues the tournament.
    pub fn pause_tournament(&self, paused: bool) {
        let run = self.tournament.with_untracked(|tournament| tournament.run);
        self.send_to_parts(&Request::Pause { run, paused });
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
        self.send_to_parts(&Request::Stop { run });
        self.stop_parts();
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

    /// Shows a sentence for some seconds.
    pub fn say_briefly(&self, sentence: &'static str) {
        // Said again, it is announced again.
        self.brief_note.set("");
        self.brief_note.set(sentence);
        let note = self.brief_note;
        let end = move || {
            if note.with_untracked(|shown| std::ptr::eq(*shown, sentence)) {
                note.set("");
            }
        };
        set_timeout(end, std::time::Duration::from_secs(6));
    }

    /// Takes the results of the tournament, or those of a comparison on one episode.
    pub(super) fn handle_standings(&self, standings: Standings) {
        let Some(standings) = self.handle_means(standings) else {
            return;
        };
        if self.tournament.with_untracked(|t| t.run != standings.run) {
            return self.handle_comparison(standings);
        }
        if standings.played >= standings.total {
            self.stop_parts();
        }
        self.tournament.update(|tournament| {
            if !tournament.paused {
                tournament.updated_ms = browser::now_ms();
            }
            tournament.standings = Some(standings);
        });
    }
}

/// Returns the request that starts or ends the analysis of a run. `share` is the part of the steps
/// that the engine evaluates, and the number of parts.
const fn analysis_request(run: u32, start: bool, (part, parts): (u32, u32)) -> Request {
    Request::Analyze {
        run,
        start,
        part,
        parts,
    }
}
