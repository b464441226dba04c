//! The engine: answers the shell's messages and works in slices.

use std::collections::VecDeque;
use std::sync::Arc;

use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_env::{Named as _, Origin, TaskName as _};
use sentinel_page_protocol::{
    Branch, EpisodeRef, PlayedEpisode, Reply, Request, RunUpdate, TournamentSpec, TruthUpdate,
};
use sentinel_policy::SEED_MAX;
use sentinel_policy::nn::{Model, TrainedPolicy};
use sentinel_policy::policy::Player;

use crate::actor::{Actor, PolicyActor, Recording, ReplayActor};
use crate::curves;
use crate::files::{Fetched, base_name, text};
use crate::library::{self, Library, MANIFEST};
use crate::run::{OwnActions, Run, encoded};
use crate::tournament::Tournament;
use crate::transcript::transcript;
use crate::world::{PageWorld, REPLAY, TRAINED, VISITOR, default_streams, world_info};

/// The folder of replay files, relative to the page.
const REPLAYS: &str = "replays/";

/// Who plays a run.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source<P> {
    Policy(P),
    Trained,
    Replay(String),
    Visitor,
}

/// A run with what the shell knows of it.
struct Shown<W: PageWorld> {
    run: Run<W>,
    setup: W::Setup,
    source: Source<W::PolicyName>,
    episode: PlayedEpisode,
    branch: Option<OwnActions<W>>,
    /// Frames that the shell has.
    sent: usize,
    /// `true` while the shell wants the hidden state.
    truth: bool,
    /// Frames whose hidden state the shell has.
    truth_sent: usize,
    /// `true` once the shell knows that nothing more is to come.
    finished: bool,
}

/// An engine for one world.
pub struct Engine<W: PageWorld> {
    /// The runs by the numbers that the shell gave them; a handful.
    runs: Vec<(u32, Shown<W>)>,
    library: Library<W>,
    model: Fetched<Arc<Model<W::Net>>>,
    curves: Fetched<()>,
    curves_wanted: bool,
    tournament: Option<Tournament<W>>,
    replies: VecDeque<Reply>,
}

impl<W: PageWorld> Default for Engine<W> {
    fn default() -> Self {
        Self {
            runs: Vec::new(),
            library: Library::default(),
            model: Fetched::Unasked,
            curves: Fetched::Unasked,
            curves_wanted: false,
            tournament: None,
            replies: VecDeque::new(),
        }
    }
}

impl<W: PageWorld> Engine<W> {
    /// Takes in a message. Its answers are in [`Engine::replies`], some only after
    /// [`Engine::work`].
    pub fn handle(&mut self, request: Request) {
        match request {
            Request::Describe => {
                self.replies
                    .push_back(Reply::World(Box::new(world_info::<W>())));
                self.replies.push_back(Reply::Need(MANIFEST.to_owned()));
            }
            Request::Play {
                run,
                episode,
                player,
                branch,
            } => {
                self.play(run, &episode, &player, branch);
            }
            Request::ShowTruth { run, show } => {
                if let Some((_, shown)) = self.runs.iter_mut().find(|(number, _)| *number == run) {
                    (shown.truth, shown.truth_sent) = (show, 0);
                    shown.send_truth(run, &mut self.replies);
                }
            }
            Request::Check { run, at, code } => self.check(run, at, &code),
            Request::Tournament { run, spec } => self.start_tournament(run, &spec),
            Request::Pause { run, paused } => {
                if let Some(tournament) = self.tournament.as_mut().filter(|t| t.run() == run) {
                    tournament.paused = paused;
                }
            }
            Request::Stop { run } => {
                self.runs.retain(|(number, _)| *number != run);
                if self.tournament.as_ref().is_some_and(|t| t.run() == run) {
                    self.tournament = None;
                }
            }
            Request::File {
                name,
                content,
                dropped,
            } => self.take_file(&name, content, dropped),
            Request::Curves => {
                self.curves_wanted = true;
                if !W::CURVES.is_empty() && self.curves.is_missing() {
                    self.curves = Fetched::Loading;
                    self.replies.push_back(Reply::Need(W::CURVES.to_owned()));
                }
            }
        }
    }

