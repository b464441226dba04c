//! Handling of files: those that the engine asked for, and those that the visitor dropped.

use std::sync::Arc;

use sentinel_env::strict_json::Json;
use sentinel_env::{EpisodeSpec, WorldName};
use sentinel_page_protocol::{DeferredReply, ForeignFile, PlayedEpisode, Reply};
use sentinel_policy::nn::{Model, ModelError, TrainedPolicy};
use sentinel_policy::policy::Policy as _;

use super::address_names::Source;
use super::{Engine, REPLAYS};
use crate::evaluation;
use crate::file_library::{self, MANIFEST};
use crate::files::{DroppedFile, Fetched, base_name, text};
use crate::format::counted;
use crate::world::{MODEL, PageWorld, REPLAY, default_rules, default_streams, describe_model};

/// Returns `true` if a model gives numbers in the first state of an episode. Weights may be finite and
/// yet too large to compute with.
fn is_finite<W: PageWorld>(model: &Model<W::Net>) -> bool {
    let setup = EpisodeSpec::<W> {
        task: W::default_task(),
        seed: W::VALIDATION_SEED,
        streams: default_streams::<W>(),
        rules: default_rules::<W>(),
    }
    .setup();
    let mut policy = TrainedPolicy::new(Arc::new(model.clone()));
    policy.observe(W::reset(&setup).observation());
    let chances = policy.probabilities();
    chances.is_none_or(|chances| chances.iter().all(|chance| chance.is_finite()))
}

impl<W: PageWorld> Engine<W> {
    /// Handles a file that the engine asked for.
    pub(super) fn handle_file(&mut self, path: &str, content: Result<Vec<u8>, String>) {
        if self.handle_model(path, &content) {
            return;
        }
        if path == MANIFEST {
            self.handle_manifest(content);
        } else if let Some(name) = path
            .strip_prefix(REPLAYS)
            .and_then(|file| file.strip_suffix(".jsonl"))
        {
            self.handle_replay(name, content);
        }
    }

    /// Opens a file that the visitor dropped.
    pub(super) fn open_file(&mut self, path: &str, content: Result<Vec<u8>, String>) {
        match content {
            Ok(bytes) => self.handle_dropped(path, bytes),
            Err(reason) => self.reply(DeferredReply::FileProblem(reason)),
        }
    }

    /// Handles a file that the visitor dropped while another engine played, without an answer.
    pub(super) fn handle_lent(&mut self, name: &str, content: Vec<u8>) {
        let answered = self.replies.len();
        self.handle_dropped(name, content);
        self.replies.truncate(answered);
    }

    fn handle_dropped(&mut self, path: &str, bytes: Vec<u8>) {
        let name = base_name(path);
        let read = DroppedFile::new(name, bytes).and_then(|file| match file {
            DroppedFile::Model(bytes) => self.open_model(name, bytes),
            DroppedFile::TrainingLog(text) => {
                let name = name.to_owned();
                self.reply(DeferredReply::TrainingLog { name, text });
                Ok(None)
            }
            DroppedFile::Evaluation(file, text) => self.open_evaluation(name, &file, text),
            DroppedFile::Lines(text) => self.open_replay(name, text),
        });
        let opened = read.unwrap_or_else(|reason| {
            self.reply(DeferredReply::FileProblem(reason));
            None
        });
        let player = opened.as_ref().map(|episode| episode.player.clone());
        self.reply(DeferredReply::FileHandled {
            world: W::NAME.to_owned(),
            name: path.to_owned(),
            player: player.unwrap_or_default(),
        });
        if let Some(episode) = opened {
            self.reply(DeferredReply::Opened(episode));
        }
    }

    /// Takes a model. Returns the episode to open, as the functions below do; `None` if the file is no
    /// player of this world.
    fn open_model(&mut self, name: &str, bytes: Vec<u8>) -> Result<Option<PlayedEpisode>, String> {
        let model = match Model::from_bytes(&bytes) {
            Ok(model) => model,
            Err(ModelError::World { found, .. }) if is_elsewhere::<W>(&found) => {
                self.send_elsewhere(&found, name, bytes);
                return Ok(None);
            }
            Err(ModelError::Metadata(_)) if is_language_model(&bytes) => {
                return Err(format!(
                    "{name} holds a language model, which the page cannot run. Record it with `sentinel record --model FOLDER` and open the replay."
                ));
            }
            Err(error) => return Err(format!("{name} does not contain a policy: {error}.")),
        };
        if !is_finite::<W>(&model) {
            return Err(format!(
                "{name} is not played: with its weights the probabilities of actions are not numbers."
            ));
        }
        let described = describe_model::<W>(&model);
        let player = self.file_library.add_model(name, model);
        self.report_file(format!(
            "{name}: {described}. It plays as “{}”.",
            file_library::model_label(&player)
        ));
        self.restart(|shown| shown.source == Source::Model(player.clone()));
        self.describe();
        Ok(Some(PlayedEpisode {
            player: format!("{MODEL}{player}"),
            ..PlayedEpisode::default()
        }))
    }

