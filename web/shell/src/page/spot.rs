//! The world's question: the visitor's answer and the network's.

use leptos::prelude::untrack;
use sentinel_page_protocol::{Answer, SpotInfo};

use super::own_play::compared_episode;
use super::*;
use crate::daily::{SpotResult, date_of, day_of, seed_of};
use crate::ui::spot::LIKELY;

/// The visitor's answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// Index of the suspect.
    pub suspect: u8,
    /// Number of the step at which it was named.
    pub step: u32,
}

/// Signals of the world's question.
#[derive(Clone, Copy)]
pub struct SpotSignals {
    /// The visitor's answer so far, with the episode that it is about.
    named: Signal<Option<(RunInputs, Named)>>,
    /// Episode whose showing started by itself last.
    started: StoredValue<Option<RunInputs>>,
}

impl Default for SpotSignals {
    fn default() -> Self {
        Self {
            named: Signal::new(None),
            started: StoredValue::new(None),
        }
    }
}

/// Returns the current day, counted from 1970-01-01 (UTC).
pub(super) fn today() -> u64 {
    day_of(browser::now_ms())
}

impl Page {
    /// Starts the effects of the question: its first episode, and the answer at the end.
    pub(super) fn connect_spot(self) {
        effect(move || {
            let awaits =
                |state: &PageState| state.awaits_spot_episode().then(|| state.world.clone());
            let world = self.without_cursor.with(awaits);
            let info = self.info.get();
            if let Some(info) = info.filter(|info| Some(&info.name) == world.as_ref()) {
                let mut state = self.state.get_untracked();
                let entry = state.history_entry();
                state.apply_spot_episode(&info.spot.episode);
                // An entry of the history that names no episode names it from now on. A link from another
                // screen adds one of its own.
                if self.history_entry.with_value(|shown| *shown == entry) {
                    self.history_entry.set_value(state.history_entry());
                }
                self.state.set(state);
            }
        });
        // The showing starts by itself, once for each episode.
        let shown = memo(move || {
            let is_ready = self.is_spot() && self.main.action_count() > 0;
            is_ready.then(|| self.without_cursor.with(compared_episode))
        });
        effect(move || {
            let Some(episode) = shown.get() else { return };
            let started = self.spot.started;
            let is_new = started.with_value(|started| started.as_ref() != Some(&episode));
            started.set_value(Some(episode));
            if is_new && self.cursor_untracked() == 0 && !browser::prefers_stillness() {
                self.playing.set(true);
            }
        });
        // The run whose end is shown: of another run with the same end the answer is asked for, too.
        let ended = memo(move || match self.is_spot() && self.shows_end() {
            true => self.main.shown_run(),
            false => 0,
        });
        effect(move || {
            if ended.get() != 0 {
                untrack(|| self.show_answer());
            }
        });
    }

    /// Returns `true` while the world's question is shown.
    #[must_use]
    pub fn is_spot(&self) -> bool {
        self.screen() == Screen::Spot
    }

    /// Returns the milliseconds between two actions of the playback.
    pub(super) fn period_ms(&self) -> u64 {
        let speed = self.without_cursor.with(|state| state.speed).period_ms();
        if !self.is_spot() {
            return speed;
        }
        let step_ms = self
            .info
            .with(|info| info.as_ref().map_or(1000, |info| info.spot.step_ms));
        (u64::from(step_ms) * speed / crate::state::Speed::One.period_ms()).max(30)
    }

    /// Asks for the answer, and notes that the visitor knows it.
    pub fn show_answer(&self) {
        self.note_shown_answer(self.state.with_untracked(compared_episode));
        let run = self.main.run.get_value();
        if self.main.answer.with_untracked(Option::is_none) {
            self.send(Role::Play, &Request::Answer { run });
        }
    }

    /// Notes that the visitor has seen the answer or the hidden state of an episode.
    pub(super) fn note_shown_answer(&self, episode: RunInputs) {
        let shown = self.own.shown_answers;
        if !shown.with_untracked(|all| all.contains(&episode)) {
            shown.update(|all| all.push(episode));
        }
    }

