//! A training run in the page: the messages of the engine that trains, and the players beside it.

use sentinel_page_protocol::{
    ExportedFile, LearnerRequest, Placement, TrainingSpec, TrainingUpdate,
};

use super::training_helpers::Parts;
use super::*;
use crate::attempts::AttemptLog;
use crate::training_curve::TrainingCurve;
use crate::training_form::{HELPERS_MAX, TrainingForm};

/// Name of the engine that trains; no world has it.
pub(super) const LEARNER: &str = "learner";
/// Name of the file, and so of the player, of a policy that was trained in the page.
const PLAYER_FILE: &str = "tab.safetensors";
/// Number of updates that stands for as many as the run has.
const ALL: u32 = u32::MAX;

/// Number of times that a run is continued from the same state after its engine has failed.
const RESTARTS_MAX: u8 = 2;

/// The newest state of a run, from which it continues if its engine fails.
#[derive(Clone, Debug, Default)]
pub struct Checkpoint {
    /// State as the engine encoded it; empty before the first one.
    pub(super) state: Vec<u8>,
    /// Number of updates done.
    pub(super) updates: u32,
    /// Number of times that the run was continued from it.
    pub(super) restarts: u8,
}

/// The use of a policy that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelUse {
    /// It is saved as a file.
    Save,
    /// The folder of its run is saved in an archive, which the command line continues.
    SaveRun,
    /// It plays episodes of its world.
    Play,
}

/// A training run in the page.
#[derive(Clone, Debug, Default)]
pub struct Training {
    /// Number of the run; 0 for none.
    pub(super) run: u32,
    /// The state that the engine sent last.
    pub update: TrainingUpdate,
    /// Settings as they were typed, without the values of the preset.
    pub form: TrainingForm,
    /// Scores of the evaluations so far.
    pub curve: TrainingCurve,
    /// Rates and attempts of the evaluations so far.
    pub attempts: AttemptLog,
    /// `true` once an engine that helps has failed: the engine that trains plays everything then.
    pub(super) is_alone: bool,
    /// `true` while updates are made.
    pub is_running: bool,
    /// Number of the tournament of other players on the validation episodes; 0 for none.
    rivals_run: u32,
    /// Names of the other players that have not played yet, in order.
    rivals_left: Vec<String>,
    /// Scores of other players on all validation episodes.
    pub rivals: Vec<Placement>,
}

impl Training {
    /// Creates a run in the state `update`, with its settings as they were typed.
    pub(super) fn new(run: u32, update: TrainingUpdate, form: TrainingForm) -> Self {
        let update = TrainingUpdate { run, ..update };
        Self {
            run,
            update,
            form,
            ..Self::default()
        }
    }

    /// Returns `true` if all updates are done, or if it failed.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let update = &self.update;
        !update.failure.is_empty() || (update.total > 0 && update.updates >= update.total)
    }
}

/// Signals of training in the page.
#[derive(Clone, Copy)]
pub struct TrainingSignals {
    /// The current run; `None` before the first one.
    pub current: Signal<Option<Training>>,
    /// The use of the policy that was asked for and has not arrived; `None` if none was.
    pub wanted: Signal<Option<ModelUse>>,
    /// The newest state of the run.
    pub(super) checkpoint: StoredValue<Checkpoint>,
    /// Parts of the episodes that helpers play.
    pub(super) parts: StoredValue<Parts>,
    /// An episode that the newest policy plays.
    pub live: LiveEpisode,
    /// The run of an earlier visit that the browser keeps; `None` if there is none.
    pub kept: Signal<Option<KeptTraining>>,
}

impl Default for TrainingSignals {
    fn default() -> Self {
        Self {
            current: Signal::new(None),
            wanted: Signal::new(None),
            checkpoint: StoredValue::default(),
            parts: StoredValue::default(),
            live: LiveEpisode::default(),
            kept: Signal::new(None),
        }
    }
}

impl Page {
    /// Starts a training run in place of the previous one.
    pub fn train(&self, spec: TrainingSpec) {
        self.stop_training();
        let run = self.next_run();
        let form = TrainingForm::from(&spec);
        let update = TrainingUpdate {
            spec,
            ..TrainingUpdate::default()
        };
        let mut training = Training::new(run, update, form);
        training.is_running = true;
        self.training.current.set(Some(training));
        self.training.checkpoint.set_value(Checkpoint::default());
        self.show_training_form();
        self.send_training();
    }

