//! The page as a whole: its signals, and where its parts stand.

use std::sync::Arc;

use leptos::prelude::*;
use sentinel_policy::replay::{Replay, parse};

use crate::browser;
use crate::play::{Frames, play};
use crate::shelf::{Entry, Shelf, parse_manifest, safe_stem};
use crate::state::{Branch, Source, Speed, Theme, View, parse_query, to_query};
use crate::ui::{Controls, Footer, Header, Help, Notices, Pane, Transport, Which, keys};

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
    /// Sentences about what went wrong.
    pub notices: RwSignal<Vec<String>>,
    /// Whether the help is open.
    pub help: RwSignal<bool>,
    /// The episode.
    pub run: Memo<Run>,
    /// The episode beside it.
    pub versus: Memo<Option<Run>>,
}

impl Page {
    fn new() -> Self {
        let (start, problems) = parse_query(&browser::query());
        let view = RwSignal::new(start);
        let shelf = RwSignal::new(Shelf::default());
        // Only what the trajectory depends on: moving the cursor must not play it again.
        let inputs = Memo::new(move |_| {
            view.with(|v| View {
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
            compute(&view, &view.source, view.branch.as_ref(), shelf)
        });
        let versus = Memo::new(move |_| {
            let view = inputs.get();
            view.versus
                .as_ref()
                .map(|source| compute(&view, source, None, shelf))
        });
        Self {
            view,
            playing: RwSignal::new(false),
            shelf,
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

    /// Fetches the list of replays, and the files that the view needs.
    fn watch_replays(self) {
        leptos::task::spawn_local(async move {
            let listed = browser::fetch_text("replays/manifest.json").await;
            match listed.and_then(|text| {
                parse_manifest(&text).map_err(|e| format!("replays/manifest.json: {e}"))
            }) {
                Ok((listed, refused)) => {
                    self.shelf.update(|shelf| shelf.list(listed));
                    for name in refused {
                        self.tell(format!(
                            "replays/{name} cannot be named in an address: rename it."
                        ));
                    }
                }
                Err(reason) => self.tell(reason),
            }
        });
        let wanted = Memo::new(move |_| {
            self.view
                .with(|view| [Some(view.source.clone()), view.versus.clone()])
        });
        Effect::new(move |_| {
            for source in wanted.get().into_iter().flatten() {
                if let Source::Replay(name) = source {
                    self.fetch_replay(name);
                }
            }
        });
    }

    fn fetch_replay(self, name: String) {
        let known = self
            .shelf
            .with_untracked(|shelf| shelf.entries.get(&name).cloned());
        // What failed once is asked for again when it is chosen again.
        if matches!(known, Some(Entry::Loading | Entry::Ready(_))) {
            return;
        }
        self.shelf.update(|shelf| {
            shelf.entries.insert(name.clone(), Entry::Loading);
        });
        leptos::task::spawn_local(async move {
            let entry = match browser::fetch_text(&format!("replays/{name}.jsonl")).await {
                Ok(text) => {
                    let replay = parse(&text);
                    self.report(&name, &replay);
                    Entry::Ready(Arc::new(replay))
                }
                Err(reason) => {
                    self.tell(reason.clone());
                    Entry::Failed(reason)
                }
            };
            self.shelf.update(|shelf| {
                // A file of that name may have been dropped meanwhile; it stays.
                if matches!(shelf.entries.get(&name), Some(Entry::Loading)) {
                    shelf.entries.insert(name, entry);
                }
            });
        });
    }
}

fn compute(view: &View, source: &Source, branch: Option<&Branch>, shelf: RwSignal<Shelf>) -> Run {
    let replay = match source {
        Source::Replay(name) => shelf.with(|shelf| shelf.ready(name)),
        Source::Policy(_) | Source::You => None,
    };
    Run(Arc::new(play(view, source, branch, replay.as_deref())))
}

/// Keeps the address in step with the view; late enough that dragging does not flood the history.
fn sync_address(page: Page) {
    let timer = StoredValue::new(None::<TimeoutHandle>);
    Effect::new(move |_| {
        let query = page.view.with(to_query);
        if let Some(handle) = timer.get_value() {
            handle.clear();
        }
        let write = move || browser::set_query(&query);
        let handle = set_timeout_with_handle(write, std::time::Duration::from_millis(120));
        timer.set_value(handle.ok());
    });
}

/// Lets time run: one action per tick until the end.
fn run_clock(page: Page) {
    let speed = Memo::new(move |_| page.view.with(|view| view.speed));
    Effect::new(move |before: Option<Option<IntervalHandle>>| {
        if let Some(handle) = before.flatten() {
            handle.clear();
        }
        let period = std::time::Duration::from_millis(speed.get().period_ms());
        let tick = move || {
            if page.cursor() < page.last() {
                page.view.update(|view| view.cursor += 1);
            } else {
                page.playing.set(false);
            }
        };
        page.playing
            .get()
            .then(|| set_interval_with_handle(tick, period).ok())
            .flatten()
    });
}

/// The page.
#[component]
pub fn App() -> impl IntoView {
    let page = Page::new();
    provide_context(page);
    page.watch_replays();
    sync_address(page);
    run_clock(page);
    keys::listen(page);
    Effect::new(move |_| {
        let theme = page.view.with(|view| view.theme);
        let word = match theme {
            Theme::Auto => "auto",
            Theme::Light => "light",
            Theme::Dark => "dark",
        };
        browser::set_root_attribute("data-theme", word);
    });
    let embed = page.view.with_untracked(|view| view.embed);
    let double = move || page.versus.with(Option::is_some);
    view! {
        <div class="page" class:embed=embed>
            {(!embed).then(|| view! { <Header/> })}
            <Controls/>
            <Notices/>
            <main class="panes" class:double=double>
                <Pane which=Which::Main/>
                {move || double().then(|| view! { <Pane which=Which::Versus/> })}
            </main>
            <Transport/>
            {(!embed).then(|| view! { <Footer/> })}
            <Help/>
        </div>
    }
}
