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
            self.engines.update_value(|engines| {
                let world = self.state.with_untracked(|state| state.world.clone());
                engines.send_running(&world, Role::is_analysis, &Request::Stop { run });
            });
            self.send(Role::Play, &analysis_request(run, false, (0, 1)));
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
        effect_with_previous(move |before: Option<u32>| {
            let before = before.unwrap_or(0);
            let run = ended.get();
            if run != 0 && run != before && !self.main.is_analyzed() {
                // One engine is enough, and it has the run already.
                untrack(|| {
                    self.main.analysis.set(Some(Arc::default()));
                    self.request_analysis(self.main, 1);
                });
            }
            before.max(run)
        });
    }

    fn request_analysis(&self, episode: EpisodeView, parts: u32) {
        let run = episode.run.get_value();
        self.send(Role::Play, &analysis_request(run, true, (0, parts)));
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

    /// Analyzes with one engine alone, after another one has failed.
    pub(super) fn analyze_alone(&self) {
        self.engines
            .update_value(|engines| engines.stop_all(Role::is_analysis));
        for episode in [self.main, self.versus] {
            if episode.is_analyzed() {
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
