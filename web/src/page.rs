//! The page's signals: what is shown, what was played from it, and what may be done to it.

mod fetch;
mod run;

use std::sync::Arc;

use leptos::prelude::*;

use crate::browser;
use crate::fetched::Fetched;
use crate::shelf::{Shelf, safe_stem};
use crate::state::{Screen, Source, Theme, View, parse_query};
use crate::training::TrainerState;
use crate::world::{Opened, World};

pub use run::Run;
use run::played;

/// The page's signals; a copy goes to every component.
pub struct Page<W: World> {
    /// What is shown; the address follows it.
    pub view: RwSignal<View<W>>,
    /// The same but for the cursor, so that moving it concerns only what shows the moment.
    pub still: Memo<View<W>>,
    /// Whether time runs.
    pub playing: RwSignal<bool>,
    /// Replay files.
    pub shelf: RwSignal<Shelf<W>>,
    /// The weights of the trained policy.
    pub model: RwSignal<Fetched<Arc<W::Model>>>,
    /// What its trainer wrote down.
    pub training: RwSignal<Fetched<Arc<TrainerState>>>,
    /// Sentences about what went wrong.
    pub notices: RwSignal<Vec<String>>,
    /// Whether the help is open.
    pub help: RwSignal<bool>,
    /// The episode.
    pub run: Memo<Run<W>>,
    /// The episode beside it; one before its start when there is none.
    pub versus: Memo<Run<W>>,
    last: Memo<usize>,
    cursor: Memo<usize>,
}

// A derive would ask the same of the world's types, which are only behind the signals.
impl<W: World> Clone for Page<W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W: World> Copy for Page<W> {}

impl<W: World> Default for Page<W> {
    fn default() -> Self {
        Self::new()
    }
}

impl<W: World> Page<W> {
    /// Reads the address; nothing is fetched yet.
    #[must_use]
    pub fn new() -> Self {
        let (start, problems) = parse_query(&browser::query());
        let view = RwSignal::new(start);
        let shelf = RwSignal::new(Shelf::default());
        let model = RwSignal::new(Fetched::Unasked);
        let still = Memo::new(move |_| {
            view.with(|v: &View<W>| View {
                cursor: 0,
                ..v.clone()
            })
        });
        // Only what the trajectory depends on.
        let inputs = Memo::new(move |_| {
            still.with(|v| View {
                screen: Screen::Episode,
                truth: false,
                hints: false,
                theme: Theme::Auto,
                speed: Default::default(),
                embed: false,
                ..v.clone()
            })
        });
        let main = move |view: &View<W>| Some((view.source.clone(), view.branch.clone()));
        let beside = move |view: &View<W>| view.versus.clone().map(|source| (source, None));
        let run = played(inputs, shelf, model, main);
        let versus = played(inputs, shelf, model, beside);
        let last = Memo::new(move |_| run.with(|run| run.last()).max(versus.with(|v| v.last())));
        Self {
            view,
            still,
            playing: RwSignal::new(false),
            shelf,
            model,
            training: RwSignal::new(Fetched::Unasked),
            notices: RwSignal::new(problems),
            help: RwSignal::new(false),
            run,
            versus,
            last,
            cursor: Memo::new(move |_| view.with(|view| view.cursor).min(last.get())),
        }
    }

    /// The number of actions of the longer episode.
    pub fn last(&self) -> usize {
        self.last.get()
    }

    /// The cursor, within the episode.
    pub fn cursor(&self) -> usize {
        self.cursor.get()
    }

    /// Whether the training page is shown.
    pub fn on_training(&self) -> bool {
        self.still.with(|view| view.screen == Screen::Training)
    }

    /// Whether a source cannot act because its file is not there.
    pub fn lacks(&self, source: &Source<W>) -> bool {
        match source {
            Source::Trained => self.model.with(|model| model.ready().is_none()),
            Source::Replay(name) => self.shelf.with(|shelf| shelf.ready(name).is_none()),
            Source::Policy(_) | Source::You => false,
        }
    }

    /// Moves the cursor to `action` and stops time.
    pub fn seek(&self, action: usize) {
        let action = action.min(self.last.get_untracked());
        self.playing.set(false);
        self.view.update(|view| view.cursor = action);
    }

    /// Starts or stops time; at the end it starts over.
    pub fn toggle_play(&self) {
        if !self.playing.get_untracked() && self.cursor() >= self.last() {
            self.view.update(|view| view.cursor = 0);
        }
        self.playing.update(|playing| *playing = !*playing);
    }

    /// Changes what is played; the cursor goes back to the start.
    pub fn restart(&self, change: impl FnOnce(&mut View<W>)) {
        self.playing.set(false);
        self.view.update(|view| {
            change(view);
            *view = std::mem::take(view).restarted();
        });
    }

    /// Takes an action of the person's own at the cursor: the episode branches there.
    pub fn act(&self, action: W::Action) {
        let cursor = self.cursor.get_untracked();
        let played = self.run.with_untracked(|run| run.actions(cursor));
        self.playing.set(false);
        self.view
            .update(|view| *view = std::mem::take(view).with_action(&played, action));
    }

    /// Adds a sentence about what went wrong.
    pub fn tell(&self, sentence: String) {
        self.notices.update(|notices| {
            if !notices.contains(&sentence) {
                notices.push(sentence);
            }
        });
    }

    /// Takes in files that the person dropped or chose.
    pub fn open_files(self, files: Vec<web_sys::File>) {
        for file in files {
            if !W::REPLAYS {
                let name = file.name();
                self.tell(format!(
                    "{name}: this world plays no replay files yet. Files of the trust world play there."
                ));
                continue;
            }
            leptos::task::spawn_local(async move {
                match browser::read_file(&file).await {
                    Ok(text) => self.add_replay(&safe_stem(&file.name()), &text),
                    Err(reason) => self.tell(reason),
                }
            });
        }
    }

    fn add_replay(&self, name: &str, text: &str) {
        let opened = W::read_replay(text);
        self.report(name, &opened);
        let Some(first) = opened.first else {
            self.tell(format!("{name} holds no row that can be played."));
            return;
        };
        self.shelf.update(|shelf| shelf.add(name, opened));
        self.restart(|view| {
            (view.task, view.seed) = (first.task, first.seed);
            (view.streams, view.rules) = (first.streams, first.rules);
            view.source = Source::Replay(name.to_owned());
            view.screen = Screen::Episode;
        });
    }

    /// Names the lines of a file that do not fit.
    fn report(&self, name: &str, opened: &Opened<W>) {
        const SHOWN: usize = 5;
        for problem in opened.problems.iter().take(SHOWN) {
            self.tell(format!("{name}, {problem}"));
        }
        if opened.problem_count > SHOWN {
            let more = opened.problem_count - SHOWN;
            self.tell(format!(
                "{name}: {more} more lines do not fit; the other rows are played."
            ));
        }
    }
}