    /// Sends the current run to the engine that trains, from its saved state if there is one.
    pub(super) fn send_training(&self) {
        let found = self.read_training(|training| {
            let updates = if training.is_running { ALL } else { 0 };
            let spec = training.update.spec.clone();
            (training.run, updates, spec, training.is_alone)
        });
        let Some((run, updates, spec, is_alone)) = found else {
            return;
        };
        let helpers = match spec.workers {
            _ if is_alone => 0,
            Some(wanted) => wanted.min(HELPERS_MAX) as u8,
            None => browser::helpers_for_training(),
        };
        let state = self
            .training
            .checkpoint
            .with_value(|checkpoint| checkpoint.state.clone());
        self.send_learner(LearnerRequest::Train {
            run,
            spec: Box::new(spec),
            helpers,
            state,
        });
        self.send_learner(LearnerRequest::Learn { run, updates });
    }

    /// Pauses or continues the run.
    pub fn pause_training(&self) {
        self.ask_learner(|training| {
            training.is_running = !training.is_running;
            let updates = if training.is_running { ALL } else { 0 };
            let run = training.run;
            LearnerRequest::Learn { run, updates }
        });
    }

    /// Makes one update of a paused run.
    pub fn step_training(&self) {
        self.ask_learner(|training| {
            let run = training.run;
            LearnerRequest::Learn { run, updates: 1 }
        });
    }

    /// Ends the run and forgets its policy.
    pub fn stop_training(&self) {
        self.forget_parts();
        self.engines.update_value(|engines| {
            engines.stop_all(|role| role.is_training() || role == Role::Rivals);
        });
        self.training.wanted.set(None);
        self.training.current.set(None);
        self.training.live.clear();
        self.forget_kept_training();
    }

    /// Asks for the newest policy, to save it or to let it play, or for the folder of its run.
    pub fn take_trained(&self, wanted: ModelUse) {
        self.training.wanted.set(Some(wanted));
        match wanted {
            ModelUse::SaveRun => {
                self.ask_learner(|training| LearnerRequest::TakeRun { run: training.run });
            }
            ModelUse::Save | ModelUse::Play => self.ask_for_model(),
        }
    }

    /// Asks for the newest policy.
    pub(super) fn ask_for_model(&self) {
        self.ask_learner(|training| LearnerRequest::TakeModel { run: training.run });
    }

    /// Changes the run, and then sends the request that `change` returns: a failure to send it changes
    /// the run again.
    pub(super) fn ask_learner(&self, change: impl FnOnce(&mut Training) -> LearnerRequest) {
        if let Some(request) = self.with_training(change) {
            self.send_learner(request);
        }
    }

    /// Changes the run; `None` without one.
    pub(super) fn with_training<T>(&self, change: impl FnOnce(&mut Training) -> T) -> Option<T> {
        let mut result = None;
        self.training.current.update(|training| {
            result = training.as_mut().map(change);
        });
        result
    }

    /// Reads the run, so that nothing is drawn again; `None` without one.
    pub(super) fn read_training<T>(&self, read: impl FnOnce(&Training) -> T) -> Option<T> {
        let current = self.training.current;
        current.with_untracked(|training| training.as_ref().map(read))
    }

    pub(super) fn send_learner(&self, request: LearnerRequest) {
        let request = Request::from(request);
        self.use_engines(Role::Learn, |engines, _| {
            engines.send(LEARNER, Role::Learn, &request)
        });
    }

    /// Takes the state of a run after an update or an evaluation.
    pub(super) fn handle_training(&self, mut update: TrainingUpdate) {
        if !update.failure.is_empty() && update.total == 0 {
            // A kept state that cannot be continued is not offered again.
            self.forget_kept_training();
        }
        let begun = self.with_training(|training| {
            if training.run != update.run {
                return None;
            }
            if let Some(score) = update.evaluation {
                let seconds = update.worked_ms / 1000.0;
                training.curve.push(seconds, score);
                let (rates, attempt) = (std::mem::take(&mut update.rates), update.attempt.take());
                training.attempts.push(seconds, rates, attempt);
            }
            let begins = training.rivals_run == 0 && update.failure.is_empty();
            training.update = update;
            training.is_running &= !training.is_over();
            begins.then(|| training.update.clone())
        });
        if let Some(update) = begun.flatten() {
            self.play_rivals(&update);
        }
    }

