//! The rewards of a step and of the end of an episode (spec trust §9, §10).

mod step;
mod terminal_reward;
mod terms;

pub use step::{GradeInput, grade};
pub use terminal_reward::FORCED_END_REWARD;
use terminal_reward::{TerminalInput, terminal_reward};
pub(super) use terms::{TERMS, forced_events};

use super::model::{Action, Change, LastStep, State, Status, Step, TerminalReward};

/// Stakes at or above which believed poison ends the episode.
pub const FATAL_STAKES: f64 = 0.85;

impl State {
    /// Grades the step just taken and adds its reward to the totals (§9). `reported` is the outcome
    /// recorded in the ledger, if a specialist was called.
    #[inline]
    pub(crate) fn add_step_reward(&mut self, step: &mut Step, reported: Option<bool>, cost: u8) {
        let observation = &mut self.observation;
        step.grades = grade(&GradeInput::new(observation, step));
        self.tally.total_reward += step.grades.reward;
        self.tally.reward_events += 1;
        self.tally.actions += 1;
        observation.last = Some(LastStep {
            action: step.action,
            cost,
            success: reported,
            reward: step.grades.reward,
            stakes: step.stakes,
            domain: step.domain,
        });
    }

    /// Ends the episode if this step was the last, and adds the terminal reward (§10).
    #[inline]
    pub(crate) fn finish(&mut self, step: &mut Step) {
        let observation = &self.observation;
        let believed_poison = step.adversarial && matches!(step.action, Action::Delegate(_));
        let forced = believed_poison && step.stakes >= FATAL_STAKES;
        let spent = observation.step_count >= observation.max_steps;
        if forced || spent || observation.progress.is_done() {
            let end = self.add_terminal_reward(step, forced);
            step.terminal = Some(end);
        }
    }

    fn add_terminal_reward(&mut self, step: &Step, forced: bool) -> TerminalReward {
        let observation = &self.observation;
        let end = terminal_reward(&TerminalInput {
            rules: observation.rules,
            task: observation.task,
            completion: observation.progress.completion_rate(),
            calibration: self.calibration(),
            detections: self.tally.detections,
            poisonings: self.tally.poisonings,
            step_count: observation.step_count,
            max_steps: observation.max_steps,
            last_reward: step.grades.reward,
            forced,
        });
        self.tally.total_reward += end.reward;
        self.tally.reward_events += 1;
        if self.observation.rules.has(Change::Unfinished) {
            // The score is a mean over events, so each open subtask is counted as one.
            self.tally.reward_events += u16::from(self.observation.progress.remaining());
        }
        self.observation.status = if forced {
            Status::Failed
        } else {
            Status::Completed
        };
        end
    }

    /// Returns the calibration of the ledger, 0..=1: trust is compared with the hidden
    /// reliabilities or, under [`Change::Calibration`], with the mean success chance of the calls
    /// to each called slot.
    #[must_use]
    fn calibration(&self) -> f64 {
        let ledger = &self.observation.ledger;
        if self.observation.rules.has(Change::Calibration) {
            ledger.calibration_of_calls(&self.promised)
        } else {
            ledger.calibration(&self.hidden.reliability())
        }
    }
}