    /// Works until `is_time_up` says so; returns `true` if anything is left to do.
    pub fn work(&mut self, mut is_time_up: impl FnMut() -> bool) -> bool {
        let mut pending = false;
        for (number, shown) in &mut self.runs {
            while !shown.run.is_complete() && shown.run.advance() {
                if is_time_up() {
                    pending = true;
                    break;
                }
            }
            shown.send(*number, &self.library, &self.model, &mut self.replies);
            if pending {
                break;
            }
        }
        if pending {
            // The run that took all the time is the last of the next slice.
            self.runs.rotate_left(1);
            return true;
        }
        let Self {
            tournament,
            model,
            replies,
            ..
        } = self;
        let Some(tournament) = tournament
            .as_mut()
            .filter(|t| !t.paused && !t.is_complete())
        else {
            return false;
        };
        let start = |player: &str, origin: &Origin<W>| {
            let source = parse_source::<W>(player)?;
            actor::<W>(&source, &origin.setup(), None, model.ready())
        };
        while tournament.advance(&start) {
            if is_time_up() {
                pending = true;
                break;
            }
        }
        replies.push_back(Reply::Standings(tournament.standings()));
        pending
    }

    /// Returns the next answer.
    pub fn next_reply(&mut self) -> Option<Reply> {
        self.replies.pop_front()
    }

    fn problem(&mut self, sentence: String) {
        self.replies.push_back(Reply::Problem(sentence));
    }

    fn play(&mut self, run: u32, words: &EpisodeRef, player: &str, branch: Option<Branch>) {
        let origin = self.origin(words);
        let source = match player {
            "" => Source::Trained,
            word => parse_source::<W>(word).unwrap_or_else(|| {
                self.problem(unknown("policy", word));
                Source::Trained
            }),
        };
        let branch = branch.and_then(|branch| self.own_actions(&branch));
        let truth = self.shown(run).is_some_and(|shown| shown.truth);
        self.need_file(&source);
        let mut episode = library::episode::<W>(&origin);
        episode.player = source_name::<W>(&source);
        episode.player_label = source_label::<W>(&source);
        self.start(run, origin.setup(), source, episode, branch, truth);
    }

    fn start(
        &mut self,
        run: u32,
        setup: W::Setup,
        source: Source<W::PolicyName>,
        episode: PlayedEpisode,
        branch: Option<OwnActions<W>>,
        truth: bool,
    ) {
        let actor = actor::<W>(&source, &setup, Some(&self.library), self.model.ready());
        let shown = Shown {
            run: Run::new(&setup, actor, branch.clone()),
            setup,
            source,
            episode,
            branch,
            sent: 0,
            truth,
            truth_sent: 0,
            finished: false,
        };
        self.runs.retain(|(number, _)| *number != run);
        self.runs.push((run, shown));
    }

    /// Plays the runs again that waited for a file.
    fn restart(&mut self, waited: impl Fn(&Source<W::PolicyName>) -> bool) {
        let (waiting, others) = std::mem::take(&mut self.runs)
            .into_iter()
            .partition(|(_, shown)| waited(&shown.source));
        self.runs = others;
        for (run, shown) in waiting {
            let Shown {
                setup,
                source,
                episode,
                branch,
                truth,
                ..
            } = shown;
            self.start(run, setup, source, episode, branch, truth);
        }
    }

    fn shown(&self, run: u32) -> Option<&Shown<W>> {
        let found = self.runs.iter().find(|(number, _)| *number == run);
        found.map(|(_, shown)| shown)
    }

    /// Reads the words of an address; what is not understood keeps its default.
    fn origin(&mut self, words: &EpisodeRef) -> Origin<W> {
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
        // A plus sign that was typed reads as a space.
        let rules = Rules::parse(&words.rules.replace(' ', "+"));
        let rules = match (words.rules.as_str(), rules) {
            ("", _) => Rules::REFERENCE,
            (_, Ok(rules)) => rules,
            (word, Err(error)) => {
                self.problem(format!(
                    "The address says “rules={}”: {error}.",
                    shortened(word)
                ));
                Rules::REFERENCE
            }
        };
        Origin {
            task,
            seed: words.seed.min(SEED_MAX),
            streams,
            rules,
        }
    }

    fn own_actions(&mut self, branch: &Branch) -> Option<OwnActions<W>> {
        let at = usize::try_from(branch.at).unwrap_or(usize::MAX);
        if at > W::ACTIONS_MAX {
            self.problem(unknown("at", &branch.at.to_string()));
            return None;
        }
        let Some(codes) = parse_codes::<W>(&branch.actions) else {
            self.problem(unknown("acts", &branch.actions));
            return None;
        };
        Some(OwnActions {
            at,
            codes,
            resume: branch.resume,
        })
    }