    /// Lets other players play the validation episodes of a run, one after the other: those that take
    /// longer at the end.
    fn play_rivals(&self, update: &TrainingUpdate) {
        let info = self.cached_worlds.with_value(|all| {
            let found = all.iter().find(|cached| cached.world == update.spec.world);
            found.and_then(|cached| cached.info.clone())
        });
        let is_slow = |name: &String| {
            let mut players = info.iter().flat_map(|info| info.players.iter());
            players.any(|player| player.name == *name && player.slow)
        };
        let mut players = update.validation.players.clone();
        players.sort_by_key(is_slow);
        self.with_training(|training| training.rivals_left = players);
        self.play_next_rival();
    }

    /// Starts the tournament of the next player, or ends the engine that plays them.
    fn play_next_rival(&self) {
        let run = self.next_run();
        let next = self.with_training(|training| {
            if training.rivals_left.is_empty() {
                return None;
            }
            training.rivals_run = run;
            let player = training.rivals_left.remove(0);
            let (spec, validation) = (&training.update.spec, &training.update.validation);
            let tournament = TournamentSpec {
                tasks: validation.tasks.clone(),
                players: vec![player],
                first_seed: validation.first_seed,
                seeds: validation.seeds,
                rules: spec.rules.clone(),
                streams: "independent".to_owned(),
                ..TournamentSpec::default()
            };
            Some((spec.world.clone(), tournament))
        });
        match next.flatten() {
            Some((world, spec)) => self.use_engines(Role::Rivals, |engines, _| {
                engines.send(&world, Role::Rivals, &Request::Tournament { run, spec })
            }),
            None => self
                .engines
                .update_value(|engines| engines.stop_all(|role| role == Role::Rivals)),
        }
    }

    /// Takes the score of another player once it has played all episodes.
    pub(super) fn handle_rivals(&self, mut standings: Standings) {
        if standings.played < standings.total {
            return;
        }
        let is_awaited = self.with_training(|training| {
            let is_awaited = training.rivals_run == standings.run;
            if is_awaited {
                training.rivals.append(&mut standings.placements);
            }
            is_awaited
        });
        if is_awaited == Some(true) {
            self.play_next_rival();
        }
    }

    /// Takes the policy of the run `run`, which was asked for.
    pub(super) fn handle_trained(&self, run: u32, content: Vec<u8>) {
        let world = self.read_training(|training| {
            let is_current = training.run == run;
            is_current.then(|| training.update.spec.world.clone())
        });
        let Some(world) = world.flatten() else {
            return;
        };
        self.play_live_episode(&content);
        match self.training.wanted.get_untracked() {
            Some(ModelUse::Save) => self.save_exported(ExportedFile {
                name: "model.safetensors".to_owned(),
                mime: "application/octet-stream".to_owned(),
                content,
                ..ExportedFile::default()
            }),
            Some(ModelUse::Play) => self.open_model(&world, PLAYER_FILE.to_owned(), content),
            // The board asked for it; the folder of the run comes by itself.
            Some(ModelUse::SaveRun) | None => return,
        }
        self.training.wanted.set(None);
    }

    /// Continues a run whose engine has failed from its last saved state; notes the failure if that has
    /// failed twice, or there is none.
    pub(crate) fn restart_training(&self, reason: &str) {
        self.training.wanted.set(None);
        self.training.live.forget_request();
        let restarts = self.training.checkpoint.try_update_value(|checkpoint| {
            checkpoint.restarts += 1;
            checkpoint.restarts
        });
        self.forget_parts();
        self.engines
            .update_value(|engines| engines.stop_all(Role::is_training));
        let has_begun = self.read_training(|training| training.update.total > 0) == Some(true);
        if has_begun && restarts.is_some_and(|restarts| restarts <= RESTARTS_MAX) {
            self.add_notice(
                "The engine that trains has stopped. Training goes on from its last saved state."
                    .to_owned(),
            );
            // The evaluation of its last update may be lost.
            self.with_training(|training| training.is_running |= training.is_over());
            return self.send_training();
        }
        self.report_failed_training(reason);
    }

    /// Notes that the engine that trains has failed.
    pub(super) fn fail_training(&self) {
        self.with_training(|training| {
            training.is_running = false;
            training.update.digest = String::new();
            "The engine that trains has stopped. Reset the run to start again."
                .clone_into(&mut training.update.failure);
        });
    }
}
