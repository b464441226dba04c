//! The page's signals, and what can be done to them.

mod messages;

use std::rc::Rc;
use std::sync::Arc;

use leptos::prelude::*;
use sentinel_page_protocol::{
    Curves, ListedReplay, Reply, Request, Standings, TournamentSpec, WorldInfo,
};

use crate::browser;
use crate::compose::{Checked, Composer};
use crate::engine::Event;
use crate::engines::{Engines, Program, Role};
use crate::lane::{Inputs, Lane};
use crate::query::parse_query;
use crate::reactive::{Memo, Signal, effect, effect_with, memo};
use crate::state::{PageState, Screen, index};

/// The name of the setting that switches single-key shortcuts off.
const SHORTCUTS: &str = "sentinel-shortcuts";

/// What is known of a world whose engine has run.
#[derive(Clone, Debug, Default)]
struct Known {
    world: String,
    info: Option<Arc<WorldInfo>>,
    replays: Arc<Vec<ListedReplay>>,
    /// What was shown when the visitor left it.
    view: Option<PageState>,
}

/// A tournament.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tournament {
    /// The number of the request; 0 for none.
    pub run: u32,
    /// What is played.
    pub spec: TournamentSpec,
    /// `true` while it is paused.
    pub paused: bool,
    /// `true` if the visitor ended it.
    pub stopped: bool,
    /// The results so far.
    pub standings: Option<Standings>,
}

/// The page's signals; a copy goes to every component.
#[derive(Clone, Copy)]
pub struct Page {
    /// What is shown; the address follows it.
    pub view: Signal<PageState>,
    /// The same without the cursor, so that moving it concerns only what shows the moment.
    pub still: Memo<PageState>,
    /// `true` while time runs.
    pub playing: Signal<bool>,
    /// The worlds.
    pub programs: StoredValue<Vec<Program>>,
    /// The current world, once its engine has described it.
    pub info: Signal<Option<Arc<WorldInfo>>>,
    /// The replay files of the current world.
    pub replays: Signal<Arc<Vec<ListedReplay>>>,
    /// The curves of the current world's training run.
    pub curves: Signal<Option<Arc<Curves>>>,
    /// The tournament.
    pub tournament: Signal<Tournament>,
    /// Sentences about what went wrong.
    pub notices: Signal<Vec<String>>,
    /// The sentence with which the current world's engine failed; empty while it runs.
    pub failure: Signal<String>,
    /// `true` while the help is open.
    pub help: Signal<bool>,
    /// `true` while files are dragged over the page.
    pub dragging: Signal<bool>,
    /// `true` if single keys act.
    pub shortcuts: Signal<bool>,
    /// `true` if charts show what lies ahead of the cursor.
    pub future: Signal<bool>,
    /// The action that the visitor composes.
    pub composer: Composer,
    /// The episode.
    pub main: Lane,
    /// The episode beside it.
    pub versus: Lane,
    last: Memo<usize>,
    cursor: Memo<usize>,
    engines: StoredValue<Engines, LocalStorage>,
    known: StoredValue<Vec<Known>>,
    number: StoredValue<u32>,
    /// The part of the view that the latest entry of the history shows.
    pub entry: StoredValue<PageState>,
}

impl Default for Page {
    fn default() -> Self {
        Self::new()
    }
}

impl Page {
    /// Reads the address; no engine is started yet.
    #[must_use]
    pub fn new() -> Self {
        let program = |(world, module, title)| Program {
            world,
            module,
            title,
        };
        let programs: Vec<_> = browser::engine_programs()
            .into_iter()
            .map(program)
            .collect();
        let worlds: Vec<&str> = programs
            .iter()
            .map(|program| program.world.as_str())
            .collect();
        let (start, problems) = parse_query(&browser::query(), &worlds);
        let entry = start.entry();
        let view = Signal::new(start);
        let wanted = memo(move || view.with(|view| view.cursor as usize));
        let (main, versus) = (Lane::new(wanted), Lane::new(wanted));
        let last = memo(move || main.last().max(versus.last()));
        Self {
            view,
            still: memo(move || {
                let mut still = view.get();
                still.cursor = 0;
                still
            }),
            playing: Signal::new(false),
            programs: StoredValue::new(programs.clone()),
            info: Signal::new(None),
            replays: Signal::default(),
            curves: Signal::new(None),
            tournament: Signal::default(),
            notices: Signal::new(problems),
            failure: Signal::default(),
            help: Signal::new(false),
            dragging: Signal::new(false),
            shortcuts: Signal::new(browser::setting(SHORTCUTS).as_deref() != Some("off")),
            future: Signal::new(false),
            composer: Composer::default(),
            main,
            versus,
            last,
            cursor: memo(move || wanted.get().min(last.get())),
            engines: StoredValue::new_local(Engines::new(browser::engine_script(), programs)),
            known: StoredValue::default(),
            number: StoredValue::new(0),
            entry: StoredValue::new(entry),
        }
    }

