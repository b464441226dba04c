//! The settings of training as the visitor left them, and the ways to the screen that trains.

use super::*;
use crate::training_form::TrainingForm;

/// Largest length of the browser's words about a failure that a notice repeats.
const REASON_MAX: usize = 80;

impl Page {
    /// Returns the settings of training in a world: those of a run there, or else as the visitor left
    /// them.
    pub(super) fn training_form(&self, world: &str) -> TrainingForm {
        let of_run = self.training_run(world);
        let shown = self
            .state
            .with_untracked(|state| (state.world == world).then(|| state.training.clone()));
        let left = || {
            self.cached_worlds.with_value(|all| {
                let cached = all.iter().find(|cached| cached.world == world)?;
                Some(cached.state.as_ref()?.training.clone())
            })
        };
        of_run.or(shown).or_else(left).unwrap_or_default()
    }

    /// Returns the settings of the run in a world; `None` without one.
    fn training_run(&self, world: &str) -> Option<TrainingForm> {
        let form = |training: &Training| {
            let is_here = training.update.spec.world == world;
            is_here.then(|| training.form.clone())
        };
        self.read_training(form).flatten()
    }

    /// Keeps the settings of training in a state of another address, which has none outside of the
    /// Training screen, and none but its own beside a run.
    pub fn keep_training_form(&self, there: &mut PageState) {
        if there.screen != Screen::Training || self.training_run(&there.world).is_some() {
            there.training = self.training_form(&there.world);
        }
    }

    /// Shows the settings of the run in the address.
    pub(super) fn show_training_form(&self) {
        let form = self.training_form(&self.state.with_untracked(|state| state.world.clone()));
        if self.state.with_untracked(|state| state.training != form) {
            self.state.update(|state| state.training = form);
        }
    }

    /// Shows the Training screen of a world.
    pub fn open_training(&self, world: &str) {
        if self.state.with_untracked(|state| state.world != world) {
            self.open_world(world);
        }
        self.playing.set(false);
        self.state.update(|state| state.screen = Screen::Training);
        browser::scroll_to_top();
    }

    /// Notes that the engine that trains has failed. What the browser says about it is repeated if it is
    /// short.
    pub fn report_failed_training(&self, reason: &str) {
        self.fail_training();
        let reason = reason.trim_end_matches('.');
        let reason = match reason.len() {
            1..=REASON_MAX => format!(" ({reason})"),
            _ => String::new(),
        };
        self.add_notice(format!(
            "The program that trains could not be started, or it has stopped{reason}."
        ));
    }
}
