//! The engine, which answers the shell's messages and works in slices.

mod address_names;
mod checkpoints;
mod deferred;
mod displayed_runs;
mod exports;
mod incoming_files;
mod models;
mod tournaments;

use std::collections::VecDeque;

use sentinel_env::EpisodeSpec;
use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_page_protocol::{Branch, DeferredReply, EpisodeRef, Reply, Request};
use sentinel_policy::SEED_MAX;

use crate::file_library::{self, FileLibrary, MANIFEST};
use crate::files::Fetched;
use crate::run::{OwnActions, Run};
use crate::tournament::Tournament;
use crate::worker::Program;
use crate::world::{PageWorld, default_rules, default_streams, world_info};
use address_names::{
    Source, parse_codes, parse_source, parse_task, shortened, source_label, source_name, unknown,
};
use deferred::DeferredCode;
pub use deferred::{Deferred, Fetching};
use displayed_runs::{Analyzing, Shown, actor};
use exports::Sent;
use models::{Models, model_index};

/// The folder of replay files, relative to the page.
const REPLAYS: &str = "replays/";

/// An engine for one world.
pub struct Engine<W: PageWorld> {
    /// The few runs, by the numbers that the shell gave them.
    runs: Vec<(u32, Shown<W>)>,
    file_library: FileLibrary<W>,
    models: Models<W>,
    /// Episodes of the checkpoints with their indices, while their scores are computed.
    checkpoint_runs: Option<Vec<(usize, Run<W>)>>,
    tournament: Option<Tournament<W>>,
    sent: Sent,
    replies: VecDeque<Reply>,
    deferred: DeferredCode<W>,
    /// Fetches the second module, if the program was divided.
    fetch: Option<fn() -> Fetching<W>>,
    /// Requests that wait for the second module.
    waiting: Vec<Request>,
    /// Runs of replays without a task, which wait for the file to choose an episode from it.
    runs_awaiting_file: Vec<PlayRequest>,
}

/// A run that the shell requested.
struct PlayRequest {
    run: u32,
    episode: EpisodeRef,
    player: String,
    branch: Option<Branch>,
    /// `true` if the trained policy watches.
    watched: bool,
    /// `true` if the shell wants the hidden state.
    truth: bool,
}

impl<W: PageWorld> Default for Engine<W> {
    fn default() -> Self {
        Self {
            deferred: DeferredCode::Loaded(Deferred::new()),
            ..Self::default_without_deferred()
        }
    }
}

impl<W: PageWorld> Engine<W> {
    fn default_without_deferred() -> Self {
        Self {
            runs: Vec::new(),
            file_library: FileLibrary::default(),
            models: Models::default(),
            checkpoint_runs: None,
            tournament: None,
            sent: Sent::default(),
            replies: VecDeque::new(),
            deferred: DeferredCode::NotRequested,
            fetch: None,
            waiting: Vec::new(),
            runs_awaiting_file: Vec::new(),
        }
    }

    /// Handles a message. [`Engine::next_reply`] returns the answers, some only after
    /// [`Engine::work`].
    pub fn handle(&mut self, request: Request) {
        let Some(request) = self.divert(request) else {
            return;
        };
        match request {
            Request::Describe => {
                self.describe();
                self.replies.push_back(Reply::Need(MANIFEST.to_owned()));
            }
            Request::Play {
                run,
                episode,
                player,
                branch,
                watched,
            } => self.play(PlayRequest {
                run,
                episode,
                player,
                branch,
                watched,
                truth: false,
            }),
            Request::ShowTruth { run, show } => {
                let waiting = self.runs_awaiting_file.iter_mut();
                for play in waiting.filter(|play| play.run == run) {
                    play.truth = show;
                }
                if let Some((_, shown)) = self.runs.iter_mut().find(|(number, _)| *number == run) {
                    shown.show_truth(run, show, &mut self.replies);
                }
            }
            Request::Check { run, at, code } => self.check(run, at, &code),
            Request::Stop { run } => {
                self.runs.retain(|(number, _)| *number != run);
                self.runs_awaiting_file.retain(|play| play.run != run);
                self.with_tournament(run, |tournament| {
                    tournament.stopped = true;
                    tournament.report_soon();
                });
            }
            Request::File { name, content, .. } => self.handle_file(&name, content),
            Request::Checkpoints => self.request_scores(),
            // The engine of recorded results answers some, and the second module the others.
            _ => {}
        }
    }

