//! What the components of one episode share.

use leptos::prelude::*;

use crate::page::{Page, Run};
use crate::play::Frame;
use crate::state::Source;
use crate::world::World;

/// Which of the two episodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one that the person can take over.
    Main,
    /// The one beside it.
    Versus,
}

/// What the components of a pane share.
#[derive(Clone, Copy)]
pub struct Scene<W: World> {
    /// Which episode.
    pub which: Which,
    /// All its frames.
    pub run: Memo<Run<W>>,
    /// The page.
    pub page: Page<W>,
}

impl<W: World> Scene<W> {
    /// Reads the frame at the cursor.
    pub fn with_frame<T>(&self, read: impl FnOnce(&Frame<W>) -> T) -> T {
        let cursor = self.page.cursor();
        self.run.with(|run| read(run.at(cursor)))
    }

    /// Whether the person can act here now.
    pub fn can_act(&self) -> bool {
        self.which == Which::Main && self.with_frame(|frame| !W::done(&frame.episode))
    }

    /// Whether hidden state is shown.
    pub fn truth(&self) -> bool {
        self.page.still.with(|view| view.truth)
    }

    /// Who plays.
    pub fn source(&self) -> Source<W> {
        self.page
            .still
            .with(|view| match (self.which, &view.versus) {
                (Which::Versus, Some(versus)) => versus.clone(),
                _ => view.source.clone(),
            })
    }
}
