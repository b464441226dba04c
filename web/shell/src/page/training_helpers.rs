//! Engines that play parts of the episodes of a training run, beside the one that trains.

use std::time::Duration;

use leptos::prelude::set_timeout;
use sentinel_page_protocol::{LearnerRequest, Request};

use super::training::LEARNER;
use super::*;

/// Time between two looks at helpers that owe parts. Of two looks without an answer the second ends them:
/// after one of them the machine may have slept.
const PERIOD: Duration = Duration::from_secs(10);

/// Notice that the helpers have ended.
const SILENT: &str =
    "The engines that help with training do not answer. Training goes on without them.";

/// Parts of the episodes that helpers play.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parts {
    /// Number of parts without an answer.
    pub under_way: u32,
    /// Number of answers so far.
    answers: u32,
    /// `true` while a timer looks after the helpers.
    is_watched: bool,
}

impl Page {
    /// Sends a part of the episodes to an engine that helps.
    pub(super) fn send_part(&self, run: u32, helper: u8, part: Vec<u8>) {
        // One that was on its way when the helpers ended is played by the engine that trains.
        if self.read_training(|training| training.run == run && !training.is_alone) != Some(true) {
            return;
        }
        let request = Request::from(LearnerRequest::PlayPart { run, part });
        let role = Role::Rollouts(helper);
        self.use_engines(role, |engines, _| engines.send(LEARNER, role, &request));
        let was_watched = self.training.parts.try_update_value(|parts| {
            parts.under_way += 1;
            std::mem::replace(&mut parts.is_watched, true)
        });
        if was_watched == Some(false) {
            self.watch_helpers(false);
        }
    }

    /// Passes on the episodes that a helper has played.
    pub(super) fn handle_part(&self, role: Role, run: u32, episodes: Vec<u8>) {
        if let Role::Rollouts(helper) = role {
            self.training.parts.update_value(|parts| {
                parts.under_way = parts.under_way.saturating_sub(1);
                parts.answers = parts.answers.wrapping_add(1);
            });
            self.send_learner(LearnerRequest::PartPlayed {
                run,
                helper,
                episodes,
            });
        }
    }

    /// Continues without the engines that help, one of which has failed.
    pub(crate) fn train_alone(&self) {
        self.forget_parts();
        self.engines.update_value(|engines| {
            engines.stop_all(|role| matches!(role, Role::Rollouts(_)));
        });
        self.ask_learner(|training| {
            training.is_alone = true;
            LearnerRequest::PlayAlone { run: training.run }
        });
    }

    /// Forgets the parts of helpers that have ended. For a look under way it is an answer, so that it does not
    /// judge the helpers of the next run.
    pub(super) fn forget_parts(&self) {
        self.training.parts.update_value(|parts| {
            parts.under_way = 0;
            parts.answers = parts.answers.wrapping_add(1);
        });
    }

    /// Looks after the helpers once the period is over; `was_silent` says that none has answered in the
    /// last one.
    fn watch_helpers(&self, was_silent: bool) {
        let (page, parts) = (*self, self.training.parts);
        let before = parts.get_value().answers;
        let look = move || {
            let now = parts.get_value();
            let is_silent = now.answers == before;
            if now.under_way > 0 && !(is_silent && was_silent) {
                return page.watch_helpers(is_silent);
            }
            parts.update_value(|parts| parts.is_watched = false);
            if now.under_way > 0 {
                page.train_alone();
                page.add_notice(SILENT.to_owned());
            }
        };
        set_timeout(look, PERIOD);
    }
}
