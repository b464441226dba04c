//! Files that the visitor brings to the page and takes away from it.

use sentinel_page_protocol::{Conversion, Evaluation, Export, ExportedFile, ForeignFile};
use wasm_bindgen::{JsCast, JsValue};

use super::*;
use crate::dropped_files::TOTAL_MAX;

/// Largest number of files that are opened at once.
const FILES_MAX: usize = 32;

/// Kinds of opened files, in the order of which one is shown if several were dropped at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Opened {
    /// Nothing was opened; the default.
    #[default]
    Nothing,
    /// A training log, `trainer_state.json`.
    Curves,
    /// A replay with its episodes.
    Replay,
    /// A model, which plays.
    Model,
}

/// Signals of the visitor's files.
#[derive(Clone, Copy)]
pub struct FileSignals {
    /// `true` while the dialog of files is open.
    pub dialog: Signal<bool>,
    /// Sentences about the files that were dropped last.
    pub read: Signal<Vec<String>>,
    /// Results of the evaluation file that was dropped last; `None` without one.
    pub evaluation: Signal<Option<Arc<Evaluation>>>,
    /// Sentence about the picture that is being made, or could not be made; empty for none.
    pub making: Signal<String>,
    /// The kind of file that is shown of those dropped last.
    opened: StoredValue<Opened>,
    /// Sentences about files that could not be read, of those dropped last and of earlier ones.
    problems: StoredValue<[Vec<String>; 2]>,
}

impl Default for FileSignals {
    fn default() -> Self {
        Self {
            dialog: Signal::new(false),
            read: Signal::default(),
            evaluation: Signal::new(None),
            making: Signal::default(),
            opened: StoredValue::default(),
            problems: StoredValue::default(),
        }
    }
}

impl Page {
    /// Opens files that the visitor dropped or chose.
    pub fn open_files(self, files: Vec<web_sys::File>) {
        match self.deferred.get_untracked() {
            Some(deferred) => (deferred.read_files)(self, files),
            None => self.add_notice("The page is still loading. Open the files again.".to_owned()),
        }
    }

    /// Reads files, and sends them to the engine.
    pub fn read_files(self, mut files: Vec<web_sys::File>) {
        if files.is_empty() {
            return;
        }
        self.files.read.set(Vec::new());
        self.files.opened.set_value(Opened::Nothing);
        self.files
            .problems
            .update_value(|[last, earlier]| earlier.append(last));
        if files.len() > FILES_MAX {
            let count = files.len();
            self.report_file(format!(
                "Only the first {FILES_MAX} of {count} files were opened."
            ));
            files.truncate(FILES_MAX);
        }
        leptos::task::spawn_local(async move {
            // One after the other, so that the order of the replies is that of the files.
            for file in files {
                // A file that is too large by itself is refused by the reader.
                let is_readable = file.size() <= browser::FILE_MAX;
                if is_readable && !self.has_room(&file.name(), file.size()) {
                    continue;
                }
                match browser::read_file(&file).await {
                    Ok(content) => self.use_engines(Role::Play, |engines, world| {
                        engines.drop_file(world, file.name(), content)
                    }),
                    Err(sentence) => self.report_file(sentence),
                }
            }
        });
    }

    /// Shows a sentence about a file that was read. What went wrong with files that were dropped
    /// earlier is over then.
    pub(super) fn note_file(&self, sentence: String) {
        self.files.read.update(|all| all.push(sentence));
        let over = self
            .files
            .problems
            .try_update_value(|[_, earlier]| std::mem::take(earlier));
        let over = over.unwrap_or_default();
        if !over.is_empty() {
            self.notices
                .update(|notices| notices.retain(|notice| !over.contains(notice)));
        }
    }

    /// Shows a sentence about a file that could not be read, until another one is.
    pub(super) fn report_file(&self, sentence: String) {
        self.files
            .problems
            .update_value(|[last, _]| last.push(sentence.clone()));
        self.report(sentence);
    }

    /// Opens the dialog of files.
    pub fn open_dialog(&self) {
        self.files.making.set(String::new());
        self.files.dialog.set(true);
    }

    /// Opens the world that a dropped file belongs to, and sends the file there.
    pub(super) fn open_foreign(&self, file: ForeignFile) {
        if self.state.with_untracked(|state| state.world != file.world) {
            self.open_world(&file.world);
        }
        let ForeignFile {
            world,
            name,
            content,
        } = file;
        self.use_engines(Role::Play, |engines, _| {
            engines.drop_file(&world, name, content)
        });
    }

