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

    /// Starts a tournament in place of the previous one.
    pub fn start_tournament(&self, spec: TournamentSpec) {
        let run = self.next_run();
        self.send(
            Role::Tournament,
            &Request::Tournament {
                run,
                spec: spec.clone(),
            },
        );
        self.tournament.set(Tournament {
            run,
            spec,
            ..Tournament::default()
        });
    }

    /// Pauses or continues the tournament.
    pub fn pause_tournament(&self, paused: bool) {
        let run = self.tournament.with_untracked(|tournament| tournament.run);
        self.send(Role::Tournament, &Request::Pause { run, paused });
        self.tournament
            .update(|tournament| tournament.paused = paused);
    }

    /// Stops the tournament; its results stay.
    pub fn stop_tournament(&self) {
        let run = self.tournament.with_untracked(|tournament| tournament.run);
        self.send(Role::Tournament, &Request::Stop { run });
        self.tournament
            .update(|tournament| tournament.stopped = true);
    }
}
