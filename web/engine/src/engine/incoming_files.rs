//! Handling of files: those that the engine asked for, and those that the visitor dropped.

use std::sync::Arc;

use sentinel_page_protocol::{PlayedEpisode, Reply};
use sentinel_policy::nn::Model;

use super::address_names::Source;
use super::checkpoints;
use super::{Engine, REPLAYS};
use crate::files::{Fetched, base_name, text};
use crate::library::{self, MANIFEST};
use crate::world::{MODEL, PageWorld};

impl<W: PageWorld> Engine<W> {
    pub(super) fn handle_file(
        &mut self,
        path: &str,
        content: Result<Vec<u8>, String>,
        dropped: bool,
    ) {
        if dropped {
            match content {
                Ok(bytes) => self.handle_dropped(base_name(path), bytes),
                Err(reason) => self.problem(reason),
            }
        } else if path == W::WEIGHTS {
            self.handle_model(path, content);
        } else if path == MANIFEST {
            self.handle_manifest(content);
        } else if let Some(index) = checkpoints::index_of_path::<W>(path) {
            self.handle_checkpoint(index, path, content);
        } else if let Some(name) = path
            .strip_prefix(REPLAYS)
            .and_then(|file| file.strip_suffix(".jsonl"))
        {
            self.handle_replay(name, content);
        }
    }

    /// Handles a file that the visitor dropped while another engine played, without an answer.
    pub(super) fn handle_lent(&mut self, name: &str, content: Vec<u8>) {
        let answered = self.replies.len();
        self.handle_dropped(base_name(name), content);
        self.replies.truncate(answered);
    }

    fn handle_dropped(&mut self, name: &str, bytes: Vec<u8>) {
        if name.ends_with(".safetensors") {
            match Model::from_bytes(&bytes) {
                Ok(model) => {
                    let name = self.library.add_model(name, model);
                    self.restart(|source| *source == Source::Model(name.clone()));
                    self.describe();
                    self.replies.push_back(Reply::Opened(PlayedEpisode {
                        player: format!("{MODEL}{name}"),
                        ..PlayedEpisode::default()
                    }));
                }
                Err(error) => self.problem(format!("{name} does not contain a policy: {error}.")),
            }
            return;
        }
        if name.ends_with(".json") {
            match text(name, bytes) {
                Ok(text) => self.replies.push_back(Reply::TrainingLog {
                    name: name.to_owned(),
                    text,
                }),
                Err(reason) => self.problem(reason),
            }
            return;
        }
        let read = text(name, bytes).map(|text| library::read::<W>(name, &text));
        let opened = read.and_then(|(read, problems)| {
            self.replies
                .extend(problems.into_iter().map(Reply::Problem));
            self.library.add_dropped(name, read)
        });
        match opened {
            Ok(episode) => {
                self.replies
                    .push_back(Reply::Replays(self.library.listed().to_vec()));
                self.replies.push_back(Reply::Opened(episode));
            }
            Err(reason) => self.problem(reason),
        }
    }

    fn handle_model(&mut self, path: &str, content: Result<Vec<u8>, String>) {
        let read = match content {
            Ok(bytes) => Model::from_bytes(&bytes).map_err(|e| {
                format!("{path} does not contain a policy: {e}. No other policy replaces it.")
            }),
            Err(reason) => Err(format!(
                "{reason}. Without its weights the trained policy cannot play, and no other policy replaces it. \
                 Put the file there (`cargo xtask demo` copies it from the repository) and try again."
            )),
        };
        match read {
            Ok(model) => self.models.trained = Fetched::Ready(Arc::new(model)),
            Err(reason) => {
                self.problem(reason.clone());
                self.models.trained = Fetched::Failed(reason);
            }
        }
        self.restart(|source| *source == Source::Trained);
    }

    fn handle_manifest(&mut self, content: Result<Vec<u8>, String>) {
        let read = content.and_then(|bytes| text(MANIFEST, bytes));
        match read.and_then(|text| self.library.read_manifest(&text)) {
            Ok(refused) => {
                self.replies
                    .push_back(Reply::Replays(self.library.listed().to_vec()));
                for file in refused {
                    self.problem(format!(
                        "An address cannot contain the name of {REPLAYS}{file}. Rename the file."
                    ));
                }
            }
            Err(reason) => self.problem(reason),
        }
    }

    fn handle_replay(&mut self, name: &str, content: Result<Vec<u8>, String>) {
        let read = content.and_then(|bytes| text(name, bytes));
        let file = match read {
            Ok(text) => {
                let (read, problems) = library::read::<W>(name, &text);
                self.replies
                    .extend(problems.into_iter().map(Reply::Problem));
                Fetched::Ready(read)
            }
            Err(reason) => {
                self.problem(reason.clone());
                Fetched::Failed(reason)
            }
        };
        self.library.set(name, file);
        self.restart(|source| matches!(source, Source::Replay(replay) if replay == name));
    }
}
