//! The signals of the page, and the operations on them.

mod background_work;
mod composer;
mod deferred_replies;
mod engine_events;
mod files;
mod kept_training;
mod live_episode;
mod mean_scores;
mod own_play;
mod own_record;
mod records;
mod spot;
mod training;
mod training_form;
mod training_helpers;

use std::rc::Rc;
use std::sync::Arc;

use leptos::prelude::*;
use sentinel_page_protocol::{
    EpisodeRef, ListedReplay, Panel, Records, Reply, Request, Standings, TournamentSpec, WorldInfo,
};

use crate::browser;
use crate::deferred::{DeferredUi, EpisodeUi};
use crate::draft_action::ComposerSignals;
use crate::engine::EngineEvent;
use crate::engine_pool::{EnginePool, Program, RECORDS, Role};
use crate::episode_view::{EpisodeView, RunInputs};
use crate::query::parse_query;
use crate::reactive::{Memo, Signal, effect, effect_with_previous, memo};
use crate::state::{PageState, Screen, Theme, VISITOR, to_u32};
pub use files::FileSignals;

pub use kept_training::KeptTraining;
pub use live_episode::LiveEpisode;
pub use mean_scores::{MEAN_SEEDS, MeanScore, MeanScores};
pub use own_play::{Comparison, OwnPlay};
pub use spot::SpotSignals;
pub use training::{ModelUse, Training, TrainingSignals};

/// Name of the stored setting that turns single-key shortcuts off.
const SHORTCUTS: &str = "sentinel-shortcuts";
/// Name of the stored theme.
const THEME: &str = "sentinel-theme";

/// Data of a world that was visited before.
#[derive(Clone, Debug, Default)]
struct CachedWorld {
    world: String,
    info: Option<Arc<WorldInfo>>,
    replays: Arc<Vec<ListedReplay>>,
    /// State of the page when the visitor left the world.
    state: Option<PageState>,
}

/// A tournament, with its progress and results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tournament {
    /// Number under which the engine reports the standings; 0 before the first tournament.
    pub run: u32,
    /// Players, tasks and seeds; and in how many parts the episodes are played.
    pub spec: TournamentSpec,
    /// Time at which it started in milliseconds, later by all pauses.
    pub started_ms: f64,
    /// Time of the latest results in milliseconds, or of the pause.
    pub updated_ms: f64,
    /// `true` while it is paused.
    pub paused: bool,
    /// `true` if the visitor stopped it or its engine failed.
    pub stopped: bool,
    /// Results so far; `None` before the first episode.
    pub standings: Option<Standings>,
}

/// Handles of the page's signals; every component gets a copy.
#[derive(Clone, Copy)]
pub struct Page {
    /// State of the page, which the address mirrors.
    pub state: Signal<PageState>,
    /// The state with a cursor of 0, so that readers are not notified when the cursor moves.
    pub without_cursor: Memo<PageState>,
    /// `true` while the episode is played back.
    pub playing: Signal<bool>,
    /// Worlds that the page has, in the order of the tabs.
    pub programs: StoredValue<Vec<Program>>,
    /// Description of the current world; `None` until its engine has sent it.
    pub info: Signal<Option<Arc<WorldInfo>>>,
    /// Replay files of the current world.
    pub replays: Signal<Arc<Vec<ListedReplay>>>,
    /// Content of the screen of recorded results that was shown last; `None` until it arrives.
    pub records: Signal<Option<Arc<Records>>>,
    /// Scores of the current world's checkpoints; `None` until they arrive.
    pub checkpoints: Signal<Option<Arc<Panel>>>,
    /// The current or last tournament of this world.
    pub tournament: Signal<Tournament>,
    /// Sentences about what went wrong, oldest first.
    pub notices: Signal<Vec<String>>,
    /// Sentence that answers a key and goes after some seconds; empty for none.
    pub brief_note: Signal<&'static str>,
    /// Sentence with which the current world's engine failed; empty while it runs.
    pub failure: Signal<String>,
    /// The deferred parts of the page; `None` until they have loaded.
    pub deferred: Signal<Option<DeferredUi>>,
    /// The parts that draw the Episode screen; `None` until they have loaded.
    pub episode_ui: Signal<Option<EpisodeUi>>,
    /// `true` while the help is open.
    pub help: Signal<bool>,
    /// `true` while files are dragged over the page.
    pub dragging: Signal<bool>,
    /// `true` if single-key shortcuts are on.
    pub shortcuts: Signal<bool>,
    /// Theme that the visitor chose, which an address overrides.
    pub chosen_theme: Signal<Theme>,
    /// `true` if charts show the part ahead of the cursor.
    pub future: Signal<bool>,
    /// Signals of the action that the visitor composes.
    pub composer: ComposerSignals,
    /// Main episode, in which the visitor can act.
    pub main: EpisodeView,
    /// Episode to compare with; without frames if there is none.
    pub versus: EpisodeView,
    /// Signals of the files that the visitor brings and takes.
    pub files: FileSignals,
    /// Number of the run whose end the cursor follows while its actions are still arriving; 0 for none.
    seeks_end: Signal<u32>,
    last: Memo<usize>,
    cursor: Memo<usize>,
    engines: StoredValue<EnginePool, LocalStorage>,
    cached_worlds: StoredValue<Vec<CachedWorld>>,
    last_run: StoredValue<u32>,
    /// Part of the state that the latest entry of the browser's history shows.
    pub history_entry: StoredValue<PageState>,
    /// Signals of the visitor's own play.
    pub own: OwnPlay,
    /// Signals of the world's question.
    pub spot: SpotSignals,
    /// Signals of training in the page.
    pub training: TrainingSignals,
    /// Mean scores beside that of the episode, once its end was shown.
    means: Signal<Option<MeanScores>>,
}

