//! Training of a compact policy in the page: the update is that of `sentinel train`, learned in one Web
//! Worker and played by several.
//!
//! It must never know how anything is drawn. `run.rs` is a run of one world: phases, updates, evaluations;
//! `settings.rs` its settings, `part.rs` a part of its episodes, which another worker can play, and
//! `evaluation.rs` the report of an evaluation. `run_log.rs` has the log of a run and its folder, which the
//! command line continues. `training_run.rs` is the interface of a run.

mod division;
mod evaluation;
mod part;
mod run;
mod run_log;
mod settings;
mod tar;
mod training_run;

use std::collections::VecDeque;

use sentinel_env::{WorldName, in_world};
use sentinel_page_engine::PageWorld;
use sentinel_page_engine::worker::Program;
use sentinel_page_protocol::{
    DeferredReply, LearnerRequest, Reply, Request, TrainingSpec, TrainingUpdate, decode,
};

use run::Run;
use run_log::now_ms;
use training_run::{Progress, TrainingRun};

/// Number of parts that are sent to a helper at once, so that it need not wait for the next one.
const PARTS_AHEAD: usize = 2;

/// The engine that trains, or that helps another one. Requests that concern episodes are ignored.
#[derive(Default)]
pub struct Learner {
    /// The run that it trains.
    running: Option<Running>,
    /// The run that waits for the published policy.
    waiting: Option<Waiting>,
    /// Parts to play for another engine, with the number of their run.
    parts: VecDeque<(u32, Vec<u8>)>,
    replies: VecDeque<Reply>,
}

/// A run that cannot start before a file is there.
struct Waiting {
    run: u32,
    spec: TrainingSpec,
    helpers: u8,
    path: String,
    /// Number of updates that it may begin then.
    allowed: u32,
}

/// A run with what it may do.
struct Running {
    run: u32,
    training: Box<dyn TrainingRun>,
    /// Number of updates that it may still begin.
    allowed: u32,
    /// Numbers of the helpers that wait for a part, once for each part that can be sent.
    idle: Vec<u8>,
    /// `true` once the helpers have ended.
    is_alone: bool,
    /// Milliseconds of updates and evaluations so far.
    worked_ms: f64,
    /// Time at which the work under way began; `None` while there is none.
    since: Option<f64>,
    /// `true` while the folder of the run is asked for and was not sent.
    is_wanted: bool,
}

impl std::fmt::Debug for Learner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Learner")
    }
}

impl Program for Learner {
    fn handle(&mut self, request: Request) {
        let request = match request {
            Request::Learner(request) => request,
            Request::File { name, content, .. } => return self.handle_file(&name, content),
            _ => return,
        };
        let Ok(request) = decode(&request) else {
            return self.replies.push_back(Reply::Problem(
                "The page and its trainer have different versions. Reload the page.".to_owned(),
            ));
        };
        match request {
            LearnerRequest::Train {
                run,
                spec,
                helpers,
                state,
            } => self.start(run, *spec, helpers, &state),
            LearnerRequest::Learn { run, updates }
                if self.waiting.as_ref().is_some_and(|own| own.run == run) =>
            {
                if let Some(waiting) = &mut self.waiting {
                    waiting.allowed = updates;
                }
            }
            LearnerRequest::TakeModel { run } | LearnerRequest::TakeRun { run }
                if self.waiting.as_ref().is_some_and(|own| own.run == run) =>
            {
                let reason = "The run begins again. Save it in a moment.".to_owned();
                self.replies
                    .push_back(DeferredReply::FileProblem(reason).into());
            }
            LearnerRequest::PlayPart { run, part } => self.parts.push_back((run, part)),
            LearnerRequest::Learn { run, .. }
            | LearnerRequest::PartPlayed { run, .. }
            | LearnerRequest::PlayAlone { run }
            | LearnerRequest::TakeModel { run }
            | LearnerRequest::TakeRun { run }
                if self.running.as_ref().is_none_or(|own| own.run != run) => {}
            LearnerRequest::TakeModel { .. } => self.send_model(),
            about_run => {
                if let Some(running) = &mut self.running {
                    running.handle(about_run, &mut self.replies);
                }
            }
        }
    }

    fn work(&mut self, mut is_time_up: impl FnMut() -> bool) -> bool {
        loop {
            if let Some((run, part)) = self.parts.pop_front() {
                let episodes = part::play(&part);
                self.replies
                    .push_back(DeferredReply::PartPlayed { run, episodes }.into());
            } else {
                let running = self.running.as_mut();
                if !running.is_some_and(|running| running.work(&mut self.replies)) {
                    return false;
                }
            }
            if is_time_up() {
                return true;
            }
        }
    }

    fn next_reply(&mut self) -> Option<Reply> {
        self.replies.pop_front()
    }
}

impl Running {
    /// Handles a request about this run.
    fn handle(&mut self, request: LearnerRequest, replies: &mut VecDeque<Reply>) {
        match request {
            LearnerRequest::Learn { updates, .. } => self.allowed = updates,
            LearnerRequest::PartPlayed {
                helper, episodes, ..
            } => {
                if !self.is_alone {
                    self.idle.push(helper);
                }
                if let Err(reason) = self.training.put_part(&episodes) {
                    self.training.fail(&reason);
                    self.report(self.training.state(), replies);
                }
            }
            LearnerRequest::TakeRun { .. } => self.is_wanted = true,
            LearnerRequest::PlayAlone { .. } => {
                self.is_alone = true;
                self.idle.clear();
                self.training.play_alone();
            }
            // About no run, or answered without it.
            LearnerRequest::Train { .. }
            | LearnerRequest::PlayPart { .. }
            | LearnerRequest::TakeModel { .. } => {}
        }
    }

