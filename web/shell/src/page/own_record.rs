//! The record of the visitor's results.

use leptos::prelude::untrack;

use super::own_play::compared_episode;
use super::spot::today;
use super::*;
use crate::daily::date_of;
use crate::own_results::{OwnResult, Score, format_record, parse_record};

/// Name of the stored record of results.
const RESULTS: &str = "sentinel-results";
/// Name under which a record is set aside that is not understood.
const SET_ASIDE: &str = "sentinel-results-set-aside";

impl Page {
    /// Returns `true` if the visitor has seen the answer or the hidden state of the episode that is
    /// shown.
    #[must_use]
    pub fn knows_answer(&self) -> bool {
        let shown = self.without_cursor.with(compared_episode);
        self.own.shown_answers.with(|all| all.contains(&shown))
    }

    /// Adds the result of the episode that is shown to the record. An episode that was played with
    /// the hidden state in sight, now or as the answer to a question, does not count.
    pub(super) fn record_result(&self, score: f64, actions: u32) {
        let state = self.state.get_untracked();
        if state.truth || untrack(|| self.knows_answer()) {
            return;
        }
        let mut results = self.read_results();
        results.push(OwnResult {
            date: date_of(today()),
            world: state.world,
            task: state.task,
            seed: state.seed,
            streams: state.streams,
            rules: state.rules,
            actions,
            score: Score::new(score),
            best: None,
        });
        self.write_results(results);
        if self
            .comparison()
            .is_some_and(|found| found.has_all_policies())
        {
            self.record_best();
        }
    }

    /// Adds the score of the best policy that sees no hidden state to the results on the same
    /// episode.
    pub(super) fn record_best(&self) {
        let Some(found) = self.comparison() else {
            return;
        };
        let mut ranked = found.standings.iter().flat_map(|s| &s.placements);
        let best = ranked.find(|placement| !self.is_privileged(&placement.player));
        let Some(best) = best.map(|best| (best.player.clone(), Score::new(best.mean))) else {
            return;
        };
        let state = self.state.get_untracked();
        let mut results = self.read_results();
        let mut changed = false;
        for result in results
            .iter_mut()
            .filter(|result| result.fits(&state, false))
        {
            changed |= result.best.is_none();
            result.best = Some(best.clone());
        }
        if changed {
            self.write_results(results);
        }
    }

    /// Reads the record from this browser's storage, where another tab may have added to it. What
    /// is not understood is set aside with a notice.
    pub(super) fn read_results(&self) -> Vec<OwnResult> {
        let text = browser::stored_setting(RESULTS).unwrap_or_default();
        let (results, unread) = parse_record(&text);
        if unread > 0 {
            let kept = browser::store_setting(SET_ASIDE, &text)
                && browser::store_setting(RESULTS, &format_record(&results));
            let place = if kept {
                format!(
                    "The whole record was set aside as “{SET_ASIDE}” in this browser’s storage."
                )
            } else {
                String::new()
            };
            self.add_notice(format!(
                "The record of your results has {unread} lines that are not understood. {place}"
            ));
        }
        results
    }

    fn write_results(&self, results: Vec<OwnResult>) {
        if !browser::store_setting(RESULTS, &format_record(&results)) {
            self.add_notice("This browser does not store the record of your results.".to_owned());
        }
        self.own.results.set(Arc::new(results));
    }

    /// Returns the title of a world.
    #[must_use]
    pub fn world_title(&self, world: &str) -> String {
        self.programs.with_value(|programs| {
            let found = programs.iter().find(|program| program.world == world);
            found.map_or(world, |program| &program.title).to_owned()
        })
    }

    /// Saves the record as a file.
    pub fn export_results(&self) {
        let text = self
            .own
            .results
            .with_untracked(|results| format_record(results));
        if !browser::download("sentinel-results.csv", "text/csv", text.as_bytes()) {
            self.add_notice("The browser did not allow saving the file.".to_owned());
        }
    }

    /// Erases the record, also what was set aside of earlier ones.
    pub fn erase_results(&self) {
        browser::remove_setting(RESULTS);
        browser::remove_setting(SET_ASIDE);
        self.own.results.set(Arc::default());
    }
}