    /// Works until `is_time_up` returns `true`; returns `true` if anything is left to do.
    pub fn work(&mut self, mut is_time_up: impl FnMut() -> bool) -> bool {
        let mut pending = false;
        for (number, shown) in &mut self.runs {
            while !shown.run.is_complete() && shown.run.advance() {
                if is_time_up() {
                    pending = true;
                    break;
                }
            }
            shown.send(*number, &self.file_library, &self.models, &mut self.replies);
            if pending {
                break;
            }
        }
        if pending {
            // The run that used up the time comes last in the next slice.
            self.runs.rotate_left(1);
            return true;
        }
        self.work_on_scores(&mut is_time_up) || self.work_after_runs(&mut is_time_up)
    }

    /// Returns the next answer; `None` if all have been returned.
    pub fn next_reply(&mut self) -> Option<Reply> {
        self.replies.pop_front()
    }

    /// Sends the description of the world, with the models that were dropped.
    fn describe(&mut self) {
        let mut info = world_info::<W>();
        info.players.extend(self.file_library.model_players());
        self.replies.push_back(Reply::World(Box::new(info)));
    }

    /// Sends a message to the deferred parts of the shell.
    fn reply(&mut self, reply: DeferredReply) {
        self.replies.push_back(reply.into());
    }

    fn problem(&mut self, sentence: String) {
        self.replies.push_back(Reply::Problem(sentence));
    }

    fn play(&mut self, request: PlayRequest) {
        self.runs_awaiting_file
            .retain(|play| play.run != request.run);
        let source = match request.player.as_str() {
            "" => Source::Trained,
            word => parse_source::<W>(word).unwrap_or_else(|| {
                self.problem(unknown("policy", word));
                Source::Trained
            }),
        };
        match &source {
            Source::Replay(name)
                if request.episode.task.is_empty()
                    && self.file_library.file(name).ready().is_none() =>
            {
                self.need_file(&source, Rules::REFERENCE);
                self.runs_awaiting_file.push(request);
            }
            _ => self.start_run(request, source),
        }
    }

    /// Starts the runs that waited for the file of replay `name`, which has arrived or has failed.
    fn start_awaiting_file(&mut self, name: &str) {
        let source = Source::Replay(name.to_owned());
        let player = source_name::<W>(&source);
        let waiting = |runs: &[PlayRequest]| runs.iter().position(|play| play.player == player);
        while let Some(at) = waiting(&self.runs_awaiting_file) {
            let request = self.runs_awaiting_file.remove(at);
            self.start_run(request, source.clone());
        }
    }

    fn start_run(&mut self, mut request: PlayRequest, source: Source<W::PolicyName>) {
        let run = request.run;
        let mut has_failed = false;
        if let Source::Replay(name) = &source
            && request.episode.task.is_empty()
        {
            match self.file_library.file(name).ready() {
                Some(read) => read.choose_episode(&mut request.episode),
                None => has_failed = true,
            }
        }
        let origin = self.origin(&request.episode);
        if !has_failed {
            self.need_file(&source, origin.rules);
        }
        let branch = request.branch.and_then(|branch| self.own_actions(&branch));
        let truth = request.truth || self.shown(run).is_some_and(|shown| shown.truth);
        let mut episode = file_library::episode::<W>(&origin);
        // Without a player the shell keeps the words of the address, so that a reload tries again.
        if !has_failed {
            episode.player = source_name::<W>(&source);
        }
        episode.player_label = source_label::<W>(&source);
        let setup = origin.setup();
        let rules = origin.rules;
        let watched = request.watched && source != Source::Trained;
        if watched {
            self.need_file(&Source::Trained, rules);
        }
        let library = Some(&self.file_library);
        let actor = actor::<W>(&source, &setup, rules, library, &self.models);
        let watcher = self.models.watcher(watched, rules);
        let shown = Shown {
            run: Run::new(&setup, actor, branch.clone(), watcher),
            watched,
            setup,
            rules,
            source,
            episode,
            branch,
            sent: 0,
            truth,
            wants_answer: false,
            answer_sent: false,
            resends_hindsight: false,
            truth_sent: 0,
            finished: false,
            analysis: Analyzing::Off,
        };
        self.runs.retain(|(number, _)| *number != run);
        self.runs.push((run, shown));
    }

    /// Restarts the runs that waited for a file.
    fn restart(&mut self, waited: impl Fn(&Shown<W>) -> bool) {
        let waiting = self.runs.iter_mut().map(|(_, shown)| shown);
        for shown in waiting.filter(|shown| waited(shown)) {
            shown.restart(&self.file_library, &self.models);
        }
    }

