//! The runs that the shell shows, and the messages that keep it up to date.

use std::collections::VecDeque;
use std::sync::Arc;

use sentinel_env::rules::Rules;
use sentinel_page_protocol::{Chart, DeferredReply, PlayedEpisode, Reply, RunUpdate, TruthUpdate};
use sentinel_policy::analysis::StateSource;
use sentinel_policy::nn::{Model, TrainedPolicy};
use sentinel_policy::policy::Player;

use super::REPLAYS;
use super::address_names::Source;
use super::models::{Models, model_index, model_path};
use crate::actor::{Actor, PolicyActor, Recording, ReplayActor};
use crate::file_library::{FileLibrary, TAB};
use crate::files::Fetched;
use crate::format::counted;
use crate::run::{OwnActions, Run, encoded};
use crate::run_analysis::RunAnalysis;
use crate::transcript::transcript;
use crate::world::{PageWorld, describe_model};

/// A run, with the state of what the shell has received of it.
pub(super) struct Shown<W: PageWorld> {
    pub(super) run: Run<W>,
    pub(super) setup: W::Setup,
    pub(super) rules: Rules<W::Change>,
    pub(super) source: Source<W::PolicyName>,
    pub(super) episode: PlayedEpisode,
    pub(super) branch: Option<OwnActions<W>>,
    /// `true` if the trained policy watches another player.
    pub(super) watched: bool,
    /// Number of frames that the shell has.
    pub(super) sent: usize,
    /// `true` while the shell wants the hidden state.
    pub(super) truth: bool,
    /// `true` if the shell wants the answer to the world's question.
    pub(super) wants_answer: bool,
    /// `true` if the shell has the answer of the run as it is played now.
    pub(super) answer_sent: bool,
    /// `true` if the shell needs the analysis from the true hidden state again.
    pub(super) resends_hindsight: bool,
    /// Number of frames whose hidden state the shell has.
    pub(super) truth_sent: usize,
    /// The analysis, if the shell wants one.
    pub(super) analysis: Analyzing<W>,
    /// `true` once the shell knows that no more frames follow.
    pub(super) finished: bool,
}

/// The analysis of a run.
pub(super) enum Analyzing<W: PageWorld> {
    /// It was not requested.
    Off,
    /// It starts when the run is complete and the trained policy's model is here.
    Requested {
        /// The part of the steps that this engine evaluates, and the number of parts.
        share: (u32, u32),
        /// Results of other engines that came before the start.
        received: Vec<Vec<u8>>,
    },
    /// It is running, or complete.
    Started(Box<RunAnalysis<W>>),
}

impl<W: PageWorld> Shown<W> {
    /// Returns the index of the model that plays; `None` for players without a model.
    pub(super) fn model(&self) -> Option<usize> {
        model_index::<W>(&self.source, self.rules)
    }

    /// Returns `true` if the run needs the model `index`, to play or to watch.
    pub(super) fn needs_model(&self, index: usize) -> bool {
        let watcher = model_index::<W>(&Source::Trained, self.rules);
        self.model() == Some(index) || self.watched && watcher == Some(index)
    }

    /// Starts or ends the analysis. `share` is the part of the steps that this engine evaluates, and
    /// the number of parts.
    pub(super) fn analyze(&mut self, start: bool, share: (u32, u32)) {
        self.analysis = if start {
            Analyzing::Requested {
                share,
                received: Vec::new(),
            }
        } else {
            Analyzing::Off
        };
    }

    /// Takes results of another engine that evaluates other steps.
    pub(super) fn receive_analysis(&mut self, results: Vec<u8>) {
        match &mut self.analysis {
            Analyzing::Off => {}
            Analyzing::Requested { received, .. } => received.push(results),
            Analyzing::Started(analysis) => analysis.receive(&results),
        }
    }

    /// Works on the analysis until `is_time_up` returns `true`; returns `true` if anything is left
    /// to do.
    pub(super) fn work_on_analysis(
        &mut self,
        run: u32,
        models: &Models<W>,
        is_time_up: &mut dyn FnMut() -> bool,
        replies: &mut VecDeque<Reply>,
    ) -> bool {
        if let Analyzing::Requested { share, received } = &self.analysis
            && self.run.is_complete()
        {
            match models.of(&Source::Trained, self.rules) {
                Some(Fetched::Ready(model)) => {
                    let mut analysis = RunAnalysis::new(&self.run, model, *share);
                    for results in received {
                        analysis.receive(results);
                    }
                    self.analysis = Analyzing::Started(Box::new(analysis));
                }
                Some(Fetched::Failed(reason)) => {
                    replies.push_back(Reply::Problem(reason.clone()));
                    replies.push_back(Reply::NoAnalysis { run });
                    self.analysis = Analyzing::Off;
                }
                _ => {}
            }
        }
        let Analyzing::Started(analysis) = &mut self.analysis else {
            return false;
        };
        analysis.set_hindsight(self.truth);
        while analysis.advance() && !is_time_up() {}
        let pending = analysis.has_work();
        if analysis.is_part() {
            replies.extend(analysis.partial_results(run).into_iter().map(Reply::from));
            return pending;
        }
        if analysis.take_update(StateSource::Belief) {
            let update = Box::new(analysis.update(run, StateSource::Belief));
            replies.push_back(DeferredReply::Analysis(update).into());
        }
        let resends = std::mem::take(&mut self.resends_hindsight) && self.truth;
        if self.truth && (analysis.take_update(StateSource::Hindsight) || resends) {
            let update = Box::new(analysis.update(run, StateSource::Hindsight));
            replies.push_back(DeferredReply::TrueAnalysis(update).into());
        }
        pending
    }