impl Default for Page {
    fn default() -> Self {
        Self::new()
    }
}

impl Page {
    /// Creates the signals from the address. No engine is started yet.
    #[must_use]
    pub fn new() -> Self {
        let programs = browser::engine_programs();
        let worlds: Vec<&str> = programs
            .iter()
            .map(|program| program.world.as_str())
            .collect();
        let query = browser::query();
        let (start, problems) = parse_query(&query, &worlds);
        let history_entry = start.history_entry();
        let state = Signal::new(start);
        let wanted = memo(move || state.with(|state| state.cursor as usize));
        let (main, versus) = (EpisodeView::new(wanted), EpisodeView::new(wanted));
        let last = memo(move || main.action_count().max(versus.action_count()));
        Self {
            state,
            without_cursor: memo(move || {
                let mut state = state.get();
                state.cursor = 0;
                state
            }),
            playing: Signal::new(false),
            programs: StoredValue::new(programs.clone()),
            info: Signal::new(None),
            replays: Signal::default(),
            records: Signal::new(None),
            checkpoints: Signal::new(None),
            tournament: Signal::default(),
            notices: Signal::new(problems),
            brief_note: Signal::new(""),
            failure: Signal::default(),
            deferred: Signal::new(None),
            episode_ui: Signal::new(None),
            help: Signal::new(false),
            dragging: Signal::new(false),
            shortcuts: Signal::new(browser::stored_setting(SHORTCUTS).as_deref() != Some("off")),
            chosen_theme: Signal::new(stored_theme()),
            future: Signal::new(false),
            composer: ComposerSignals::default(),
            main,
            versus,
            files: FileSignals::default(),
            seeks_end: Signal::new(0),
            last,
            cursor: memo(move || wanted.get().min(last.get())),
            engines: StoredValue::new_local(records::engine_pool(programs)),
            cached_worlds: StoredValue::default(),
            last_run: StoredValue::new(0),
            history_entry: StoredValue::new(history_entry),
            own: OwnPlay::default(),
            spot: SpotSignals::default(),
            training: TrainingSignals::default(),
            means: Signal::new(None),
        }
    }

