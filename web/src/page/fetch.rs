//! What the page fetches, and when: each file once, when the view first needs it.

use std::sync::Arc;

use leptos::prelude::*;

use super::Page;
use crate::fetched::Fetched;
use crate::shelf::{Entry, parse_manifest};
use crate::state::Source;
use crate::world::{World, has_training};
use crate::{browser, training};

impl<W: World> Page<W> {
    /// Fetches the list of replays, and every file as soon as the view needs it.
    pub fn watch_files(self) {
        if W::REPLAYS {
            self.fetch_manifest();
        }
        let wanted = Memo::new(move |_| {
            self.still
                .with(|view| [Some(view.source.clone()), view.versus.clone()])
        });
        Effect::new(move |_| {
            for source in wanted.get().into_iter().flatten() {
                match source {
                    Source::Replay(name) => self.fetch_replay(name),
                    Source::Trained => self.fetch_model(),
                    Source::Policy(_) | Source::You => {}
                }
            }
        });
        if has_training::<W>() {
            let training = Memo::new(move |_| self.on_training());
            Effect::new(move |_| {
                if training.get() {
                    self.fetch_training();
                    self.fetch_model();
                }
            });
        }
    }

    fn fetch_manifest(self) {
        leptos::task::spawn_local(async move {
            let listed = browser::fetch_text("replays/manifest.json").await;
            match listed.and_then(|text| {
                parse_manifest(&text, W::NAME).map_err(|e| format!("replays/manifest.json: {e}"))
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
    }

    /// Fetches the weights of the trained policy, unless they are here or on their way.
    pub fn fetch_model(self) {
        let Some(learned) = W::LEARNED else { return };
        if self.model.with_untracked(Fetched::missing) {
            self.model.set(Fetched::Loading);
            leptos::task::spawn_local(async move {
                let bytes = browser::fetch_bytes(learned.weights).await;
                self.model.set(W::read_model(bytes).into());
            });
        }
    }

    /// Fetches what the trainer wrote down, unless it is here or on its way.
    pub fn fetch_training(self) {
        let Some(curves) = W::LEARNED.and_then(|learned| learned.curves) else {
            return;
        };
        if self.training.with_untracked(Fetched::missing) {
            self.training.set(Fetched::Loading);
            leptos::task::spawn_local(async move {
                let text = browser::fetch_text(curves).await;
                let state = training::read(curves, text);
                self.training.set(state.map(Arc::new).into());
            });
        }
    }

    fn fetch_replay(self, name: String) {
        let known = self
            .shelf
            .with_untracked(|shelf| shelf.entries.get(&name).cloned());
        // What failed once is asked for again when it is chosen again.
        if matches!(known, Some(Entry::Loading | Entry::Ready(..))) {
            return;
        }
        self.shelf.update(|shelf| {
            shelf.entries.insert(name.clone(), Entry::Loading);
        });
        leptos::task::spawn_local(async move {
            let entry = match browser::fetch_text(&format!("replays/{name}.jsonl")).await {
                Ok(text) => {
                    let opened = W::read_replay(&text);
                    self.report(&name, &opened);
                    Entry::of(opened)
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