    /// Starts everything that follows the signals by itself: engines, boards, time.
    pub fn connect(self) {
        let listener = move |world: &str, role, event| self.hear(world, role, event);
        self.engines
            .update_value(|engines| engines.listen(Rc::new(listener)));
        let world = memo(move || self.still.with(|view| view.world.clone()));
        effect_with(move |before: Option<String>| {
            let world = world.get();
            if before.as_ref().is_some_and(|before| *before != world) {
                self.leave_world();
            }
            self.enter_world(&world);
            world
        });
        effect(move || {
            let main = self.still.with(|view| {
                let info = if view.legacy { self.info.get() } else { None };
                Inputs::main(view, info.as_deref())
            });
            self.play(self.main, main);
        });
        effect(move || self.play(self.versus, self.still.with(Inputs::versus)));
        effect_with(move |before: Option<bool>| {
            let show = self.still.with(|view| view.truth);
            if before.is_some_and(|before| before != show) {
                for lane in [self.main, self.versus] {
                    self.show_truth(lane, show);
                }
            }
            show
        });
        for lane in [self.main, self.versus] {
            effect(move || {
                let moment = lane.moment.get();
                lane.board.show(
                    moment
                        .as_ref()
                        .map_or(&[], |moment| moment.panels.as_slice()),
                );
            });
        }
        self.run_clock();
    }