    /// Starts the effects that follow the signals: engines, panels and playback.
    pub fn connect(self) {
        let listener = move |world: &str, role, event| self.handle_event(world, role, event);
        self.engines
            .update_value(|engines| engines.listen(Rc::new(listener)));
        let world = memo(move || self.without_cursor.with(|state| state.world.clone()));
        effect_with_previous(move |before: Option<String>| {
            let world = world.get();
            if let Some(before) = before.filter(|before| *before != world) {
                self.leave_world(&before);
            }
            self.enter_world(&world);
            world
        });
        effect(move || {
            let main = self.without_cursor.with(|state| {
                let info = if state.legacy { self.info.get() } else { None };
                RunInputs::main(state, info.as_deref())
            });
            self.play_episode(self.main, main);
        });
        effect(move || self.play_episode(self.versus, self.without_cursor.with(RunInputs::versus)));
        effect_with_previous(move |before: Option<bool>| {
            let wanted = self.without_cursor.with(|state| state.truth);
            if wanted {
                self.note_shown_answer(self.state.with_untracked(own_play::compared_episode));
            }
            if before.is_some_and(|before| before != wanted) {
                self.show_truth(wanted);
            }
            wanted
        });
        self.connect_spot();
        self.connect_mean_scores();
        effect(move || {
            let (last, complete) = (self.last.get(), self.main.status.with(|s| s.complete));
            let run = self.seeks_end.get();
            if run != 0 && run == self.main.shown_run() {
                self.state.update(|state| state.cursor = to_u32(last));
                self.seeks_end.set(if complete { 0 } else { run });
            }
        });
        for episode in [self.main, self.versus] {
            effect(move || {
                let frame = episode.frame.get();
                episode
                    .panels
                    .update(frame.as_ref().map_or(&[], |frame| frame.panels.as_slice()));
            });
        }
        self.run_clock();
    }

    /// Starts the playback clock: one action per tick until the end.
    fn run_clock(self) {
        let period_ms = memo(move || self.period_ms());
        effect_with_previous(move |before: Option<Option<IntervalHandle>>| {
            if let Some(handle) = before.flatten() {
                handle.clear();
            }
            let period = std::time::Duration::from_millis(period_ms.get());
            let tick = move || {
                let waits = !self.main.status.with_untracked(|status| status.complete);
                if self.cursor.get_untracked() < self.last.get_untracked() {
                    let next = to_u32(self.cursor.get_untracked() + 1);
                    self.state.update(|state| state.cursor = next);
                } else if !waits {
                    self.playing.set(false);
                }
            };
            let runs = self.playing.get();
            runs.then(|| set_interval_with_handle(tick, period).ok())
                .flatten()
        });
    }

    /// Returns the number of actions of the longer episode.
    #[must_use]
    pub fn action_count(&self) -> usize {
        self.last.get()
    }

    /// Returns the cursor, at most the number of actions.
    #[must_use]
    pub fn cursor(&self) -> usize {
        self.cursor.get()
    }

    /// Returns the current screen.
    #[must_use]
    pub fn screen(&self) -> Screen {
        self.without_cursor.with(|state| state.screen)
    }

    /// Returns the cursor without subscribing to it, for event handlers.
    #[must_use]
    pub fn cursor_untracked(&self) -> usize {
        self.cursor.get_untracked()
    }

    /// Moves the cursor and stops playback. The end of an episode whose actions are still arriving is
    /// shown once it is there.
    pub fn seek(&self, action: usize) {
        let waits = !self.main.status.with_untracked(|status| status.complete);
        let follows = waits && action == usize::MAX;
        let run = untrack(|| self.main.shown_run());
        self.seeks_end.set(if follows { run } else { 0 });
        let action = to_u32(action.min(self.last.get_untracked()));
        self.playing.set(false);
        if self.state.with_untracked(|state| state.cursor != action) {
            self.state.update(|state| state.cursor = action);
        }
    }

    /// Starts or stops playback; at the end it starts over.
    pub fn toggle_play(&self) {
        let playing = self.playing.get_untracked();
        self.seeks_end.set(0);
        if !playing && self.cursor_untracked() >= self.last.get_untracked() {
            self.state.update(|state| state.cursor = 0);
        }
        self.playing.set(!playing);
    }

    /// Changes what is played, and returns the cursor to the start.
    pub fn restart(&self, change: impl FnOnce(&mut PageState)) {
        self.playing.set(false);
        self.state.update(|state| {
            change(state);
            state.restart();
        });
    }

    /// Shows another world as the visitor left it, or its default.
    pub fn open_world(&self, world: &str) {
        self.playing.set(false);
        self.cache_state();
        let there = self.state_of_world(world);
        self.state.set(there);
    }

