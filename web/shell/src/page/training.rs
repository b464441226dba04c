//! A training run in the page: the messages of the engine that trains, and the clock beside them.

use leptos::prelude::untrack;
use sentinel_page_protocol::{ExportedFile, LearnerRequest, TrainingSpec, TrainingUpdate};

use super::*;
use crate::training_curve::TrainingCurve;

/// Name of the engine that trains; no world has it.
pub(super) const LEARNER: &str = "learner";
/// Name of the file, and so of the player, of a policy that was trained in the page.
const PLAYER_FILE: &str = "tab.safetensors";
/// Number of updates that stands for as many as the run has.
const ALL: u32 = u32::MAX;

/// The use of a policy that was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelUse {
    /// It is saved as a file.
    #[default]
    Save,
    /// It plays the current world's episodes.
    Play,
}

/// A training run in the page, with its clock.
#[derive(Clone, Debug, Default)]
pub struct Training {
    /// Number of the run; 0 for none.
    run: u32,
    /// The state that the engine sent last.
    pub update: TrainingUpdate,
    /// Scores of the evaluations so far.
    pub curve: TrainingCurve,
    /// Milliseconds of training before the last pause.
    elapsed_ms: f64,
    /// Time since which it trains; `None` while it pauses.
    since_ms: Option<f64>,
    /// Number of the tournament of other players on the validation episodes; 0 for none.
    rivals_run: u32,
    /// Scores of other players on the validation episodes so far.
    pub rivals: Option<Standings>,
}

impl Training {
    /// Returns `true` while updates are made.
    #[must_use]
    pub const fn is_running(&self) -> bool {
        self.since_ms.is_some()
    }

    /// Returns `true` if all updates are done, or if it failed.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let update = &self.update;
        !update.failure.is_empty() || (update.total > 0 && update.updates >= update.total)
    }

    /// Returns the seconds that were spent on training.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        let now = self.since_ms.map_or(0.0, |since| browser::now_ms() - since);
        (self.elapsed_ms + now) / 1000.0
    }

    fn pause(&mut self) {
        self.elapsed_ms = self.seconds() * 1000.0;
        self.since_ms = None;
    }
}

/// Signals of training in the page.
#[derive(Clone, Copy)]
pub struct TrainingSignals {
    /// The current run; `None` before the first one.
    pub current: Signal<Option<Training>>,
    wanted: StoredValue<ModelUse>,
}

impl Default for TrainingSignals {
    fn default() -> Self {
        Self {
            current: Signal::new(None),
            wanted: StoredValue::default(),
        }
    }
}

impl Page {
    /// Starts a training run in place of the previous one.
    pub fn train(&self, spec: TrainingSpec) {
        self.stop_training();
        let run = self.next_run();
        self.training.current.set(Some(Training {
            run,
            since_ms: Some(browser::now_ms()),
            ..Training::default()
        }));
        self.send_learner(LearnerRequest::Train { run, spec });
        self.send_learner(LearnerRequest::Learn { run, updates: ALL });
    }

    /// Pauses or continues the run.
    pub fn pause_training(&self) {
        self.ask_learner(|training| {
            let updates = if training.is_running() {
                training.pause();
                0
            } else {
                training.since_ms = Some(browser::now_ms());
                ALL
            };
            let run = training.run;
            Some(LearnerRequest::Learn { run, updates })
        });
    }

    /// Makes one update of a paused run.
    pub fn step_training(&self) {
        self.ask_learner(|training| {
            let run = training.run;
            Some(LearnerRequest::Learn { run, updates: 1 })
        });
    }

    /// Ends the run and forgets its policy.
    pub fn stop_training(&self) {
        self.engines.update_value(|engines| {
            engines.stop_all(|role| matches!(role, Role::Learn | Role::Rivals));
        });
        self.training.current.set(None);
    }

    /// Asks for the newest policy, to save it or to let it play.
    pub fn take_trained(&self, wanted: ModelUse) {
        self.training.wanted.set_value(wanted);
        self.ask_learner(|training| Some(LearnerRequest::TakeModel { run: training.run }));
    }

    /// Changes the run, and then sends the request that `change` returns: a failure to send it changes
    /// the run again.
    fn ask_learner(&self, change: impl FnOnce(&mut Training) -> Option<LearnerRequest>) {
        if let Some(request) = self.with_training(change).flatten() {
            self.send_learner(request);
        }
    }

    /// Changes the run; `None` without one.
    fn with_training<T>(&self, change: impl FnOnce(&mut Training) -> T) -> Option<T> {
        let mut result = None;
        self.training.current.update(|training| {
            result = training.as_mut().map(change);
        });
        result
    }

    fn send_learner(&self, request: LearnerRequest) {
        let request = Request::from(request);
        self.use_engines(Role::Learn, |engines, _| {
            engines.send(LEARNER, Role::Learn, &request)
        });
    }

    /// Takes the state of a run after an update or an evaluation.
    pub(super) fn handle_training(&self, update: TrainingUpdate) {
        let begins = self.with_training(|training| {
            if training.run != update.run {
                return false;
            }
            if let Some(score) = update.evaluation {
                training.curve.push(training.seconds(), score);
            }
            training.update = update.clone();
            if training.is_running() && training.is_over() {
                training.pause();
            }
            training.rivals_run == 0 && update.failure.is_empty()
        });
        if begins == Some(true) {
            let run = self.next_run();
            self.with_training(|training| training.rivals_run = run);
            self.play_rivals(run, &update);
        }
    }

    /// Lets other players play the validation episodes of a run, in the tournament `run`.
    fn play_rivals(&self, run: u32, update: &TrainingUpdate) {
        let validation = update.validation.clone();
        let spec = TournamentSpec {
            tasks: validation.tasks,
            players: validation.players,
            first_seed: validation.first_seed,
            seeds: validation.seeds,
            rules: update.spec.rules.clone(),
            streams: "independent".to_owned(),
            ..TournamentSpec::default()
        };
        let world = update.spec.world.clone();
        self.use_engines(Role::Rivals, |engines, _| {
            engines.send(&world, Role::Rivals, &Request::Tournament { run, spec })
        });
    }

    /// Takes the scores of other players.
    pub(super) fn handle_rivals(&self, standings: Standings) {
        if standings.played >= standings.total {
            self.engines
                .update_value(|engines| engines.stop_all(|role| role == Role::Rivals));
        }
        self.with_training(|training| {
            if training.rivals_run == standings.run {
                training.rivals = Some(standings);
            }
        });
    }

    /// Takes the policy that was asked for.
    pub(super) fn handle_trained(&self, content: Vec<u8>) {
        let wanted = self.training.wanted.get_value();
        if wanted == ModelUse::Save {
            return self.save_exported(ExportedFile {
                name: "model.safetensors".to_owned(),
                mime: "application/octet-stream".to_owned(),
                content,
                ..ExportedFile::default()
            });
        }
        let world = untrack(|| {
            let training = self.training.current.get();
            training.map(|training| training.update.spec.world)
        });
        self.state.update(|state| state.screen = Screen::Episode);
        self.use_engines(Role::Play, |engines, here| {
            let world = world.as_deref().unwrap_or(here);
            engines.drop_file(world, PLAYER_FILE.to_owned(), content)
        });
    }

    /// Notes that the engine that trains has failed.
    pub fn fail_training(&self) {
        self.with_training(|training| {
            training.pause();
            "The engine that trains has stopped. Reset the run to start again."
                .clone_into(&mut training.update.failure);
        });
    }
}