    /// Returns `true` if a file of `size` bytes can be kept; says that it cannot if not.
    fn has_room(&self, name: &str, size: f64) -> bool {
        let has_room = self.engines.with_value(|engines| engines.has_room(size));
        if !has_room {
            self.report_file(format!(
                "{name} was not opened: the replays and models that you opened take up to {} MiB together. Reload the page to open others.",
                TOTAL_MAX >> 20
            ));
        }
        has_room
    }

    /// Lets a model play an episode of its world, as if the visitor had dropped its file.
    pub(super) fn open_model(&self, world: &str, name: String, content: Vec<u8>) {
        if !self.has_room(&name, content.len() as f64) {
            return;
        }
        self.files.opened.set_value(Opened::Nothing);
        if self.state.with_untracked(|state| state.world != world) {
            self.open_world(world);
        }
        self.state.update(|state| state.screen = Screen::Episode);
        self.use_engines(Role::Play, |engines, _| {
            engines.drop_file(world, name, content)
        });
    }

    /// Returns `true` if a file of this kind is to be shown, because none of those that were
    /// dropped together comes before it.
    fn shows_opened(&self, kind: Opened) -> bool {
        let first = self.files.opened.with_value(|opened| kind > *opened);
        if first {
            self.files.opened.set_value(kind);
        }
        first
    }

    /// Shows a dropped training log beside the other runs.
    pub(super) fn show_added_run(&self, name: &str) {
        let is_first = self.shows_opened(Opened::Curves);
        self.playing.set(false);
        self.state.update(|state| {
            if state.runs.is_empty() {
                // The run that was shown without being named stays beside it.
                state.runs = format!("{}-grpo", state.world);
            }
            state.runs.push(':');
            state.runs.push_str(name);
            if is_first {
                state.screen = Screen::Training;
            }
        });
    }

    /// Shows an episode of a dropped replay, or lets a dropped model play the current one.
    pub(super) fn open_played(&self, episode: &sentinel_page_protocol::PlayedEpisode) {
        let kind = if episode.task.is_empty() {
            Opened::Model
        } else {
            Opened::Replay
        };
        if self.shows_opened(kind) {
            self.restart(|state| state.open_episode(episode));
        }
    }

    /// Asks an engine of this world for a file to save.
    pub fn export(&self, role: Role, run: u32, export: Export) {
        self.send(role, &Request::Export { run, export });
    }

    /// Saves a file of the engine, after the conversion that it needs.
    pub(super) fn save_exported(self, file: ExportedFile) {
        if file.conversion == Conversion::None {
            let is_saved = browser::download(&file.name, &file.mime, &file.content);
            return self.files.making.set(saved(&file.name, is_saved));
        }
        leptos::task::spawn_local(async move {
            self.files.making.set(format!("Making {}…", file.name));
            match self.convert(&file).await {
                Ok(sentence) => self.files.making.set(sentence),
                Err(sentence) => self.report(sentence),
            }
        });
    }

    /// Shows a sentence about what went wrong, also in the dialog of files, which covers notices.
    pub fn report(&self, sentence: String) {
        if self.files.dialog.get_untracked() {
            self.files.making.set(sentence.clone());
        }
        self.add_notice(sentence);
    }

    /// Makes a PNG of a drawing with `picture.js`, and saves it. Returns a sentence about the result.
    async fn convert(self, file: &ExportedFile) -> Result<String, String> {
        let missing = || "The part of the page that makes pictures could not be loaded.".to_owned();
        let module = browser::load_script("picture").await.ok_or_else(missing)?;
        let make = js_sys::Reflect::get(&module, &JsValue::from_str("png"));
        let make = make.and_then(JsCast::dyn_into::<js_sys::Function>);
        let make = make.map_err(|_| missing())?;
        let content = JsValue::from_str(&String::from_utf8_lossy(&file.content));
        let made = make.call1(&JsValue::UNDEFINED, &content);
        let made = match made.and_then(JsCast::dyn_into::<js_sys::Promise>) {
            Ok(promise) => wasm_bindgen_futures::JsFuture::from(promise).await,
            Err(error) => Err(error),
        };
        let made = made.and_then(JsCast::dyn_into::<web_sys::Blob>);
        let blob = made.map_err(|error| {
            let sentence = error.as_string();
            sentence.unwrap_or_else(|| format!("{} could not be made.", file.name))
        })?;
        Ok(saved(&file.name, browser::save_blob(&file.name, &blob)))
    }
}

/// Returns a sentence about a file that was to be saved.
fn saved(name: &str, is_saved: bool) -> String {
    if is_saved {
        format!("Saved {name}.")
    } else {
        format!("The browser did not allow saving {name}.")
    }
}