    /// Names a suspect, unless the visitor knows the answer.
    pub fn name_suspect(&self, suspect: usize) {
        let count = self
            .main
            .frame
            .with_untracked(|frame| frame.as_ref().map_or(0, |frame| frame.suspects.len()));
        if suspect >= count || untrack(|| self.knows_answer()) {
            return;
        }
        let named = Named {
            suspect: u8::try_from(suspect).unwrap_or(u8::MAX),
            step: to_u32(self.cursor_untracked()),
        };
        let episode = self.state.with_untracked(compared_episode);
        self.spot.named.set(Some((episode, named)));
    }

    /// Returns the visitor's answer on the episode that is shown.
    #[must_use]
    pub fn named(&self) -> Option<Named> {
        let episode = self.without_cursor.with(compared_episode);
        let named = self.spot.named.get();
        named
            .filter(|(about, _)| *about == episode)
            .map(|(_, named)| named)
    }

    /// Returns the answer to the question while the end is shown, once it is known.
    #[must_use]
    pub fn answer(&self) -> Option<Arc<Answer>> {
        self.main.answer.get().filter(|_| self.shows_end())
    }

    /// Returns the words of the world's question.
    #[must_use]
    pub fn spot_words(&self) -> SpotInfo {
        self.info
            .with(|info| info.as_ref().map(|info| info.spot.clone()))
            .unwrap_or_default()
    }

    /// Returns a text of the current world from `index.html`.
    #[must_use]
    pub fn program_text(&self, of: fn(&Program) -> &String) -> String {
        let world = self.without_cursor.with(|state| state.world.clone());
        self.programs.with_value(|programs| {
            let found = programs.iter().find(|program| program.world == world);
            found.map(of).cloned().unwrap_or_default()
        })
    }

    /// Asks the world's question about another episode; with `of_today` about that of the day.
    pub fn ask_again(&self, of_today: bool) {
        let seed = match of_today {
            true => seed_of(today()),
            false => browser::random_seed(),
        };
        self.show_spot_episode(|state| state.seed = seed);
    }

    /// Lets the visitor play a fresh episode of the kind that the question is about.
    pub fn play_fresh(&self) {
        let seed = browser::random_seed();
        self.show_spot_episode(|state| {
            state.screen = Screen::Episode;
            state.seed = seed;
            VISITOR.clone_into(&mut state.player);
        });
    }

    fn show_spot_episode(&self, change: impl FnOnce(&mut PageState)) {
        let Some(info) = self.info.get_untracked() else {
            return;
        };
        browser::scroll_to_top();
        self.restart(|state| {
            state.apply_episode(&info.spot.episode);
            change(state);
            if state.screen == Screen::Spot {
                state.clear_for_question();
            }
        });
    }

    /// Returns the visitor's result beside the network's; `None` before the end.
    #[must_use]
    pub fn spot_result(&self) -> Option<SpotResult> {
        let answer = self.answer()?;
        let shown = self.without_cursor.get();
        let day = today();
        let mut of_day = PageState {
            world: shown.world.clone(),
            screen: Screen::Spot,
            ..PageState::default()
        };
        of_day.apply_episode(&self.spot_words().episode);
        of_day.seed = seed_of(day);
        let mut state = of_day.clone();
        (state.task, state.seed) = (shown.task, shown.seed);
        (state.streams, state.rules, state.player) = (shown.streams, shown.rules, shown.player);
        let is_of_today = state == of_day;
        let query = crate::address::query_of(*self, &state);
        Some(SpotResult {
            title: self.program_text(|program| &program.spot),
            date: if is_of_today {
                date_of(day)
            } else {
                String::new()
            },
            steps: to_u32(self.main.action_count()),
            own: self
                .named()
                .map(|named| (named.step, named.suspect == answer.suspect)),
            network: answer
                .guess
                .as_ref()
                .filter(|guess| guess.probability >= LIKELY)
                .map(|guess| (guess.step, guess.suspect == answer.suspect)),
            link: browser::address_with(&query),
        })
    }
}
