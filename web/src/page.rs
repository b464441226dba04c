//! The page's signals: what is shown, what was played from it, and what may be done to it.

mod fetch;

use std::sync::Arc;

use leptos::prelude::*;
use sentinel_policy::Model;
use sentinel_policy::replay::{Replay, parse};

use crate::browser;
use crate::fetched::Fetched;
use crate::play::{Files, Frames, play};
use crate::shelf::{Shelf, safe_stem};
use crate::state::{Branch, Screen, Source, Speed, Theme, View, parse_query};
use crate::training::TrainerState;

/// Frames behind a pointer, equal when they are the same run.
#[derive(Clone, Debug)]
pub struct Run(pub Arc<Frames>);

impl PartialEq for Run {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl std::ops::Deref for Run {
    type Target = Frames;
    fn deref(&self) -> &Frames {
        &self.0
    }
}

/// The page's signals; a copy goes to every component.
#[derive(Clone, Copy)]
pub struct Page {
    /// What is shown; the address follows it.
    pub view: RwSignal<View>,
    /// Whether time runs.
    pub playing: RwSignal<bool>,
    /// Replay files.
    pub shelf: RwSignal<Shelf>,
    /// The weights of the trained policy.
    pub model: RwSignal<Fetched<Arc<Model>>>,
    /// What its trainer wrote down.
    pub training: RwSignal<Fetched<Arc<TrainerState>>>,
    /// Sentences about what went wrong.
    pub notices: RwSignal<Vec<String>>,
    /// Whether the help is open.
    pub help: RwSignal<bool>,
    /// The episode.
    pub run: Memo<Run>,
    /// The episode beside it.
    pub versus: Memo<Option<Run>>,
}

impl Default for Page {
    fn default() -> Self {
        Self::new()
    }
}

impl Page {
    /// Reads the address; nothing is fetched yet.
    #[must_use]
    pub fn new() -> Self {
        let (start, problems) = parse_query(&browser::query());
        let view = RwSignal::new(start);
        let shelf = RwSignal::new(Shelf::default());
        let model = RwSignal::new(Fetched::Unasked);
        // Only what the trajectory depends on: moving the cursor must not play it again.
        let inputs = Memo::new(move |_| {
            view.with(|v| View {
                screen: Screen::Episode,
                cursor: 0,
                truth: false,
                theme: Theme::Auto,
                speed: Speed::One,
                embed: false,
                ..v.clone()
            })
        });
        let run = Memo::new(move |_| {
            let view = inputs.get();
            compute(&view, &view.source, view.branch.as_ref(), shelf, model)
        });
        let versus = Memo::new(move |_| {
            let view = inputs.get();
            view.versus
                .as_ref()
                .map(|source| compute(&view, source, None, shelf, model))
        });
        Self {
            view,
            playing: RwSignal::new(false),
            shelf,
            model,
            training: RwSignal::new(Fetched::Unasked),
            notices: RwSignal::new(problems),
            help: RwSignal::new(false),
            run,
            versus,
        }
    }

    /// The number of actions of the longer episode.
    pub fn last(&self) -> usize {
        let versus = self
            .versus
            .with(|run| run.as_ref().map_or(0, |run| run.last()));
        self.run.with(|run| run.last()).max(versus)
    }

    /// The cursor, within the episode.
    pub fn cursor(&self) -> usize {
        self.view.with(|view| view.cursor).min(self.last())
    }

    /// Whether the training page is shown.
    pub fn on_training(&self) -> bool {
        self.view.with(|view| view.screen == Screen::Training)
    }

    /// Whether a source cannot act because its file is not there.
    pub fn lacks(&self, source: &Source) -> bool {
        match source {
            Source::Trained => self.model.with(|model| model.ready().is_none()),
            Source::Replay(name) => self.shelf.with(|shelf| shelf.ready(name).is_none()),
            Source::Policy(_) | Source::You => false,
        }
    }

    /// Moves the cursor to `action` and stops time.
    pub fn seek(&self, action: usize) {
        let action = action.min(self.last());
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
    pub fn restart(&self, change: impl FnOnce(&mut View)) {
        self.playing.set(false);
        self.view.update(|view| {
            change(view);
            *view = std::mem::take(view).restarted();
        });
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
            leptos::task::spawn_local(async move {
                match browser::read_file(&file).await {
                    Ok(text) => self.add_replay(&safe_stem(&file.name()), &text),
                    Err(reason) => self.tell(reason),
                }
            });
        }
    }

    fn add_replay(&self, name: &str, text: &str) {
        let replay = parse(text);
        self.report(name, &replay);
        let Some(first) = replay.episodes().next().copied() else {
            self.tell(format!("{name} holds no row that can be played."));
            return;
        };
        self.shelf.update(|shelf| shelf.add(name, replay));
        self.restart(|view| {
            (view.task, view.seed, view.streams) = (first.task, first.seed, first.streams);
            view.source = Source::Replay(name.to_owned());
            view.screen = Screen::Episode;
        });
    }

    /// Names the lines of a file that do not fit.
    fn report(&self, name: &str, replay: &Replay) {
        const SHOWN: usize = 5;
        for problem in replay.problems().iter().take(SHOWN) {
            self.tell(format!("{name}, {problem}"));
        }
        if replay.problem_count() > SHOWN {
            let more = replay.problem_count() - SHOWN;
            self.tell(format!(
                "{name}: {more} more lines do not fit; the other rows are played."
            ));
        }
    }
}

fn compute(
    view: &View,
    source: &Source,
    branch: Option<&Branch>,
    shelf: RwSignal<Shelf>,
    model: RwSignal<Fetched<Arc<Model>>>,
) -> Run {
    // Only what the source needs is read, so that nothing else plays the episode again.
    let replay = match source {
        Source::Replay(name) => shelf.with(|shelf| shelf.ready(name)),
        Source::Policy(_) | Source::Trained | Source::You => None,
    };
    let model = match source {
        Source::Trained => model.with(|model| model.ready().cloned()),
        Source::Policy(_) | Source::Replay(_) | Source::You => None,
    };
    let files = Files {
        replay: replay.as_deref(),
        model: model.as_ref(),
    };
    Run(Arc::new(play(view, source, branch, files)))
}