    fn shown(&self, run: u32) -> Option<&Shown<W>> {
        let found = self.runs.iter().find(|(number, _)| *number == run);
        found.map(|(_, shown)| shown)
    }

    fn shown_mut(&mut self, run: u32) -> Option<&mut Shown<W>> {
        let found = self.runs.iter_mut().find(|(number, _)| *number == run);
        found.map(|(_, shown)| shown)
    }

    /// Parses the words of an address; a word that is not understood keeps its default.
    fn origin(&mut self, words: &EpisodeRef) -> EpisodeSpec<W> {
        let task = match words.task.as_str() {
            "" => W::default_task(),
            word => parse_task::<W>(word).unwrap_or_else(|| {
                self.problem(unknown("task", word));
                W::default_task()
            }),
        };
        let streams = match words.streams.as_str() {
            "" => default_streams::<W>(),
            word => Streams::parse(word)
                .filter(|streams| W::STREAMS.contains(streams))
                .unwrap_or_else(|| {
                    self.problem(unknown("streams", word));
                    default_streams::<W>()
                }),
        };
        // A typed plus sign is decoded as a space.
        let rules = Rules::parse(&words.rules.replace(' ', "+"));
        let rules = match (words.rules.as_str(), rules) {
            ("", _) => default_rules::<W>(),
            (_, Ok(rules)) => rules,
            (word, Err(error)) => {
                self.problem(format!(
                    "The address contains “rules={}”: {error}.",
                    shortened(word)
                ));
                Rules::REFERENCE
            }
        };
        EpisodeSpec {
            task,
            seed: words.seed.min(SEED_MAX),
            streams,
            rules,
        }
    }

    fn own_actions(&mut self, branch: &Branch) -> Option<OwnActions<W>> {
        let at = usize::try_from(branch.at).ok();
        let at = at.filter(|at| *at <= W::ACTIONS_MAX);
        if at.is_none() {
            self.problem(unknown("at", &branch.at.to_string()));
        }
        let codes = parse_codes::<W>(&branch.actions);
        if codes.is_none() {
            self.problem(unknown("acts", &branch.actions));
        }
        Some(OwnActions {
            at: at?,
            codes: codes?,
            resume: branch.resume,
        })
    }

    /// Requests the file that a player needs in an episode under `rules`, unless it is here or on its way.
    fn need_file(&mut self, source: &Source<W::PolicyName>, rules: Rules<W::Change>) {
        if let Some(index) = model_index::<W>(source, rules) {
            self.need_model(index);
        }
        if let Source::Replay(name) = source
            && self.file_library.file(name).is_missing()
        {
            self.file_library.set(name, Fetched::Loading);
            self.replies
                .push_back(Reply::Need(format!("{REPLAYS}{name}.jsonl")));
        }
    }

    fn check(&mut self, run: u32, at: u32, code: &str) {
        let Some(shown) = self.shown(run) else {
            return;
        };
        let last = shown.run.frames().len() - 1;
        let index = usize::try_from(at).unwrap_or(last).min(last);
        let observation = shown.run.frames()[index].episode.observation();
        let mut rest = code;
        let read = W::read_code(&mut rest).filter(|_| rest.is_empty());
        let mut completed = String::new();
        let (label, warning) = read.map_or_else(
            || (String::new(), "This is not an action.".to_owned()),
            |read| {
                let action = W::complete_action(observation, W::action(observation, read));
                W::write_code(W::code(observation, action), &mut completed);
                let warning = match W::is_done(observation) {
                    true => "The episode has ended.".to_owned(),
                    false => W::warning(observation, action),
                };
                (W::describe_action(observation, action), warning)
            },
        );
        self.replies.push_back(Reply::Checked {
            run,
            at,
            code: code.to_owned(),
            completed,
            label,
            warning,
        });
    }
}

impl<W: PageWorld> Program for Engine<W> {
    fn handle(&mut self, request: Request) {
        Self::handle(self, request);
    }

    fn work(&mut self, is_time_up: impl FnMut() -> bool) -> bool {
        Self::work(self, is_time_up)
    }

    fn is_loading(&self) -> bool {
        matches!(self.deferred, DeferredCode::Loading(_))
    }

    fn next_reply(&mut self) -> Option<Reply> {
        Self::next_reply(self)
    }
}