    fn need_file(&mut self, source: &Source<W::PolicyName>) {
        match source {
            Source::Trained if self.model.is_missing() => {
                self.model = Fetched::Loading;
                self.replies.push_back(Reply::Need(W::WEIGHTS.to_owned()));
            }
            Source::Replay(name) if self.library.file(name).is_missing() => {
                self.library.set(name, Fetched::Loading);
                self.replies
                    .push_back(Reply::Need(format!("{REPLAYS}{name}.jsonl")));
            }
            _ => {}
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
        let (label, warning) = read.map_or_else(
            || (String::new(), "This is not an action.".to_owned()),
            |read| {
                let action = W::action(observation, read);
                (
                    W::describe_action(observation, action),
                    W::warning(observation, action),
                )
            },
        );
        self.replies.push_back(Reply::Checked {
            run,
            code: code.to_owned(),
            label,
            warning,
        });
    }

    fn start_tournament(&mut self, run: u32, spec: &TournamentSpec) {
        let mut episodes = Vec::new();
        for seed in 0..u64::from(spec.seeds) {
            for task in &spec.tasks {
                episodes.push(self.origin(&EpisodeRef {
                    task: task.clone(),
                    seed: spec.first_seed.saturating_add(seed),
                    streams: spec.streams.clone(),
                    rules: spec.rules.clone(),
                }));
            }
        }
        let mut players = Vec::new();
        for word in &spec.players {
            match parse_source::<W>(word) {
                Some(source @ (Source::Policy(_) | Source::Trained)) => {
                    self.need_file(&source);
                    players.push((word.clone(), source_label::<W>(&source)));
                }
                _ => self.problem(unknown("policy", word)),
            }
        }
        let mut tournament = Tournament::new(run, episodes, players);
        // Nobody stands in for weights that are still on their way.
        tournament.paused = matches!(self.model, Fetched::Loading)
            && spec.players.iter().any(|player| player == TRAINED);
        self.tournament = Some(tournament);
    }

    fn take_file(&mut self, path: &str, content: Result<Vec<u8>, String>, dropped: bool) {
        if dropped {
            match content {
                Ok(bytes) => self.take_dropped(base_name(path), bytes),
                Err(reason) => self.problem(reason),
            }
        } else if path == W::WEIGHTS {
            self.take_model(path, content);
        } else if path == MANIFEST {
            self.take_manifest(content);
        } else if path == W::CURVES {
            self.take_curves(path, content);
        } else if let Some(name) = path
            .strip_prefix(REPLAYS)
            .and_then(|file| file.strip_suffix(".jsonl"))
        {
            self.take_replay(name, content);
        }
    }

    fn take_dropped(&mut self, name: &str, bytes: Vec<u8>) {
        if name.ends_with(".safetensors") {
            match Model::from_bytes(&bytes) {
                Ok(model) => {
                    self.model = Fetched::Ready(Arc::new(model));
                    self.restart(|source| *source == Source::Trained);
                    self.replies.push_back(Reply::Opened(PlayedEpisode {
                        player: TRAINED.to_owned(),
                        ..PlayedEpisode::default()
                    }));
                }
                Err(error) => self.problem(format!("{name} holds no policy: {error}.")),
            }
            return;
        }
        if name.ends_with(".json") {
            match text(name, bytes).and_then(|text| curves::read(name, &text)) {
                Ok(curves) => self.replies.push_back(Reply::Curves(curves)),
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

    fn take_model(&mut self, path: &str, content: Result<Vec<u8>, String>) {
        let read = match content {
            Ok(bytes) => Model::from_bytes(&bytes).map_err(|e| {
                format!("{path} holds no policy: {e}. No other policy takes its place.")
            }),
            Err(reason) => Err(format!(
                "{reason}. Without its weights the trained policy cannot play, and no other policy takes its place: \
                 put the file there (`cargo xtask demo` copies it from the repository) and try again."
            )),
        };
        match read {
            // A model that the visitor dropped meanwhile stays.
            Ok(model) if self.model.ready().is_none() => {
                self.model = Fetched::Ready(Arc::new(model));
            }
            Ok(_) => {}
            Err(reason) => {
                self.problem(reason.clone());
                self.model = Fetched::Failed(reason);
            }
        }
        self.restart(|source| *source == Source::Trained);
        if let Some(tournament) = &mut self.tournament {
            tournament.paused = false;
        }
    }

    fn take_manifest(&mut self, content: Result<Vec<u8>, String>) {
        let read = content.and_then(|bytes| text(MANIFEST, bytes));
        match read.and_then(|text| self.library.read_manifest(&text)) {
            Ok(refused) => {
                self.replies
                    .push_back(Reply::Replays(self.library.listed().to_vec()));
                for file in refused {
                    self.problem(format!(
                        "{REPLAYS}{file} cannot be named in an address: rename it."
                    ));
                }
            }
            Err(reason) => self.problem(reason),
        }
    }

    fn take_replay(&mut self, name: &str, content: Result<Vec<u8>, String>) {
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

    fn take_curves(&mut self, path: &str, content: Result<Vec<u8>, String>) {
        let read = content
            .map_err(|reason| {
                format!(
                    "{reason}. The curves are drawn from this file alone: put it there (`sentinel train` writes it, \
                     `cargo xtask demo` copies it from the repository) and try again."
                )
            })
            .and_then(|bytes| text(path, bytes))
            .and_then(|text| curves::read(path, &text));
        match read {
            Ok(curves) => {
                self.curves = Fetched::Ready(());
                self.replies.push_back(Reply::Curves(curves));
            }
            Err(reason) => {
                self.problem(reason.clone());
                self.curves = Fetched::Failed(reason);
            }
        }
    }
}

impl<W: PageWorld> Shown<W> {
    /// Sends the frames that the shell does not have.
    fn send(
        &mut self,
        run: u32,
        library: &Library<W>,
        model: &Fetched<Arc<Model<W::Net>>>,
        replies: &mut VecDeque<Reply>,
    ) {
        let count = self.run.frames().len();
        let complete = self.run.is_complete();
        if self.finished || count == self.sent && !complete {
            return;
        }
        self.finished = complete;
        // The last frame that was sent did not know the action after it.
        let from = self.sent.saturating_sub(1);
        let frames = (from..count).map(|index| {
            let mut view = self.run.view(index);
            if let Source::Replay(name) = &self.source
                && let Some(read) = library.file(name).ready()
                && self.run.moment(index).next.is_some_and(|next| !next.own)
            {
                let observation = self.run.frames()[index].episode.observation();
                view.transcript = transcript(&read.replay, &self.setup, observation);
            }
            encoded(&view)
        });
        let (source_note, source_warning) = self.note(library, model);
        replies.push_back(Reply::Run(Box::new(RunUpdate {
            run,
            episode: self.episode.clone(),
            from: u32::try_from(from).unwrap_or(u32::MAX),
            frames: frames.collect(),
            steps: (from..count)
                .filter_map(|index| self.run.step_line(index))
                .collect(),
            charts: W::charts(&self.run.moments()),
            digest: self.run.digest(),
            complete,
            done: self.run.is_done(),
            refused: self.run.refused().to_owned(),
            source_note,
            source_warning,
        })));
        self.sent = count;
        self.send_truth(run, replies);
    }

    fn send_truth(&mut self, run: u32, replies: &mut VecDeque<Reply>) {
        if !self.truth {
            return;
        }
        let all = self.run.frames();
        let from = self.truth_sent.saturating_sub(1);
        let frames = (from..all.len()).map(|index| encoded(&W::truth(all, index)));
        let update = TruthUpdate {
            run,
            from: u32::try_from(from).unwrap_or(u32::MAX),
            frames: frames.collect(),
            steps: (from..all.len())
                .filter_map(|index| self.run.true_step_line(index))
                .collect(),
            charts: W::true_charts(all, W::charts(&self.run.moments())),
        };
        self.truth_sent = all.len();
        replies.push_back(Reply::Truth(Box::new(update)));
    }

    /// Returns a sentence about the file that the player needs, and whether it is a warning.
    fn note(&self, library: &Library<W>, model: &Fetched<Arc<Model<W::Net>>>) -> (String, bool) {
        match &self.source {
            Source::Policy(_) | Source::Visitor => (String::new(), false),
            Source::Trained => match model {
                Fetched::Ready(model) => (W::describe_model(model), false),
                Fetched::Failed(reason) => (reason.clone(), true),
                Fetched::Loading | Fetched::Unasked => (format!("Loading {}…", W::WEIGHTS), false),
            },
            Source::Replay(name) => match library.file(name) {
                Fetched::Ready(_) => {
                    let recording = self.run.recording().unwrap_or_default();
                    let misses = self
                        .run
                        .frames()
                        .iter()
                        .filter(|frame| frame.missed)
                        .count();
                    replay_note(&recording, misses, W::FALLBACK)
                }
                Fetched::Failed(reason) => (reason.clone(), true),
                Fetched::Loading | Fetched::Unasked => {
                    (format!("Loading {REPLAYS}{name}.jsonl…"), false)
                }
            },
        }
    }
}

/// Returns a sentence about how a replay fits, and whether it is a warning.
fn replay_note(recording: &Recording, misses: usize, fallback: &str) -> (String, bool) {
    let by = match recording.source.as_str() {
        "" => String::new(),
        source => format!(" of {source}"),
    };
    let mut note = format!("Replay{by}: {} recorded actions", recording.hits);
    if recording.fallbacks > 0 {
        note += &format!(
            ", {} of them by the fallback, where the model’s answer was no action",
            recording.fallbacks
        );
    }
    note += &format!(", {misses} misses");
    if misses > 0 {
        note += &format!(" ({fallback} where the file has no row)");
    }
    if recording.unused > 0 {
        note += &format!(", {} rows never reached", recording.unused);
    }
    if let Some(line) = recording.mismatches.first() {
        note += &format!(
            ", {} recorded with another scenario, build or stream mode (first: line {line})",
            recording.mismatches.len()
        );
    }
    let stand_in = recording.source.ends_with("fallback)");
    let bad = misses + recording.unused + recording.fallbacks + recording.mismatches.len() > 0;
    (note, bad || stand_in)
}

/// Creates the actor of a source; `None` for the visitor, and while its file is not here.
fn actor<W: PageWorld>(
    source: &Source<W::PolicyName>,
    setup: &W::Setup,
    library: Option<&Library<W>>,
    model: Option<&Arc<Model<W::Net>>>,
) -> Option<Box<dyn Actor<W>>> {
    match source {
        Source::Policy(policy) => Some(W::actor(*policy, setup)),
        Source::Trained => {
            let policy = TrainedPolicy::new(Arc::clone(model?));
            Some(Box::new(PolicyActor(Player::Public(Box::new(policy)))))
        }
        Source::Replay(name) => {
            let read = library?.file(name).ready()?;
            Some(Box::new(ReplayActor::new(&read.replay, setup)))
        }
        Source::Visitor => None,
    }
}

fn parse_source<W: PageWorld>(word: &str) -> Option<Source<W::PolicyName>> {
    if word == VISITOR {
        return Some(Source::Visitor);
    }
    if word == TRAINED {
        return Some(Source::Trained);
    }
    if let Some(name) = word.strip_prefix(REPLAY) {
        return library::is_plain_name(name).then(|| Source::Replay(name.to_owned()));
    }
    let policy = W::PolicyName::parse(word)?;
    W::policies()
        .contains(&policy)
        .then_some(Source::Policy(policy))
}

fn source_name<W: PageWorld>(source: &Source<W::PolicyName>) -> String {
    match source {
        Source::Policy(policy) => policy.name().to_owned(),
        Source::Trained => TRAINED.to_owned(),
        Source::Replay(name) => format!("{REPLAY}{name}"),
        Source::Visitor => VISITOR.to_owned(),
    }
}

fn source_label<W: PageWorld>(source: &Source<W::PolicyName>) -> String {
    match source {
        Source::Policy(policy) => W::policy_label(*policy).to_owned(),
        Source::Trained => "Trained policy (GRPO)".to_owned(),
        Source::Replay(name) => format!("Replay {name}"),
        Source::Visitor => "You".to_owned(),
    }
}

/// Returns the task with a name or a number.
fn parse_task<W: PageWorld>(word: &str) -> Option<W::Task> {
    W::Task::parse(word).or_else(|| W::Task::parse(&format!("task{word}")))
}

fn parse_codes<W: PageWorld>(mut text: &str) -> Option<Vec<W::Code>> {
    let mut codes = Vec::new();
    while !text.is_empty() {
        codes.push(W::read_code(&mut text)?);
        if codes.len() > W::ACTIONS_MAX {
            return None;
        }
    }
    (!codes.is_empty()).then_some(codes)
}

fn unknown(key: &str, word: &str) -> String {
    format!(
        "The address says “{}”, which is not understood.",
        shortened(&format!("{key}={word}"))
    )
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
