//! The tournament of an engine: its messages, its files and its slices.

use sentinel_env::EpisodeSpec;
use sentinel_env::rules::Rules;
use sentinel_page_protocol::{EpisodeRef, TournamentSpec};

use super::Engine;
use super::address_names::{Source, parse_source, source_label, unknown};
use super::displayed_runs::actor;
use crate::files::Fetched;
use crate::tournament::Tournament;
use crate::world::PageWorld;

impl<W: PageWorld> Engine<W> {
    pub(super) fn start_tournament(&mut self, run: u32, spec: &TournamentSpec) {
        let words = |task: &String| EpisodeRef {
            task: task.clone(),
            seed: spec.first_seed,
            streams: spec.streams.clone(),
            rules: spec.rules.clone(),
        };
        let first = spec.tasks.iter().map(|task| self.origin(&words(task)));
        let first = first.collect();
        let (mut players, mut sources) = (Vec::new(), Vec::new());
        for word in &spec.players {
            match parse_source::<W>(word) {
                Some(Source::Visitor) | None => self.problem(unknown("policy", word)),
                Some(source) => {
                    players.push((word.clone(), source_label::<W>(&source)));
                    sources.push(source);
                }
            }
        }
        let tournament = Tournament::new(run, spec, first, players);
        for source in &sources {
            self.need_file(source, tournament.rules());
        }
        self.tournament = Some(tournament);
    }

    /// Calls `change` with the tournament, if it is number `run`.
    pub(super) fn with_tournament(&mut self, run: u32, change: impl FnOnce(&mut Tournament<W>)) {
        if let Some(tournament) = self.tournament.as_mut().filter(|t| t.run() == run) {
            change(tournament);
        }
    }

    /// Plays the tournament until `is_time_up` returns `true`; returns `true` if anything is left to
    /// do.
    pub(super) fn work_on_tournament(&mut self, is_time_up: &mut dyn FnMut() -> bool) -> bool {
        let waits = self.tournament.as_ref().is_some_and(|tournament| {
            // No other policy replaces one whose file is loading.
            let rules = tournament.rules();
            tournament
                .players()
                .any(|player| self.is_loading(player, rules))
        });
        let Self {
            tournament: Some(tournament),
            file_library,
            models,
            replies,
            sent,
            ..
        } = self
        else {
            return false;
        };
        let start = |player: &str, origin: &EpisodeSpec<W>| {
            let source = parse_source::<W>(player)?;
            let (setup, library) = (origin.setup(), Some(&*file_library));
            actor::<W>(&source, &setup, origin.rules, library, models)
        };
        let mut pending = tournament.is_playing() && !waits;
        while pending && tournament.advance(&start) && !is_time_up() {}
        pending &= tournament.is_playing();
        if let Some(report) = tournament.report() {
            sent.remember(&report);
            replies.push_back(report.into());
        }
        pending
    }

    fn is_loading(&self, player: &str, rules: Rules<W::Change>) -> bool {
        match parse_source::<W>(player) {
            Some(Source::Replay(name)) => matches!(self.file_library.file(&name), Fetched::Loading),
            Some(source) => matches!(self.models.of(&source, rules), Some(Fetched::Loading)),
            None => false,
        }
    }
}
