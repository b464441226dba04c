//! The parts of the page that the first visit does not show. Their code is in wasm modules of its own,
//! which are fetched once the first step of an episode is shown, or at once for an address that needs them.
//!
//! `cargo xtask` splits the program when it builds the page: what only [`EpisodeUi`] names goes into one
//! module, what only [`DeferredUi`] names into another, and what only these two share into a third. A
//! program that Trunk builds alone has one module.

use leptos::prelude::untrack;
use wasm_split_helpers::SplitLoaderError;
#[cfg(split)]
use wasm_split_helpers::wasm_split;

use crate::browser;
use crate::dom::{El, IntoView, View};
use crate::engine_pool::Role;
use crate::episode_view::EpisodeView;
use crate::page::Page;
use crate::reactive::{Memo, Signal, effect, memo};
use crate::state::Screen;
use crate::ui;

/// The functions of these parts.
#[derive(Clone, Copy)]
pub struct DeferredUi {
    /// Analyzes with one engine alone, after another one has failed.
    pub analyze_alone: fn(Page),
    /// Draws the analysis of an episode; `true` for the episode in which the visitor can act.
    pub analysis: fn(Page, EpisodeView, bool) -> El,
    /// Draws the row about the first difference of two episodes.
    pub difference: fn(Page) -> El,
    /// Continues a training run whose engine has failed, or notes the failure, with what the browser said.
    pub fail_training: fn(Page, &str),
    /// Draws the content of the dialog of files.
    pub files: fn(Page) -> View,
    /// Draws the content of the help.
    pub help: fn(Page) -> View,
    /// Draws what the visitor's files contain.
    pub opened_files: fn(Page) -> View,
    /// Draws the card of the visitor's own play.
    pub own_play: fn(Page) -> El,
    /// Reads files that the visitor dropped or chose.
    pub read_files: fn(Page, Vec<web_sys::File>),
    /// Moves the cursor to the next mistake, or to the previous one for `false`.
    pub seek_mistake: fn(Page, bool),
    /// Takes an encoded reply to a request of these parts; `true` if it comes from the current world.
    pub take_reply: fn(Page, Role, bool, &[u8]),
    /// Draws the tournament's form and results.
    pub tournament: fn(Page) -> El,
    /// Draws a screen of recorded results.
    pub records: fn(Page, Screen) -> View,
    /// Continues a training run without the engines that help.
    pub train_alone: fn(Page),
    /// Draws the link to a training run that another screen hides.
    pub train_indicator: fn(Page) -> El,
    /// Draws prompt and completion of a language model.
    pub transcript: fn(EpisodeView) -> View,
    /// Starts and ends the engines that help with analyses, as much as is left to do for them.
    pub update_helpers: fn(Page),
    /// Compares the final score of the episode with those of the policies.
    pub yardstick: fn(Page) -> View,
}

/// The functions that draw the Episode screen: a module of their own, because the first visit opens on
/// another screen.
#[derive(Clone, Copy)]
pub struct EpisodeUi {
    /// Draws the first panel of an episode, in which nothing can be pressed.
    pub board: fn(Page, EpisodeView) -> El,
    /// Draws player, task, seed and everything else that chooses an episode.
    pub controls: fn(Page) -> El,
    /// Draws an episode; `true` for the one in which the visitor can act.
    pub episode: fn(Page, EpisodeView, bool) -> El,
}

impl EpisodeUi {
    const fn new() -> Self {
        Self {
            board: ui::episode::board,
            controls: ui::controls::controls,
            episode: ui::episode::episode,
        }
    }
}

/// Returns the functions of the Episode screen's module.
#[cfg(split)]
#[wasm_split(episode, fallible)]
fn fetch_episode() -> Result<EpisodeUi, SplitLoaderError> {
    Ok(EpisodeUi::new())
}

/// Returns the functions of the Episode screen, in a program that was not split.
#[cfg(not(split))]
async fn fetch_episode() -> Result<EpisodeUi, SplitLoaderError> {
    Ok(EpisodeUi::new())
}

/// Returns the functions of the module with everything else.
#[cfg(split)]
#[wasm_split(deferred, fallible)]
fn fetch_deferred() -> Result<DeferredUi, SplitLoaderError> {
    Ok(DeferredUi::new())
}

/// Returns the functions, in a program that was not split.
#[cfg(not(split))]
async fn fetch_deferred() -> Result<DeferredUi, SplitLoaderError> {
    Ok(DeferredUi::new())
}

impl DeferredUi {
    const fn new() -> Self {
        Self {
            analyze_alone: |page| page.analyze_alone(),
            analysis: |page, episode, main| {
                let hindsight = ui::truth::true_analysis(page, episode);
                ui::analysis::analysis(page, episode, main, hindsight)
            },
            difference: ui::difference::difference_row,
            fail_training: |page, reason| page.restart_training(reason),
            train_alone: |page| page.train_alone(),
            files: ui::files_dialog::content,
            help: ui::help::content,
            opened_files: ui::opened_files::opened_files,
            own_play: ui::own_play::own_play,
            read_files: Page::read_files,
            seek_mistake: ui::analysis::seek_mistake,
            take_reply: Page::take_reply,
            tournament: ui::tournament::tournament,
            records: ui::records::records,
            train_indicator: ui::train::indicator::indicator,
            transcript: ui::transcript::transcript,
            update_helpers: |page| page.update_helpers(),
            yardstick: ui::yardstick::yardstick,
        }
    }
}

/// Fetches the modules once a step is shown, or at once for a screen that needs them.
pub fn load_when_idle(page: Page) {
    let is_idle = memo(move || page.main.frame.with(Option::is_some));
    let wants_deferred = memo(move || is_idle.get() || page.screen().is_of_records());
    load(wants_deferred, page.deferred, page, fetch_deferred);
    let trains = move || page.training.current.with(Option::is_some);
    let wants_episode = memo(move || is_idle.get() || page.screen() == Screen::Episode || trains());
    load(wants_episode, page.episode_ui, page, fetch_episode);
}

/// Fetches a module once it is wanted.
fn load<T, F>(is_wanted: Memo<bool>, place: Signal<Option<T>>, page: Page, fetch: fn() -> F)
where
    T: Copy + Send + Sync + 'static,
    F: Future<Output = Result<T, SplitLoaderError>> + 'static,
{
    effect(move || {
        if is_wanted.get() && place.with_untracked(Option::is_none) {
            leptos::task::spawn_local(async move {
                match fetch().await {
                    // Asked for twice, it arrives twice; a second time would draw everything anew.
                    Ok(_) if place.with_untracked(Option::is_some) => {}
                    Ok(functions) => place.set(Some(functions)),
                    Err(_) => {
                        browser::reload_if_outdated();
                        page.add_notice(
                            "A part of the page could not be loaded: episodes, analysis, tournament, help or training are missing. Reload the page to try again.".to_owned(),
                        );
                    }
                }
            });
        }
    });
}

/// Returns a view that one of the functions draws, and nothing until they are there.
#[must_use]
pub fn deferred_view<V: IntoView>(page: Page, draw: impl Fn(DeferredUi) -> V + 'static) -> View {
    let view = move || {
        let drawn = |deferred| untrack(|| draw(deferred).into_view());
        let view = page.deferred.get().map(drawn);
        view.unwrap_or_else(|| View::Fragment(Vec::new()))
    };
    view.into_view()
}
