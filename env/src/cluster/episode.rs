//! The hot path: reset and step of one episode, without allocation (spec cluster §2, §3).

use super::act::Outcome;
use super::pool::{health, waste};
use super::{
    Action, Agent, Anomalies, Audit, Change, ClaimKind, Counters, Grades, Hidden, JobStatus,
    LastStep, Observation, Reliability, RewardInput, Rules, Setup, Size, Statement, Step,
    StepError, Tally, Terminal, TerminalInput, freshness, grade, terminal,
};
use crate::ledger::Ledger;
use crate::slot::{SLOTS, Slot};

/// Anomaly from which a verification serves the goal without an attack that is still open.
const SUSPICIOUS: f64 = 0.60;

/// One episode as a plain value: a copy goes on exactly as the original does.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    pub(super) observation: Observation,
    pub(super) hidden: Hidden,
    pub(super) audit: Audit,
    pub(super) tally: Tally,
    pub(super) setup: Setup,
}

impl Episode {
    /// Starts an episode.
    #[must_use]
    pub fn reset(setup: &Setup) -> Self {
        let size = Size::of(setup.task);
        let (jobs, hidden) = Hidden::new(setup);
        let observation = Observation {
            task: setup.task,
            step_count: 0,
            max_steps: size.max_steps,
            jobs,
            health: health(hidden.pool.counts(), setup.rules),
            utilization: hidden.pool.utilization(),
            ledger: Ledger::default(),
            anomalies: Anomalies::default(),
            counters: Counters::default(),
            attack_types: 0,
            profile: setup.profile,
            rules: setup.rules,
            last: None,
            done: false,
            gpus: Default::default(),
            gpu_count: size.gpus,
        };
        let mut episode = Self {
            observation,
            hidden,
            audit: Audit::default(),
            tally: Tally::default(),
            setup: *setup,
        };
        episode.show();
        episode
    }

    /// Takes one action. One that is possible to name but fails costs the step all the same.
    ///
    /// # Errors
    /// See [`StepError`]; nothing changes then.
    pub fn step(&mut self, action: Action) -> Result<Step, StepError> {
        self.check(action)?;
        self.observation.step_count += 1;
        let mut attack = self.attack();
        let outcome = self.act(action, attack.as_mut());
        let completed = self.advance();
        let tick = self.wear();
        let states = self.hidden.pool.counts();
        self.observation.health = health(states, self.rules());
        self.observation.utilization = self.hidden.pool.utilization();
        self.tally.health_sum += self.observation.health;
        self.tally.utilization_sum += self.observation.utilization;
        let looped = self.tally.repeats(action.signature()) && completed == 0;
        let drifted = !(outcome.success && self.serves(action, &outcome));
        self.observation.counters.loop_events += u16::from(looped);
        self.observation.counters.drift_events += u16::from(drifted);
        if let Some(attack) = &attack {
            self.tally.attacks_seen |= 1 << attack.kind as u8;
            self.observation.attack_types = self.tally.attack_types();
        }
        let grades = self.grade(outcome.coherence, waste(states));
        self.tally.total_reward += grades.reward;
        self.tally.reward_events += 1;
        self.observation.last = Some(LastStep {
            action,
            success: outcome.success,
            statement: outcome.report.map(|report| Statement {
                worker: report.worker,
                job: report.job,
                reported: report.reported,
            }),
            reward: grades.reward,
        });
        self.show();
        let terminal = self.finish();
        let Outcome {
            success,
            report,
            caught,
            preempted,
            ..
        } = outcome;
        Ok(Step {
            action,
            success,
            attack,
            report,
            caught,
            preempted,
            completed,
            tick,
            grades,
            looped,
            drifted,
            terminal,
        })
    }

    fn check(&self, action: Action) -> Result<(), StepError> {
        let o = &self.observation;
        if o.done {
            return Err(StepError::Over);
        }
        let jobs = o.jobs.rows().len() as u8;
        if let Some(job) = action.job().filter(|job| job.0 >= jobs) {
            return Err(StepError::UnknownJob { job, jobs });
        }
        let gpus = o.gpu_count;
        if let Some(gpu) = action.gpu().filter(|gpu| gpu.0 >= gpus) {
            return Err(StepError::UnknownGpu { gpu, gpus });
        }
        Ok(())
    }

    /// Whether an action that succeeded serves the goal, as things stand after it (§8.1).
    fn serves(&self, action: Action, outcome: &Outcome) -> bool {
        let o = &self.observation;
        let running = o.jobs.count(JobStatus::Running) > 0;
        match action {
            Action::Allocate { .. } => true,
            Action::Verify { .. } => {
                let open = if self.rules().has(Change::Detections) {
                    outcome.found
                } else {
                    o.counters.attempts > o.counters.detections
                };
                running && (open || o.anomalies.max() >= SUSPICIOUS)
            }
            Action::Preempt { .. } | Action::RequestInfo { .. } => running,
            Action::Tick if self.rules().has(Change::Waiting) => !o.can_place(),
            Action::Tick => !running && o.jobs.count(JobStatus::Queued) == 0,
        }
    }