    /// Returns the state that a link to another world leads to.
    #[must_use]
    pub fn state_of_world(&self, world: &str) -> PageState {
        self.state.with_untracked(|now| {
            let mut fresh = now.in_world(world);
            fresh.training = self.training_form(world);
            if fresh.screen == Screen::Spot {
                return fresh;
            }
            let cached = self.cached_worlds.with_value(|all| {
                let cached = all.iter().find(|cached| cached.world == world);
                cached.and_then(|cached| cached.state.clone())
            });
            PageState {
                screen: fresh.screen,
                training: fresh.training.clone(),
                // Whoever looked behind one episode has not asked to see behind another.
                truth: false,
                embed: fresh.embed,
                theme: fresh.theme,
                speed: fresh.speed,
                ..cached.unwrap_or(fresh)
            }
        })
    }

    /// Remembers the state for the visitor's return to this world.
    pub fn cache_state(&self) {
        let state = self.state.get_untracked();
        let world = state.world.clone();
        self.cache_world(&world, |cached| cached.state = Some(state));
    }

    /// Adds a sentence about what went wrong; a sentence that is already listed is not repeated.
    pub fn add_notice(&self, sentence: String) {
        self.notices.update(|notices| {
            if !notices.contains(&sentence) {
                notices.push(sentence);
            }
        });
    }

    /// Returns the theme that is shown: that of the address or, if it names none, the chosen one.
    #[must_use]
    pub fn theme(&self) -> Theme {
        match self.without_cursor.with(|state| state.theme) {
            Theme::Auto => self.chosen_theme.get(),
            theme => theme,
        }
    }

    /// Shows the next theme, also on later visits. The address no longer names one, so that a link
    /// forces it on nobody.
    pub fn choose_next_theme(&self) {
        let next = self.theme().next();
        self.chosen_theme.set(next);
        browser::store_setting(THEME, next.as_str());
        self.state.update(|state| state.theme = Theme::Auto);
    }

    /// Turns single-key shortcuts on or off, also for later visits.
    pub fn set_shortcuts(&self, on: bool) {
        self.shortcuts.set(on);
        browser::store_setting(SHORTCUTS, if on { "on" } else { "off" });
    }

    /// Starts the engine again after it failed.
    pub fn restart_engine(&self) {
        self.failure.set(String::new());
        for episode in [self.main, self.versus] {
            episode.requested.set_value(None);
        }
        let (main, versus) = self.without_cursor.with_untracked(|state| {
            let info = self.info.get_untracked();
            (
                RunInputs::main(state, info.as_deref()),
                RunInputs::versus(state),
            )
        });
        self.play_episode(self.main, main);
        self.play_episode(self.versus, versus);
    }

    fn send(&self, role: Role, request: &Request) {
        self.use_engines(role, |engines, world| {
            let world = if role == Role::Records {
                RECORDS
            } else {
                world
            };
            engines.send(world, role, request)
        });
    }

    fn use_engines(
        &self,
        role: Role,
        call: impl FnOnce(&mut EnginePool, &str) -> Result<(), String>,
    ) {
        let world = self.state.with_untracked(|state| state.world.clone());
        let sent = self
            .engines
            .try_update_value(|engines| call(engines, &world));
        if let Some(Err(sentence)) = sent {
            self.handle_failure(role, sentence);
        }
    }

    fn next_run(&self) -> u32 {
        self.last_run.update_value(|number| *number += 1);
        self.last_run.get_value()
    }

    /// Requests a run, unless the same run was requested last.
    fn play_episode(&self, episode: EpisodeView, inputs: Option<RunInputs>) {
        if episode
            .requested
            .with_value(|requested| *requested == inputs)
        {
            return;
        }
        let old = episode.run.get_value();
        if old != 0 {
            self.send_run(&Request::Stop { run: old });
        }
        let Some(inputs) = inputs else {
            episode.clear();
            return;
        };
        let run = self.next_run();
        episode.run.set_value(run);
        self.failure.set(String::new());
        let request = inputs.request(run);
        episode.requested.set_value(Some(inputs));
        self.send(Role::Play, &request);
        if self.state.with_untracked(|state| state.truth) {
            self.send(Role::Play, &Request::ShowTruth { run, show: true });
        }
    }
}

/// Returns the theme that the visitor chose on an earlier visit.
fn stored_theme() -> Theme {
    let stored = browser::stored_setting(THEME).unwrap_or_default();
    let all = [Theme::Light, Theme::Dark];
    let found = all.into_iter().find(|theme| theme.as_str() == stored);
    found.unwrap_or_default()
}
