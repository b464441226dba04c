//! The part of an engine that the first step of an episode does not need: analyses, tournaments, and
//! files that the visitor brings or takes away.
//!
//! In a browser its code is a module of its own, which is fetched for the first request that needs
//! it; such requests wait until it is there. `cargo xtask` divides the program: what only
//! [`Later::new`] names goes into the second module.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use sentinel_page_protocol::Request;

use super::Engine;
use super::address_names::Source;
use crate::world::PageWorld;

/// The functions of the second module.
pub struct Later<W: PageWorld> {
    handle: fn(&mut Engine<W>, Request),
    work: fn(&mut Engine<W>, &mut dyn FnMut() -> bool) -> bool,
}

/// The functions once they are there; `None` if they could not be fetched.
pub type Fetching<W> = Pin<Box<dyn Future<Output = Option<Later<W>>>>>;

/// The state of the second module.
pub(super) enum LaterCode<W: PageWorld> {
    /// The module with its functions has arrived.
    Loaded(Later<W>),
    /// It is fetched when it is first needed.
    NotRequested,
    /// It was requested and has not arrived.
    Loading(Fetching<W>),
}

impl<W: PageWorld> Later<W> {
    /// Returns the functions of an engine for `W`.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            handle: Engine::handle_later,
            work: Engine::work_later,
        }
    }
}

impl<W: PageWorld> Default for Later<W> {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns `true` if a request needs the second module.
const fn needs_later(request: &Request) -> bool {
    matches!(
        request,
        Request::Analyze { .. }
            | Request::Tournament { .. }
            | Request::PartialResults { .. }
            | Request::Reference { .. }
            | Request::Pause { .. }
            | Request::Lend { .. }
            | Request::File { dropped: true, .. }
            | Request::Export { .. }
    )
}

impl<W: PageWorld> Engine<W> {
    /// Creates an engine without the code that is needed later; `fetch` fetches it.
    #[must_use]
    pub fn with_fetch(fetch: fn() -> Fetching<W>) -> Self {
        Self {
            later: LaterCode::NotRequested,
            fetch: Some(fetch),
            ..Self::default_without_later()
        }
    }

    /// Hands a request to the second module if it needs it, or keeps it until the module is there.
    /// Returns the request otherwise.
    pub(super) fn divert(&mut self, request: Request) -> Option<Request> {
        // What ends work must not overtake what starts it.
        let is_ordered = !self.waiting.is_empty() && matches!(request, Request::Stop { .. });
        if !needs_later(&request) && !is_ordered {
            return Some(request);
        }
        if let LaterCode::Loaded(later) = &self.later {
            (later.handle)(self, request);
        } else {
            self.waiting.push(request);
            if let (LaterCode::NotRequested, Some(fetch)) = (&self.later, self.fetch) {
                self.later = LaterCode::Loading(fetch());
            }
        }
        None
    }

    /// Works on what the second module does until `is_time_up` returns `true`; returns `true` if
    /// anything is left to do, or if the module is still being fetched.
    pub(super) fn work_after_runs(&mut self, is_time_up: &mut dyn FnMut() -> bool) -> bool {
        if let LaterCode::Loading(fetching) = &mut self.later {
            // The worker asks again in its next slice.
            let mut context = Context::from_waker(Waker::noop());
            match fetching.as_mut().poll(&mut context) {
                Poll::Pending => return true,
                Poll::Ready(Some(later)) => self.later = LaterCode::Loaded(later),
                Poll::Ready(None) => {
                    self.later = LaterCode::NotRequested;
                    self.waiting.clear();
                    self.problem("A part of the page could not be loaded, so analyses, tournaments and files do not work. Try again, or reload the page.".to_owned());
                }
            }
            for request in std::mem::take(&mut self.waiting) {
                self.handle(request);
            }
        }
        match &self.later {
            LaterCode::Loaded(later) => (later.work)(self, is_time_up),
            LaterCode::NotRequested | LaterCode::Loading(_) => false,
        }
    }

    fn handle_later(&mut self, request: Request) {
        match request {
            Request::Analyze {
                run,
                start,
                part,
                parts,
            } => {
                if start {
                    self.need_file(&Source::Trained);
                }
                if let Some(shown) = self.shown_mut(run) {
                    shown.analyze(start, (part, parts));
                }
            }
            Request::Tournament { run, spec } => self.start_tournament(run, &spec),
            Request::PartialResults { run, results } => match self.shown_mut(run) {
                Some(shown) => shown.receive_analysis(results),
                None => self.with_tournament(run, |tournament| tournament.add_scores(&results)),
            },
            Request::Reference { run, player } => {
                self.with_tournament(run, |tournament| tournament.set_reference(player));
            }
            Request::Pause { run, paused } => self.with_tournament(run, |tournament| {
                tournament.paused = paused;
                tournament.report_soon();
            }),
            Request::Lend { name, content } => self.handle_lent(&name, content),
            Request::File { name, content, .. } => self.open_file(&name, content),
            Request::Export { run, export } => self.export(run, &export),
            _ => {}
        }
    }

    fn work_later(&mut self, is_time_up: &mut dyn FnMut() -> bool) -> bool {
        for (number, shown) in &mut self.runs {
            let (models, replies) = (&self.models, &mut self.replies);
            if shown.work_on_analysis(*number, models, is_time_up, replies) {
                return true;
            }
        }
        self.work_on_tournament(is_time_up)
    }
}
