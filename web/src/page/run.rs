//! What the page plays, as a signal. Most episodes are whole at once; one whose player thinks long arrives
//! piece by piece, so that the page stays alive.

use std::sync::Arc;
use std::time::Duration;

use leptos::prelude::*;

use crate::fetched::Fetched;
use crate::play::{Frames, Playing};
use crate::shelf::Shelf;
use crate::state::{Branch, Source, View};
use crate::world::{Files, World};

/// Time for one piece, in milliseconds: less than two frames of a screen.
const PIECE_MS: f64 = 25.0;
/// Time after which a piece is shown: drawing takes time too.
const SHOW_MS: f64 = 300.0;

/// Frames behind a pointer, equal when they are the same run.
#[derive(Debug)]
pub struct Run<W: World>(Arc<Frames<W>>);

impl<W: World> Run<W> {
    /// An episode before its start.
    fn nothing() -> Self {
        let playing = Playing::new(&View::default(), &Source::You, None, Files::default());
        Self(Arc::new(playing.frames()))
    }
}

impl<W: World> Clone for Run<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<W: World> PartialEq for Run<W> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<W: World> std::ops::Deref for Run<W> {
    type Target = Frames<W>;
    fn deref(&self) -> &Frames<W> {
        &self.0
    }
}

/// Who acts, and the person's own actions.
type Who<W> = Option<(Source<W>, Option<Branch<W>>)>;

/// The episode that `who` plays, or as much of it as there was time for.
pub(super) fn played<W: World>(
    inputs: Memo<View<W>>,
    shelf: RwSignal<Shelf<W>>,
    model: RwSignal<Fetched<Arc<W::Model>>>,
    who: impl Fn(&View<W>) -> Who<W> + Send + Sync + 'static,
) -> Memo<Run<W>> {
    // Starts anew whenever what is played changes; its value only tells runs apart.
    let started = StoredValue::new_local(None::<Playing<W>>);
    let start = Memo::new(move |before: Option<&usize>| {
        let view = inputs.get();
        // Where nobody plays, an episode stands before its start.
        let (source, branch) = who(&view).unwrap_or((Source::You, None));
        started.set_value(Some(begin(&view, &source, branch.as_ref(), shelf, model)));
        before.map_or(0, |n| n + 1)
    });
    let piece = RwSignal::new(());
    Memo::new(move |before: Option<&Run<W>>| {
        start.get();
        piece.track();
        let next = started.try_update_value(|playing| {
            let playing = playing.as_mut()?;
            let fresh = playing.taken() == 0;
            let more = advance(playing, PIECE_MS);
            let due = playing.due(SHOW_MS, now()) || fresh || !more;
            if more {
                set_timeout(move || piece.set(()), Duration::ZERO);
            }
            let shown = before.filter(|_| !due);
            Some(shown.map_or_else(|| Run(Arc::new(playing.frames())), Run::clone))
        });
        // The memo above has always put something there.
        next.flatten()
            .or_else(|| before.cloned())
            .unwrap_or_else(Run::nothing)
    })
}

fn begin<W: World>(
    view: &View<W>,
    source: &Source<W>,
    branch: Option<&Branch<W>>,
    shelf: RwSignal<Shelf<W>>,
    model: RwSignal<Fetched<Arc<W::Model>>>,
) -> Playing<W> {
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
    Playing::new(view, source, branch, files)
}

/// Plays on for some milliseconds; whether anything is left.
fn advance<W: World>(playing: &mut Playing<W>, milliseconds: f64) -> bool {
    let end = now() + milliseconds;
    while playing.advance() {
        if now() >= end {
            return true;
        }
    }
    false
}

fn now() -> f64 {
    js_sys::Date::now()
}
