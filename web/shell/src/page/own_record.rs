//! The episode of the day, and the record of the visitor's results.

use leptos::prelude::untrack;

use super::*;
use crate::daily::{DailyResult, date_of, day_of, seed_of, symbols};
use crate::own_results::{OwnResult, Score, format_record, parse_record};

/// Name of the stored record of results.
const RESULTS: &str = "sentinel-results";
/// Name under which a record is set aside that is not understood.
const SET_ASIDE: &str = "sentinel-results-set-aside";

impl Page {
    /// Shows the episode of the day, to be played by the visitor.
    pub fn open_daily(&self) {
        let Some(daily) = untrack(|| self.daily(today())) else {
            return;
        };
        self.restart(|state| {
            *state = PageState {
                embed: state.embed,
                theme: state.theme,
                speed: state.speed,
                ..daily
            };
        });
    }

    /// Returns the episode of a day in this world; `None` without a world.
    fn daily(&self, day: u64) -> Option<PageState> {
        self.info.with(|info| {
            let info = info.as_ref()?;
            Some(PageState {
                world: info.name.clone(),
                task: info.daily_task.clone(),
                seed: seed_of(day),
                streams: info.default_streams.clone(),
                rules: info.rules.first()?.name.clone(),
                player: VISITOR.to_owned(),
                ..PageState::default()
            })
        })
    }

    /// Returns the day whose episode is shown to the visitor as the player: today, or yesterday
    /// around midnight.
    #[must_use]
    pub fn daily_shown(&self) -> Option<u64> {
        let today = today();
        let is_shown = |day: &u64| {
            self.daily(*day).is_some_and(|daily| {
                self.without_cursor.with(|state| {
                    state.episode() == daily.episode()
                        && state.world == daily.world
                        && state.player == daily.player
                })
            })
        };
        [today, today.saturating_sub(1)].into_iter().find(is_shown)
    }

    /// Returns the text to share about the episode of the day; `None` before its end.
    #[must_use]
    pub fn daily_result(&self) -> Option<String> {
        let day = self.daily_shown()?;
        let steps = self.main.steps.get();
        let is_done = self.main.status.with(|status| status.done);
        let score = self.main.last_score().filter(|_| is_done)?;
        if !steps.iter().all(|step| step.own) {
            return None;
        }
        let (title, trained) = self.info.with(|info| {
            let info = info.as_ref();
            info.map(|info| (info.title.clone(), info.default_player.clone()))
        })?;
        let query = crate::address::query_of(*self, &self.daily(day)?);
        let lines = self.tried_lines().lines;
        let result = DailyResult {
            world: title,
            date: date_of(day),
            score,
            policy: self.comparison().and_then(|found| found.score_of(&trained)),
            lines: lines.iter().filter(|line| line.is_own()).count(),
            symbols: symbols(&steps),
            actions: steps.len(),
            link: browser::address_with(&query),
        };
        Some(result.text())
    }

    /// Returns `true` if the episode that is shown is that of the world's guided playback, which has
    /// told its hidden state.
    #[must_use]
    pub fn is_told_episode(&self) -> bool {
        self.info.with(|info| {
            let told = info.as_ref().map(|info| &info.guided_playback);
            told.is_some_and(|told| {
                self.without_cursor.with(|state| {
                    (&state.task, state.seed) == (&told.task, told.seed)
                        && (&state.streams, &state.rules) == (&told.streams, &told.rules)
                })
            })
        })
    }

    /// Adds the result of the episode that is shown to the record. An episode that was played with
    /// the hidden state in sight, now or in the guided playback, does not count.
    pub(super) fn record_result(&self, score: f64, actions: u32) {
        let state = self.state.get_untracked();
        if state.truth || untrack(|| self.is_told_episode()) {
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
        } else if self.daily_shown().is_some() {
            self.compare();
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

/// Returns the current day, counted from 1970-01-01 (UTC).
fn today() -> u64 {
    day_of(browser::now_ms())
}
