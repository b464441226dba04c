//! What the page fetches, and when: each file once, when the view first needs it.

use std::sync::Arc;

use leptos::prelude::*;
use sentinel_policy::replay::parse;

use super::Page;
use crate::fetched::Fetched;
use crate::shelf::{Entry, parse_manifest};
use crate::state::Source;
use crate::{browser, training, weights};

impl Page {
    /// Fetches the list of replays, and every file as soon as the view needs it.
    pub fn watch_files(self) {
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
                match source {
                    Source::Replay(name) => self.fetch_replay(name),
                    Source::Trained => self.fetch_model(),
                    Source::Policy(_) | Source::You => {}
                }
            }
        });
        let training = Memo::new(move |_| self.on_training());
        Effect::new(move |_| {
            if training.get() {
                self.fetch_training();
                self.fetch_model();
            }
        });
    }

    /// Fetches the weights of the trained policy, unless they are here or on their way.
    pub fn fetch_model(self) {
        if self.model.with_untracked(Fetched::missing) {
            self.model.set(Fetched::Loading);
            leptos::task::spawn_local(async move {
                let bytes = browser::fetch_bytes(weights::ADDRESS).await;
                self.model.set(weights::read(bytes).into());
            });
        }
    }

    /// Fetches what the trainer wrote down, unless it is here or on its way.
    pub fn fetch_training(self) {
        if self.training.with_untracked(Fetched::missing) {
            self.training.set(Fetched::Loading);
            leptos::task::spawn_local(async move {
                let text = browser::fetch_text(training::ADDRESS).await;
                self.training.set(training::read(text).map(Arc::new).into());
            });
        }
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