    /// Does a part of the work; returns `false` if nothing is left to do before the next request.
    fn work(&mut self, replies: &mut VecDeque<Reply>) -> bool {
        let since = *self.since.get_or_insert_with(now_ms);
        let training = &mut self.training;
        if let Some(file) = self.is_wanted.then(|| training.archive()).flatten() {
            self.is_wanted = false;
            replies.push_back(match file {
                Ok(file) => DeferredReply::Exported(file).into(),
                Err(reason) => DeferredReply::FileProblem(reason).into(),
            });
        }
        if self.allowed > 0 && !training.is_updating() && training.has_updates() {
            self.allowed -= 1;
            if let Err(reason) = training.begin_update() {
                training.fail(&reason);
                self.report(self.training.state(), replies);
                return true;
            }
        }
        let run = self.run;
        while let Some(helper) = self.idle.pop() {
            let Some(part) = training.take_part() else {
                self.idle.push(helper);
                break;
            };
            replies.push_back(DeferredReply::Part { run, helper, part }.into());
        }
        match training.advance() {
            Progress::Update(state) => {
                let is_evaluated = state.evaluation.is_some();
                self.report(*state, replies);
                if !is_evaluated {
                    return true;
                }
                if let Some(state) = self.training.saved(self.worked_ms + now_ms() - since) {
                    replies.push_back(DeferredReply::TrainingCheckpoint { run, state }.into());
                }
            }
            Progress::Part => {}
            Progress::Waiting => {
                if !training.is_updating() && !training.is_evaluating() {
                    self.worked_ms += now_ms() - since;
                    self.since = None;
                }
                return false;
            }
        }
        true
    }

    fn report(&self, state: TrainingUpdate, replies: &mut VecDeque<Reply>) {
        let under_way = self.since.map_or(0.0, |since| now_ms() - since);
        let update = TrainingUpdate {
            run: self.run,
            worked_ms: self.worked_ms + under_way,
            ..state
        };
        replies.push_back(DeferredReply::Training(Box::new(update)).into());
    }
}

impl Learner {
    /// Starts a run, or requests the policy that it starts from.
    fn start(&mut self, run: u32, spec: TrainingSpec, helpers: u8, state: &[u8]) {
        (self.running, self.waiting) = (None, None);
        let path = world_of(&spec)
            .and_then(|world| in_world!(world, W => settings::published_path::<W>(&spec)));
        match path {
            Ok(Some(path)) if state.is_empty() => {
                self.replies.push_back(Reply::Need(path.clone()));
                self.waiting = Some(Waiting {
                    run,
                    spec,
                    helpers,
                    path,
                    allowed: 0,
                });
            }
            _ => self.start_from(run, spec, helpers, state, None),
        }
    }

    /// Starts the run that waits for a file.
    fn handle_file(&mut self, name: &str, content: Result<Vec<u8>, String>) {
        let Some(waiting) = self.waiting.take_if(|waiting| waiting.path == name) else {
            return;
        };
        let Waiting {
            run,
            spec,
            helpers,
            allowed,
            ..
        } = waiting;
        match content {
            Ok(bytes) => self.start_from(run, spec, helpers, &[], Some(&bytes)),
            Err(reason) => self.refuse(run, spec, reason.trim_end_matches('.')),
        }
        if let Some(running) = &mut self.running {
            running.allowed = allowed;
        }
    }

    fn refuse(&mut self, run: u32, spec: TrainingSpec, reason: &str) {
        let update = TrainingUpdate {
            run,
            spec,
            failure: format!("Training cannot start: {reason}."),
            ..TrainingUpdate::default()
        };
        let reply = DeferredReply::Training(Box::new(update));
        self.replies.push_back(reply.into());
    }

    fn start_from(
        &mut self,
        run: u32,
        spec: TrainingSpec,
        helpers: u8,
        state: &[u8],
        published: Option<&[u8]>,
    ) {
        let training = world_of(&spec).and_then(|world| {
            let spec = spec.clone();
            in_world!(world, W => boxed(Run::<W>::new(spec, helpers, state, published)))
        });
        match training {
            Ok(training) => {
                let idle = std::iter::repeat_n((0..helpers).rev(), PARTS_AHEAD);
                let running = Running {
                    run,
                    worked_ms: training.worked_before(),
                    training,
                    allowed: 0,
                    idle: idle.flatten().collect(),
                    is_alone: false,
                    since: None,
                    is_wanted: false,
                };
                running.report(running.training.state(), &mut self.replies);
                self.running = Some(running);
            }
            Err(reason) => self.refuse(run, spec, &reason),
        }
    }

    fn send_model(&mut self) {
        let Some(running) = &self.running else {
            return;
        };
        let (run, model) = (running.run, running.training.model());
        self.replies.push_back(match model {
            Ok(content) => DeferredReply::TrainedModel { run, content }.into(),
            Err(reason) => DeferredReply::FileProblem(reason).into(),
        });
    }
}

fn world_of(spec: &TrainingSpec) -> Result<WorldName, String> {
    let name = &spec.world;
    WorldName::parse(name).ok_or_else(|| format!("there is no world {name:?}"))
}

fn boxed<W: sentinel_compact::Learn + PageWorld>(
    run: Result<Run<W>, String>,
) -> Result<Box<dyn TrainingRun>, String> {
    Ok(Box::new(run?))
}

#[cfg(test)]
mod tests;