    /// Plays the episode again from its start, with the files that have arrived.
    pub(super) fn restart(&mut self, file_library: &FileLibrary<W>, models: &Models<W>) {
        let library = Some(file_library);
        let actor = actor::<W>(&self.source, &self.setup, self.rules, library, models);
        let watcher = models.watcher(self.watched, self.rules);
        self.run = Run::new(&self.setup, actor, self.branch.clone(), watcher);
        (self.sent, self.truth_sent) = (0, 0);
        (self.finished, self.answer_sent) = (false, false);
        // Other engines do not send again what they have sent. If the run takes another course now,
        // their digest is no longer that of the run, and the results are dropped.
        if let Analyzing::Started(analysis) = &self.analysis {
            self.analysis = Analyzing::Requested {
                share: analysis.share(),
                received: vec![analysis.received()],
            };
        }
    }

    /// Sends the frames that the shell does not have.
    pub(super) fn send(
        &mut self,
        run: u32,
        file_library: &FileLibrary<W>,
        models: &Models<W>,
        replies: &mut VecDeque<Reply>,
    ) {
        let count = self.run.frames().len();
        let complete = self.run.is_complete();
        if self.finished || count == self.sent && !complete {
            return;
        }
        self.finished = complete;
        // The last frame that was sent did not include the action after it.
        let from = self.sent.saturating_sub(1);
        let frames = (from..count).map(|index| {
            let mut view = self.run.view(index);
            if let Source::Replay(name) = &self.source
                && let Some(read) = file_library.file(name).ready()
                && self
                    .run
                    .public_frame(index)
                    .next
                    .is_some_and(|next| !next.own)
            {
                let observation = self.run.frames()[index].episode.observation();
                view.transcript = transcript(&read.replay, &self.setup, observation);
            }
            encoded(&view)
        });
        let (source_note, source_warning) = self.note(file_library, models);
        let (closed_by, loophole) = W::loophole();
        let is_open = !self.rules.has(closed_by);
        let charts = W::charts(&self.run.public_frames());
        let true_charts = self.truth.then(|| charts.clone());
        replies.push_back(Reply::Run(Box::new(RunUpdate {
            run,
            episode: self.episode.clone(),
            from: u32::try_from(from).unwrap_or(u32::MAX),
            frames: frames.collect(),
            steps: (from..count)
                .filter_map(|index| self.run.step_line(index))
                .collect(),
            charts,
            // The hash covers hidden state, so before the end it would reveal it.
            digest: match self.run.is_done() {
                true => self.run.digest(),
                false => String::new(),
            },
            complete: complete && !self.is_loading(file_library, models),
            done: self.run.is_done(),
            refused: self.run.refused().to_owned(),
            loophole: if is_open { loophole } else { "" }.to_owned(),
            source_note,
            source_warning,
        })));
        self.sent = count;
        if let Some(charts) = true_charts {
            self.send_truth(run, charts, replies);
        }
    }

    /// Sends the answer to the world's question if the shell wants it and does not have it, once the
    /// episode has ended.
    pub(super) fn send_answer(&mut self, run: u32, replies: &mut VecDeque<Reply>) {
        if !self.wants_answer || self.answer_sent || !self.finished {
            return;
        }
        self.answer_sent = true;
        if let Some(answer) = self.run.answer().map(Box::new) {
            replies.push_back(Reply::Answer { run, answer });
        }
    }

    /// Returns the charts of the run and of its analysis, with hidden values if `truth` is `true`.
    pub(super) fn drawn_charts(&self, run: u32, truth: bool) -> Vec<Chart> {
        let mut charts = W::charts(&self.run.public_frames());
        if truth {
            charts = W::true_charts(self.run.frames(), charts);
        }
        if let Analyzing::Started(analysis) = &self.analysis {
            let update = match truth {
                true => analysis.update(run, StateSource::Hindsight),
                false => analysis.update(run, StateSource::Belief),
            };
            charts.push(update.chart);
        }
        charts
    }

