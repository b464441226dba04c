//! The rewards of a step and of the end of an episode (spec cluster §8, §9).

mod step;
mod terminal_reward;
mod terms;

use step::{GradeInput, freshness, grade};
pub(crate) use step::{clamp_component, hack_resistance};
use terminal_reward::{TerminalInput, terminal_reward};
pub(super) use terms::TERMS;

use super::model::{Change, Grades, JobStatus, Reliability, State, TerminalReward};
use crate::slot::{SLOTS, Slot};

impl State {
    /// Grades the step just taken (§8).
    #[inline]
    pub(crate) fn grade(&self, coherence: f64, waste: f64) -> Grades {
        let o = &self.observation;
        grade(&GradeInput {
            step: o.step_count,
            health: o.health,
            mean_health: self.mean_health(),
            completion: o.jobs.completion_rate(),
            deadline_hit: o.jobs.deadline_hit_rate(),
            utilization: o.utilization,
            waste,
            coherence,
            calibration: self.calibration(),
            honesty: o.counters.honesty(),
            confidence_gap: self.mean_gap(),
            freshness: self.freshness(),
            counters: o.counters,
            detection_rate: o.detection_rate(),
        })
    }

    /// Ends the episode if this step was the last, and adds the terminal reward (§9).
    #[inline]
    pub(crate) fn finish(&mut self) -> Option<TerminalReward> {
        let o = &self.observation;
        let all = o.jobs.count(JobStatus::Complete) as usize == o.jobs.rows().len();
        if !(all || o.step_count >= o.max_steps || o.health <= 0.0) {
            return None;
        }
        let whole = self.rules().has(Change::Ending);
        let end = terminal_reward(&TerminalInput {
            task: o.task,
            completion: o.jobs.completion_rate(),
            utilization: if whole {
                self.tally.utilization_sum / f64::from(o.step_count)
            } else {
                o.utilization
            },
            calibration: self.calibration(),
            deadline_hit: o.jobs.deadline_hit_rate(),
            detection_rate: o.detection_rate(),
            mean_health: self.mean_health(),
            step: o.step_count,
            max_steps: o.max_steps,
        });
        self.tally.total_reward += end.reward;
        self.tally.reward_events += 1;
        if whole {
            // Steps saved by completing all jobs count as much as the terminal reward each; steps
            // lost with the cluster count 0.
            let left = o.max_steps - o.step_count;
            self.tally.reward_events += u16::from(left);
            self.tally.total_reward += if all {
                f64::from(left) * end.reward
            } else {
                0.0
            };
        }
        self.observation.done = true;
        Some(end)
    }

    /// Returns the mean health over the steps so far, or the current health before the first.
    #[must_use]
    fn mean_health(&self) -> f64 {
        match self.observation.step_count {
            0 => self.observation.health,
            steps => self.tally.health_sum / f64::from(steps),
        }
    }

    /// Returns the mean confidence gap over the slots.
    fn mean_gap(&self) -> f64 {
        let mut sum = 0.0;
        for slot in Slot::ALL {
            sum += self.observation.ledger[slot].confidence_gap();
        }
        sum / SLOTS as f64
    }

    fn freshness(&self) -> f64 {
        let distinct = self.hidden.distinct_behaviors();
        freshness(
            self.observation.task,
            distinct,
            self.observation.attack_types,
        )
    }

    /// Returns the reliability scores of the scheduler itself.
    #[must_use]
    pub(crate) fn reliability(&self) -> Reliability {
        let o = &self.observation;
        Reliability::new(&o.counters, o.step_count, self.mean_gap(), self.freshness())
    }

    /// Returns the calibration of the ledger against the hidden reliabilities, 0..=1.
    #[must_use]
    fn calibration(&self) -> f64 {
        self.observation
            .ledger
            .calibration(&self.hidden.reliability())
    }
}