    fn grade(&self, coherence: f64, waste: f64) -> Grades {
        let o = &self.observation;
        grade(&RewardInput {
            step: o.step_count,
            health: o.health,
            mean_health: self.mean_health(),
            completion: o.jobs.completion(),
            deadline_hit: o.jobs.deadline_hit(),
            utilization: o.utilization,
            waste,
            coherence,
            calibration: self.calibration(),
            honesty: o.counters.honesty(),
            confidence_gap: self.mean_gap(),
            freshness: self.freshness(),
            counters: o.counters,
            detection_rate: self.detection_rate(),
        })
    }

    /// Attacks found over attacks; under the reference's rules anything caught counts, and the
    /// rate may exceed 1.
    #[must_use]
    pub fn detection_rate(&self) -> f64 {
        self.observation.detection_rate()
    }

    /// The terminal reward, when this step was the last.
    fn finish(&mut self) -> Option<Terminal> {
        let o = &self.observation;
        let all = o.jobs.count(JobStatus::Complete) as usize == o.jobs.rows().len();
        if !(all || o.step_count >= o.max_steps || o.health <= 0.0) {
            return None;
        }
        let whole = self.rules().has(Change::Ending);
        let end = terminal(&TerminalInput {
            task: o.task,
            completion: o.jobs.completion(),
            utilization: if whole {
                self.tally.utilization_sum / f64::from(o.step_count)
            } else {
                o.utilization
            },
            calibration: self.calibration(),
            deadline_hit: o.jobs.deadline_hit(),
            detection_rate: o.detection_rate(),
            mean_health: self.mean_health(),
            step: o.step_count,
            max_steps: o.max_steps,
        });
        self.tally.total_reward += end.reward;
        self.tally.reward_events += 1;
        if whole {
            // The steps that were saved are worth what the end is worth; those lost, nothing.
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

    pub(super) const fn rules(&self) -> Rules {
        self.setup.rules
    }

    /// Brings what is shown of the pool up to date.
    fn show(&mut self) {
        // A forged report that carried its mark would fool nobody.
        let marked = !self.rules().has(Change::Escalation);
        let gpus = self.hidden.pool.gpus();
        for (view, gpu) in self.observation.gpus.iter_mut().zip(gpus) {
            *view = gpu.view(marked);
        }
    }

    pub(super) fn claim(&mut self, agent: Agent, kind: ClaimKind) {
        let scores = &mut self.observation.anomalies;
        self.audit.claim(agent, kind, scores);
    }

    pub(super) fn note(&mut self, agent: Agent) {
        self.audit.action(agent, &mut self.observation.anomalies);
    }

    /// Mean health over the steps so far; the present health before the first.
    #[must_use]
    pub fn mean_health(&self) -> f64 {
        match self.observation.step_count {
            0 => self.observation.health,
            steps => self.tally.health_sum / f64::from(steps),
        }
    }

    /// Mean confidence gap over the slots.
    fn mean_gap(&self) -> f64 {
        let mut sum = 0.0;
        for slot in Slot::ALL {
            sum += self.observation.ledger[slot].confidence_gap();
        }
        sum / SLOTS as f64
    }

    fn freshness(&self) -> f64 {
        let distinct = self.hidden.distinct_behaviours();
        freshness(
            self.observation.task,
            distinct,
            self.observation.attack_types,
        )
    }

    /// How reliably the scheduler itself has behaved.
    #[must_use]
    pub fn reliability(&self) -> Reliability {
        let o = &self.observation;
        Reliability::of(&o.counters, o.step_count, self.mean_gap(), self.freshness())
    }

    /// What a policy may see.
    #[must_use]
    pub const fn observation(&self) -> &Observation {
        &self.observation
    }

    /// What only an oracle, a test or the page's "truth" switch may see.
    #[must_use]
    pub const fn hidden(&self) -> &Hidden {
        &self.hidden
    }

    /// Running totals.
    #[must_use]
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Counts of the audit ledger.
    #[must_use]
    pub const fn audit(&self) -> &Audit {
        &self.audit
    }

    /// What the episode was made from.
    #[must_use]
    pub const fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Calibration of the ledger against the hidden reliabilities.
    #[must_use]
    pub fn calibration(&self) -> f64 {
        self.observation
            .ledger
            .calibration(&self.hidden.reliability())
    }

    /// The same episode with another hidden state: what would be seen from here on, had others
    /// sat behind the slots. For tests and for look-ahead from beliefs.
    #[must_use]
    pub fn with_hidden(mut self, hidden: Hidden) -> Self {
        self.hidden = hidden;
        self.show();
        self
    }
}