    fn open_evaluation(
        &mut self,
        name: &str,
        file: &Json,
        text: String,
    ) -> Result<Option<PlayedEpisode>, String> {
        let world = evaluation::world(file);
        if is_elsewhere::<W>(world) {
            self.send_elsewhere(world, name, text.into_bytes());
            return Ok(None);
        }
        if world != W::NAME {
            let world = sentinel_env::truncate::abbreviate(world, 40);
            return Err(format!(
                "{name} evaluates the world “{world}”, which this page does not have."
            ));
        }
        let read = evaluation::read::<W>(name, file);
        let read = read.map_err(|reason| format!("{name} is not an evaluation: {reason}."))?;
        self.report_file(format!("{name}: an evaluation, in the table below."));
        self.reply(DeferredReply::Evaluation(read));
        Ok(None)
    }

    fn open_replay(&mut self, name: &str, text: String) -> Result<Option<PlayedEpisode>, String> {
        let (beginning, is_cut) = file_library::beginning(&text);
        let world = file_library::world_of_rows(beginning);
        // A long file without a row is not read to its end.
        let is_refused = is_cut && world.is_none();
        let searched = if is_refused { beginning } else { &text };
        let (read, problems) = file_library::read::<W>(name, searched);
        let world = world.map_or(W::NAME, WorldName::name);
        if read.first.is_none() && is_elsewhere::<W>(world) {
            self.send_elsewhere(world, name, text.into_bytes());
            return Ok(None);
        }
        if let (None, Some(fault)) = (read.first, problems.first()) {
            // What is wrong with the first line is wrong with the file.
            let fault = fault.strip_prefix(name).unwrap_or(fault);
            let fault = fault.trim_start_matches(", ");
            let place = if is_refused { " at its beginning" } else { "" };
            return Err(format!(
                "{name} has no row that can be played{place}: {fault}"
            ));
        }
        for problem in problems {
            self.reply(DeferredReply::FileProblem(problem));
        }
        let rows = counted(read.replay.row_count(), "action", "actions");
        let episodes = counted(read.replay.episodes().count(), "episode", "episodes");
        let opened = self.file_library.add_dropped(name, read)?;
        if let Some(name) = opened.player.strip_prefix(REPLAY) {
            self.start_awaiting_file(name);
        }
        let player = opened.player.replacen(REPLAY, "Replay ", 1);
        self.report_file(format!(
            "{name}: {episodes} with {rows}, in the menu of players as “{player}”."
        ));
        self.replies
            .push_back(Reply::Replays(self.file_library.listed().to_vec()));
        Ok(Some(opened))
    }

    /// Sends a sentence about a file of the visitor that was read.
    fn report_file(&mut self, sentence: String) {
        self.reply(DeferredReply::FileRead(sentence));
    }

    /// Hands a file to the engine of another world.
    fn send_elsewhere(&mut self, world: &str, name: &str, content: Vec<u8>) {
        self.reply(DeferredReply::Foreign(ForeignFile {
            world: world.to_owned(),
            name: name.to_owned(),
            content,
        }));
    }

    fn handle_manifest(&mut self, content: Result<Vec<u8>, String>) {
        let read = content.and_then(|bytes| text(MANIFEST, bytes));
        match read.and_then(|text| self.file_library.read_manifest(&text)) {
            Ok(refused) => {
                self.replies
                    .push_back(Reply::Replays(self.file_library.listed().to_vec()));
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
                let (read, problems) = file_library::read::<W>(name, &text);
                self.replies
                    .extend(problems.into_iter().map(Reply::Problem));
                Fetched::Ready(read)
            }
            Err(reason) => {
                self.problem(reason.clone());
                Fetched::Failed(reason)
            }
        };
        self.file_library.set(name, file);
        self.restart(|shown| matches!(&shown.source, Source::Replay(replay) if replay == name));
        self.start_awaiting_file(name);
    }
}

/// Returns `true` if `world` is a world of the page other than `W`.
fn is_elsewhere<W: PageWorld>(world: &str) -> bool {
    world != W::NAME && WorldName::parse(world).is_some()
}

/// Returns `true` if a safetensors file names layers of a language model or of an adapter.
fn is_language_model(bytes: &[u8]) -> bool {
    let header = &bytes[..bytes.len().min(1 << 16)];
    let has = |word: &[u8]| header.windows(word.len()).any(|part| part == word);
    has(b"self_attn") || has(b"embed_tokens")
}