    /// Starts or stops sending hidden state.
    pub(super) fn show_truth(&mut self, run: u32, show: bool, replies: &mut VecDeque<Reply>) {
        (self.truth, self.truth_sent) = (show, 0);
        self.resends_hindsight = show;
        if show {
            self.send_truth(run, W::charts(&self.run.public_frames()), replies);
        }
    }

    /// Sends the hidden state that the shell does not have, and `charts` with hidden values.
    fn send_truth(&mut self, run: u32, charts: Vec<Chart>, replies: &mut VecDeque<Reply>) {
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
            charts: W::true_charts(all, charts),
        };
        self.truth_sent = all.len();
        replies.push_back(Reply::Truth(Box::new(update)));
    }

    /// Returns `true` while the file of the player is on its way.
    fn is_loading(&self, file_library: &FileLibrary<W>, models: &Models<W>) -> bool {
        match &self.source {
            Source::Policy(_) | Source::Visitor | Source::Model(_) => false,
            Source::Trained | Source::Checkpoint(_) => !matches!(
                models.of(&self.source, self.rules),
                Some(Fetched::Ready(_) | Fetched::Failed(_))
            ),
            Source::Replay(name) => matches!(
                file_library.file(name),
                Fetched::Loading | Fetched::NotRequested
            ),
        }
    }

    /// Returns a sentence about the file that the player needs, and whether it is a warning.
    fn note(&self, file_library: &FileLibrary<W>, models: &Models<W>) -> (String, bool) {
        match &self.source {
            Source::Policy(_) | Source::Visitor => (String::new(), false),
            Source::Trained | Source::Checkpoint(_) => match models.of(&self.source, self.rules) {
                Some(Fetched::Ready(model)) => (describe_model::<W>(model), false),
                Some(Fetched::Failed(reason)) => (reason.clone(), true),
                _ => {
                    let path = self.model().map(model_path::<W>).unwrap_or_default();
                    (format!("Loading {path}…"), false)
                }
            },
            Source::Model(name) => match file_library.model(name) {
                Some(model) => (describe_model::<W>(model), false),
                None if name == TAB => (
                    "This policy is trained on the screen “Training”: let it play from there."
                        .to_owned(),
                    true,
                ),
                None => (
                    format!(
                        "Drop {name}.safetensors again: the browser does not keep dropped files."
                    ),
                    true,
                ),
            },
            Source::Replay(name) => match file_library.file(name) {
                Fetched::Ready(_) => {
                    let recording = self.run.recording().unwrap_or_default();
                    let misses = self
                        .run
                        .frames()
                        .iter()
                        .filter(|frame| frame.is_missed())
                        .count();
                    replay_note(&recording, misses, W::FALLBACK)
                }
                Fetched::Failed(reason) => (reason.clone(), true),
                Fetched::Loading | Fetched::NotRequested => {
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
    let hits = counted(recording.hits, "recorded action", "recorded actions");
    let mut note = format!("Replay{by}: {hits}");
    if recording.fallbacks > 0 {
        note += &format!(
            ", {} of them by the fallback, because a model’s answer was not an action or an earlier replay had no row",
            recording.fallbacks
        );
    }
    note += &format!(", {}", counted(misses, "miss", "misses"));
    if misses > 0 {
        note += &format!(" ({fallback} where the file has no row)");
    }
    if recording.unused > 0 {
        note += &format!(
            ", {} never reached",
            counted(recording.unused, "row", "rows")
        );
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

/// Creates the actor of a source in an episode of `setup`, which has `rules`; `None` for the visitor,
/// and while its file is not here.
pub(super) fn actor<W: PageWorld>(
    source: &Source<W::PolicyName>,
    setup: &W::Setup,
    rules: Rules<W::Change>,
    file_library: Option<&FileLibrary<W>>,
    models: &Models<W>,
) -> Option<Box<dyn Actor<W>>> {
    match source {
        Source::Policy(policy) => Some(W::actor(*policy, setup)),
        Source::Trained | Source::Checkpoint(_) => {
            models.of(source, rules)?.ready().map(trained::<W>)
        }
        Source::Model(name) => file_library?.model(name).map(trained::<W>),
        Source::Replay(name) => {
            let read = file_library?.file(name).ready()?;
            Some(Box::new(ReplayActor::new(&read.replay, setup)))
        }
        Source::Visitor => None,
    }
}

/// Creates the actor that plays a model.
pub(super) fn trained<W: PageWorld>(model: &Arc<Model<W::Net>>) -> Box<dyn Actor<W>> {
    let policy = TrainedPolicy::new(Arc::clone(model));
    Box::new(PolicyActor(Player::Public(Box::new(policy))))
}
