//! The training run that the browser keeps, which is offered again on the next visit.

use sentinel_page_protocol::{TrainingScore, TrainingUpdate, decode, encode};
use serde::{Deserialize, Serialize};
use wasm_bindgen_futures::spawn_local;

use super::training::Checkpoint;
use super::*;
use crate::attempts::AttemptLog;
use crate::run_store;
use crate::training_curve::TrainingCurve;
use crate::training_form::TrainingForm;

/// Version of the format; a run in another one is forgotten.
const FORMAT: u32 = 2;

/// A training run that the browser keeps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptTraining {
    format: u32,
    /// The state after the newest evaluation.
    pub update: TrainingUpdate,
    /// Settings as they were typed.
    form: TrainingForm,
    /// Behavior in the evaluations.
    attempts: AttemptLog,
    /// Scores of the evaluations, each with the seconds of training before it.
    points: Vec<(f64, TrainingScore)>,
    /// State from which the engine continues.
    state: Vec<u8>,
}

impl KeptTraining {
    /// Returns `true` if all updates are done.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.update.updates >= self.update.total
    }
}

impl Page {
    /// Keeps the newest state of a run, here and in the browser.
    pub(super) fn keep_training(&self, run: u32, state: Vec<u8>) {
        let kept = self.read_training(|training| KeptTraining {
            format: FORMAT,
            update: training.update.clone(),
            form: training.form.clone(),
            attempts: training.attempts.clone(),
            points: training.curve.points().to_vec(),
            state,
        });
        let Some(kept) = kept.filter(|kept| kept.update.run == run) else {
            return;
        };
        let (state, updates) = (kept.state.clone(), kept.update.updates);
        self.training.checkpoint.update_value(|checkpoint| {
            // A state that an engine repeats after its restart is not progress.
            let restarts = match checkpoint.updates < updates {
                true => 0,
                false => checkpoint.restarts,
            };
            *checkpoint = Checkpoint {
                state,
                updates,
                restarts,
            };
        });
        if let Ok(bytes) = encode(&kept) {
            spawn_local(async move { run_store::put(&bytes).await });
        }
    }

    /// Looks for a run that the browser keeps.
    pub fn load_kept_training(&self) {
        let signals = self.training;
        spawn_local(async move {
            let Some(bytes) = run_store::get().await else {
                return;
            };
            let kept = decode::<KeptTraining>(&bytes).ok();
            let kept = kept.filter(|kept| kept.format == FORMAT);
            if signals.current.with_untracked(Option::is_none) {
                signals.kept.set(kept);
            }
        });
    }

    /// Continues the run that the browser keeps.
    pub fn continue_kept_training(&self) {
        let Some(kept) = self.training.kept.get_untracked() else {
            return;
        };
        self.training.kept.set(None);
        self.open_training(&kept.update.spec.world);
        let run = self.next_run();
        let mut training = Training::new(run, kept.update, kept.form);
        training.attempts = kept.attempts;
        training.curve = TrainingCurve::new(kept.points);
        training.is_running = !training.is_over();
        self.training.current.set(Some(training));
        self.training.checkpoint.set_value(Checkpoint {
            state: kept.state,
            ..Checkpoint::default()
        });
        self.show_training_form();
        self.send_training();
    }

    /// Forgets the run that the browser keeps.
    pub fn forget_kept_training(&self) {
        self.training.kept.set(None);
        spawn_local(run_store::remove());
    }
}