    /// Lets time run: one action per tick until the end.
    fn run_clock(self) {
        let speed = memo(move || self.still.with(|view| view.speed));
        effect_with(move |before: Option<Option<IntervalHandle>>| {
            if let Some(handle) = before.flatten() {
                handle.clear();
            }
            let period = std::time::Duration::from_millis(speed.get().period_ms());
            let tick = move || {
                let waits = !self.main.status.with_untracked(|status| status.complete);
                if self.cursor.get_untracked() < self.last.get_untracked() {
                    let next = index(self.cursor.get_untracked() + 1);
                    self.view.update(|view| view.cursor = next);
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
    pub fn last(&self) -> usize {
        self.last.get()
    }

    /// Returns the cursor, within the episode.
    #[must_use]
    pub fn cursor(&self) -> usize {
        self.cursor.get()
    }

    /// Returns the current screen.
    #[must_use]
    pub fn screen(&self) -> Screen {
        self.still.with(|view| view.screen)
    }

    /// Returns the cursor for handlers of events.
    #[must_use]
    pub fn cursor_now(&self) -> usize {
        self.cursor.get_untracked()
    }

    /// Moves the cursor and stops time.
    pub fn seek(&self, action: usize) {
        let action = index(action.min(self.last.get_untracked()));
        self.playing.set(false);
        if self.view.with_untracked(|view| view.cursor != action) {
            self.view.update(|view| view.cursor = action);
        }
    }

    /// Starts or stops time; at the end it starts over.
    pub fn toggle_play(&self) {
        let playing = self.playing.get_untracked();
        if !playing && self.cursor_now() >= self.last.get_untracked() {
            self.view.update(|view| view.cursor = 0);
        }
        self.playing.set(!playing);
    }

    /// Changes what is played; the cursor goes back to the start.
    pub fn restart(&self, change: impl FnOnce(&mut PageState)) {
        self.playing.set(false);
        self.view.update(|view| {
            change(view);
            view.restart();
        });
    }

    /// Takes an action of the visitor at the cursor: the episode branches there.
    pub fn act(&self, code: &str) {
        let at = self.main.at.get_untracked();
        let played = self.main.steps.get_untracked();
        self.playing.set(false);
        self.view.update(|view| view.take(&played, at, code));
        self.composer.draft.update(crate::compose::Draft::clear);
    }

    /// Shows another world: what it showed before, or its default.
    pub fn go_to_world(&self, world: &str) {
        self.playing.set(false);
        self.remember_view();
        let there = self.view_of(world);
        self.view.set(there);
    }

    /// Returns the view that a link to another world leads to.
    #[must_use]
    pub fn view_of(&self, world: &str) -> PageState {
        self.view.with_untracked(|now| {
            let fresh = now.in_world(world);
            let known = self.known.with_value(|known| {
                let known = known.iter().find(|known| known.world == world);
                known.and_then(|known| known.view.clone())
            });
            PageState {
                truth: fresh.truth,
                embed: fresh.embed,
                theme: fresh.theme,
                speed: fresh.speed,
                ..known.unwrap_or(fresh)
            }
        })
    }

    /// Remembers what is shown, for the way back to this world.
    fn remember_view(&self) {
        let view = self.view.get_untracked();
        let world = view.world.clone();
        self.remember(&world, |known| known.view = Some(view));
    }

    /// Adds a sentence about what went wrong.
    pub fn tell(&self, sentence: String) {
        self.notices.update(|notices| {
            if !notices.contains(&sentence) {
                notices.push(sentence);
            }
        });
    }

    /// Switches single-key shortcuts on or off, for the next visit too.
    pub fn set_shortcuts(&self, on: bool) {
        self.shortcuts.set(on);
        browser::keep_setting(SHORTCUTS, if on { "on" } else { "off" });
    }

    /// Reads files that the visitor dropped or chose, and sends them to the engine.
    pub fn open_files(self, files: Vec<web_sys::File>) {
        for file in files {
            leptos::task::spawn_local(async move {
                match browser::read_file(&file).await {
                    Ok(content) => self.send(
                        Role::Play,
                        &Request::File {
                            name: file.name(),
                            content: Ok(content),
                            dropped: true,
                        },
                    ),
                    Err(sentence) => self.tell(sentence),
                }
            });
        }
    }

    /// Asks what would go wrong with a composed action at the cursor.
    pub fn check(&self, code: &str) {
        let (run, at) = (
            self.main.run.get_value(),
            index(self.main.at.get_untracked()),
        );
        let code = code.to_owned();
        self.send(Role::Play, &Request::Check { run, at, code });
    }

    /// Starts a tournament in place of the one before.
    pub fn start_tournament(&self, spec: TournamentSpec) {
        let run = self.next_number();
        self.send(
            Role::Work,
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
        self.send(Role::Work, &Request::Pause { run, paused });
        self.tournament
            .update(|tournament| tournament.paused = paused);
    }

    /// Ends the tournament; its results stay.
    pub fn stop_tournament(&self) {
        let run = self.tournament.with_untracked(|tournament| tournament.run);
        self.send(Role::Work, &Request::Stop { run });
        self.tournament
            .update(|tournament| tournament.stopped = true);
    }

    /// Asks for the curves of the training run.
    pub fn ask_for_curves(&self) {
        self.send(Role::Play, &Request::Curves);
    }

    /// Starts the engine again after it failed.
    pub fn restart_engine(&self) {
        self.failure.set(String::new());
        for lane in [self.main, self.versus] {
            lane.asked.set_value(None);
        }
        let (main, versus) = self.still.with_untracked(|view| {
            let info = self.info.get_untracked();
            (Inputs::main(view, info.as_deref()), Inputs::versus(view))
        });
        self.play(self.main, main);
        self.play(self.versus, versus);
    }

    fn send(&self, role: Role, request: &Request) {
        let world = self.view.with_untracked(|view| view.world.clone());
        let sent = self
            .engines
            .try_update_value(|engines| engines.send(&world, role, request));
        if let Some(Err(sentence)) = sent {
            self.failure.set(sentence);
        }
    }

    fn next_number(&self) -> u32 {
        self.number.update_value(|number| *number += 1);
        self.number.get_value()
    }

    /// Asks for a run, if it is not the one that was asked for last.
    fn play(&self, lane: Lane, inputs: Option<Inputs>) {
        if lane.asked.with_value(|asked| *asked == inputs) {
            return;
        }
        let old = lane.run.get_value();
        if old != 0 {
            self.send(Role::Play, &Request::Stop { run: old });
        }
        let Some(inputs) = inputs else {
            lane.clear();
            return;
        };
        let run = self.next_number();
        lane.run.set_value(run);
        self.failure.set(String::new());
        let request = Request::Play {
            run,
            episode: inputs.episode.clone(),
            player: inputs.player.clone(),
            branch: inputs.branch.clone(),
        };
        lane.asked.set_value(Some(inputs));
        self.send(Role::Play, &request);
        if self.view.with_untracked(|view| view.truth) {
            self.send(Role::Play, &Request::ShowTruth { run, show: true });
        }
    }

    fn show_truth(&self, lane: Lane, show: bool) {
        let run = lane.run.get_value();
        if run != 0 {
            self.send(Role::Play, &Request::ShowTruth { run, show });
        }
        if !show {
            lane.forget_truth();
        }
    }

    fn remember(&self, world: &str, change: impl FnOnce(&mut Known)) {
        self.known.update_value(|all| {
            let found = all.iter().position(|known| known.world == world);
            let place = found.unwrap_or_else(|| {
                all.push(Known {
                    world: world.to_owned(),
                    ..Known::default()
                });
                all.len() - 1
            });
            change(&mut all[place]);
        });
    }

    fn leave_world(&self) {
        self.main.clear();
        self.versus.clear();
        self.failure.set(String::new());
        self.curves.set(None);
        self.tournament.set(Tournament::default());
        self.composer.draft.set(crate::compose::Draft::default());
    }
}
