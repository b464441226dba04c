//! The part of an engine that the first step of an episode does not need: the answer to the world's
//! question, analyses, tournaments, and files that the visitor brings or takes away.
//!
//! In a browser its code is a module of its own, which is fetched for the first request that needs
//! it; such requests wait until it is there. `cargo xtask` splits the program: what only
//! [`Deferred::new`] names goes into the second module.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use sentinel_page_protocol::Request;

use super::Engine;
use super::address_names::Source;
use crate::world::PageWorld;

/// The functions of the second module.
pub struct Deferred<W: PageWorld> {
    handle: fn(&mut Engine<W>, Request),
    work: fn(&mut Engine<W>, &mut dyn FnMut() -> bool) -> bool,
}

/// The functions once they are there; `None` if they could not be fetched.
pub type Fetching<W> = Pin<Box<dyn Future<Output = Option<Deferred<W>>>>>;

/// The state of the second module.
pub(super) enum DeferredCode<W: PageWorld> {
    /// The module with its functions has arrived.
    Loaded(Deferred<W>),
    /// It is fetched when it is first needed.
    NotRequested,
    /// It was requested and has not arrived.
    Loading(Fetching<W>),
}

impl<W: PageWorld> Deferred<W> {
    /// Returns the functions of an engine for `W`.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            handle: Engine::handle_deferred,
            work: Engine::work_deferred,
        }
    }
}

impl<W: PageWorld> Default for Deferred<W> {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns `true` if a request needs the second module.
const fn needs_deferred(request: &Request) -> bool {
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
            | Request::Answer { .. }
    )
}

impl<W: PageWorld> Engine<W> {
    /// Creates an engine without the deferred code; `fetch` fetches it.
    #[must_use]
    pub fn with_fetch(fetch: fn() -> Fetching<W>) -> Self {
        Self {
            deferred: DeferredCode::NotRequested,
            fetch: Some(fetch),
            ..Self::default_without_deferred()
        }
    }

    /// Hands a request to the second module if it needs it, or keeps it until the module is there.
    /// Returns the request otherwise.
    pub(super) fn divert(&mut self, request: Request) -> Option<Request> {
        // What ends work must not overtake what starts it.
        let is_ordered = !self.waiting.is_empty() && matches!(request, Request::Stop { .. });
        if !needs_deferred(&request) && !is_ordered {
            return Some(request);
        }
        if let DeferredCode::Loaded(deferred) = &self.deferred {
            (deferred.handle)(self, request);
        } else {
            self.waiting.push(request);
            if let (DeferredCode::NotRequested, Some(fetch)) = (&self.deferred, self.fetch) {
                self.deferred = DeferredCode::Loading(fetch());
            }
        }
        None
    }

    /// Works on what the second module does until `is_time_up` returns `true`; returns `true` if
    /// anything is left to do. While the module is being fetched there is nothing to do.
    pub(super) fn work_after_runs(&mut self, is_time_up: &mut dyn FnMut() -> bool) -> bool {
        if let DeferredCode::Loading(fetching) = &mut self.deferred {
            // The worker asks again after a while.
            let mut context = Context::from_waker(Waker::noop());
            match fetching.as_mut().poll(&mut context) {
                Poll::Pending => return false,
                Poll::Ready(Some(deferred)) => self.deferred = DeferredCode::Loaded(deferred),
                Poll::Ready(None) => {
                    self.deferred = DeferredCode::NotRequested;
                    self.waiting.clear();
                    self.problem("A part of the page could not be loaded, so answers, analyses, tournaments and files do not work. Try again, or reload the page.".to_owned());
                }
            }
            for request in std::mem::take(&mut self.waiting) {
                self.handle(request);
            }
        }
        match &self.deferred {
            DeferredCode::Loaded(deferred) => (deferred.work)(self, is_time_up),
            DeferredCode::NotRequested | DeferredCode::Loading(_) => false,
        }
    }

    fn handle_deferred(&mut self, request: Request) {
        match request {
            Request::Analyze {
                run,
                start,
                part,
                parts,
            } => {
                if let Some(shown) = self.shown_mut(run) {
                    shown.analyze(start, (part, parts));
                    let rules = shown.rules;
                    if start {
                        self.need_file(&Source::Trained, rules);
                    }
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
            Request::Answer { run } => {
                if let Some(shown) = self.shown_mut(run) {
                    (shown.wants_answer, shown.answer_sent) = (true, false);
                }
            }
            _ => {}
        }
    }

    fn work_deferred(&mut self, is_time_up: &mut dyn FnMut() -> bool) -> bool {
        for (number, shown) in &mut self.runs {
            let (models, replies) = (&self.models, &mut self.replies);
            shown.send_answer(*number, replies);
            if shown.work_on_analysis(*number, models, is_time_up, replies) {
                return true;
            }
        }
        self.work_on_tournament(is_time_up)
    }
}

#[cfg(test)]
mod tests {
    use sentinel_env::trust::TrustEnv;

    use super::*;
    use crate::worker::Program;

    /// A module that arrives when it is asked for the second time.
    struct Module {
        was_asked: bool,
    }

    impl Future for Module {
        type Output = Option<Deferred<TrustEnv>>;

        fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
            match std::mem::replace(&mut self.was_asked, true) {
                true => Poll::Ready(Some(Deferred::new())),
                false => Poll::Pending,
            }
        }
    }

    #[test]
    fn engine_pauses_while_the_module_is_fetched() {
        let mut engine = Engine::<TrustEnv>::with_fetch(|| Box::pin(Module { was_asked: false }));
        assert!(!Program::is_loading(&engine));
        engine.handle(Request::File {
            name: "a.png".to_owned(),
            content: Ok(vec![0x89]),
            dropped: true,
        });
        assert!(Program::is_loading(&engine));
        assert!(!engine.work(|| false), "there is nothing to do");
        assert!(Program::is_loading(&engine) && engine.next_reply().is_none());
        engine.work(|| false);
        assert!(!Program::is_loading(&engine));
        assert!(engine.next_reply().is_some());
    }
}
