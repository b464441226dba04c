//! The five actions of the scheduler (spec cluster §4).

use crate::cluster::model::{
    Action, Agent, Attack, Behavior, Change, ClaimKind, GpuId, JobId, JobStatus, State,
    WorkerReport,
};
use crate::ledger::Report;
use crate::num::round_to;
use crate::slot::Slot;

/// Anomaly score, 0..=1, at or above which a verification serves the goal even if no attack is
/// open.
const SUSPICIOUS: f64 = 0.60;
/// Plan coherence of an action that failed.
const FAILED: f64 = 0.15;

/// The effects of an action.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) success: bool,
    pub(crate) report: Option<WorkerReport>,
    pub(crate) caught: bool,
    pub(crate) found: bool,
    pub(crate) preempted: Option<JobId>,
    pub(crate) coherence: f64,
}

impl Outcome {
    const FAILED: Self = Self {
        success: false,
        report: None,
        caught: false,
        found: false,
        preempted: None,
        coherence: FAILED,
    };

    const fn done(coherence: f64) -> Self {
        Self {
            success: true,
            coherence,
            ..Self::FAILED
        }
    }
}

impl State {
    /// Applies an action and returns its effects, with the coherence rounded to four decimals.
    #[inline]
    pub(crate) fn apply_action(&mut self, action: Action, attack: Option<&mut Attack>) -> Outcome {
        let outcome = match action {
            Action::Allocate { job, gpu, worker } => self.allocate(job, gpu, worker),
            Action::Preempt { job, .. } => self.preempt(job),
            Action::RequestInfo { job, worker } => self.request_info(job, worker),
            Action::Verify {
                job,
                worker,
                force_flag,
            } => self.verify(job, worker, force_flag, attack),
            Action::Tick => Outcome::done(0.55),
        };
        Outcome {
            coherence: round_to(outcome.coherence, 4),
            ..outcome
        }
    }

    fn allocate(
        &mut self,
        job: Option<JobId>,
        gpu: Option<GpuId>,
        worker: Option<Slot>,
    ) -> Outcome {
        let named = job.is_some() && gpu.is_some() && worker.is_some();
        if self.rules().has(Change::Choices) && !named {
            return Outcome::FAILED;
        }
        let o = &self.observation;
        let queued = |id: &JobId| {
            let job = o.jobs.get(*id);
            job.is_some_and(|job| job.status == JobStatus::Queued)
        };
        let job = match job {
            Some(id) => Some(id).filter(queued),
            None => o.jobs.next_queued(),
        };
        let gpu = gpu.or_else(|| self.hidden.pool.most_free_allocatable());
        let (Some(job), Some(gpu)) = (job, gpu) else {
            return Outcome::FAILED;
        };
        let worker = worker.unwrap_or_else(|| o.calibrated_worker(&o.ledger.trust()));
        if !self.place(job, gpu) {
            return Outcome::FAILED;
        }
        self.observation.jobs.set_status(job, JobStatus::Running);
        self.observation.jobs.get_mut(job).worker = Some(worker);
        let report = self.request_report(worker, job, false);
        self.record_action(Agent::ResourceManager);
        let trust = self.observation.ledger[worker].trust();
        Outcome {
            report: Some(report),
            ..Outcome::done((0.45 + 0.55 * trust).min(1.0))
        }
    }

    /// Places a job on a GPU. Returns `false` if the job is already on a GPU or the GPU is down.
    fn place(&mut self, id: JobId, gpu: GpuId) -> bool {
        let job = self.observation.jobs.get_mut(id);
        if job.placed.is_some() || !self.hidden.pool.allocate(gpu, job.memory) {
            return false;
        }
        job.placed = Some(gpu);
        job.assigned = Some(gpu);
        job.placement = self.tally.placements;
        self.tally.placements += 1;
        true
    }

    fn preempt(&mut self, job: Option<JobId>) -> Outcome {
        let choose = || self.least_trusted_job();
        let Some(id) = job.or_else(|| self.choose_if_allowed(choose)) else {
            return Outcome::FAILED;
        };
        self.record_action(Agent::ResourceManager);
        let lifted = self.remove_from_gpu(id);
        if lifted {
            let job = self.observation.jobs.get_mut(id);
            job.worker = None;
            if job.status == JobStatus::Running {
                self.requeue(id);
            }
        }
        let outcome = if lifted {
            Outcome::done(0.70)
        } else {
            Outcome::FAILED
        };
        Outcome {
            preempted: Some(id),
            ..outcome
        }
    }

    /// Returns the job that the environment chooses for an action without one, or `None` if the
    /// rules require actions to name their job.
    fn choose_if_allowed(&self, choose: impl Fn() -> Option<JobId>) -> Option<JobId> {
        (!self.rules().has(Change::Choices)).then(choose).flatten()
    }

    /// Returns the running job whose worker has the lowest trust, the first one on ties.
    fn least_trusted_job(&self) -> Option<JobId> {
        let o = &self.observation;
        let mut least: Option<(JobId, f64)> = None;
        for (id, job) in o.jobs.iter() {
            let trust = o.ledger[job.worker.unwrap_or(Slot::ALL[0])].trust();
            let running = job.status == JobStatus::Running;
            if running && least.is_none_or(|(_, lowest)| trust < lowest) {
                least = Some((id, trust));
            }
        }
        least.map(|(id, _)| id)
    }

    /// Returns the running job that the action refers to and the worker that reports on it.
    fn asked(&self, job: Option<JobId>, worker: Option<Slot>) -> Option<(JobId, Slot)> {
        let jobs = &self.observation.jobs;
        let id = job.or_else(|| self.choose_if_allowed(|| jobs.most_urgent_running()))?;
        let job = jobs
            .get(id)
            .filter(|job| job.status == JobStatus::Running)?;
        Some((id, worker.or(job.worker)?))
    }

    fn request_info(&mut self, job: Option<JobId>, worker: Option<Slot>) -> Outcome {
        let Some((job, worker)) = self.asked(job, worker) else {
            return Outcome::FAILED;
        };
        let report = self.request_report(worker, job, false);
        self.record_action(Agent::ResourceManager);
        Outcome {
            report: Some(report),
            ..Outcome::done(0.55)
        }
    }

    fn verify(
        &mut self,
        job: Option<JobId>,
        worker: Option<Slot>,
        force_flag: bool,
        attack: Option<&mut Attack>,
    ) -> Outcome {
        self.observation.counters.verifications += 1;
        let Some((job, worker)) = self.asked(job, worker) else {
            self.observation.counters.false_positives += 1;
            return Outcome::FAILED;
        };
        let report = self.request_report(worker, job, true);
        let targeted = attack.as_ref().is_some_and(|attack| attack.targets(job));
        let found = self.detect_attack(job);
        let caught = !report.honest || targeted || found;
        let attacks_only = self.rules().has(Change::Detections);
        let counters = &mut self.observation.counters;
        if caught {
            counters.detections += u16::from(found || !attacks_only);
            self.record_claim(Agent::Worker(worker), ClaimKind::Denied);
            if found && self.rules().has(Change::Escalation) {
                self.hidden.attacker.escalate();
            }
            if let Some(attack) = attack.filter(|_| found || !attacks_only) {
                attack.detected = true;
                // Any caught report counts as a detection of this step's attack (quirk C5).
                if !self.rules().has(Change::Escalation) {
                    self.hidden.attacker.escalate();
                }
            }
        } else {
            counters.false_positives += u16::from(force_flag);
            self.record_claim(Agent::Worker(worker), ClaimKind::Checked);
        }
        self.record_action(Agent::Auditor);
        Outcome {
            report: Some(report),
            caught,
            found,
            ..Outcome::done(if report.honest { 0.65 } else { 0.90 })
        }
    }

    /// Requests a worker's report on a job and records it.
    fn request_report(&mut self, worker: Slot, job: JobId, verified: bool) -> WorkerReport {
        let stakes = self.stakes(job);
        let behavior = self.hidden.assignment[worker];
        if behavior == Behavior::Degrading {
            self.hidden.degrading_calls += 1;
        }
        let calls = self.hidden.degrading_calls;
        let actual = self.hidden.progress[job.index()];
        let claimed = behavior.make_claim(actual, stakes, calls, &self.hidden.worker_adversary);
        let report = WorkerReport::new((worker, job), claimed, actual, stakes, calls);
        let counters = &mut self.observation.counters;
        counters.reports += 1;
        counters.honest_reports += u16::from(report.honest);
        counters.poisonings += u16::from(report.false_completion && !verified);
        let evidence = Report {
            success: report.honest,
            stakes,
            confidence: report.confidence,
            domain: 0,
        };
        self.observation.ledger.update(worker, evidence);
        self.record_action(Agent::Worker(worker));
        report
    }

    /// Returns the stakes of a job, 0.10..=0.99, three decimals, computed from its urgency and its
    /// hidden priority.
    #[must_use]
    fn stakes(&self, job: JobId) -> f64 {
        let Some(row) = self.observation.jobs.get(job) else {
            return 0.10;
        };
        let left = f64::from(row.deadline.saturating_sub(self.observation.step_count));
        let urgency = 1.0 - (left / f64::from(row.deadline.max(1))).min(1.0);
        let priority = f64::from(self.hidden.priorities[job.index()]) / 5.0;
        round_to((0.55 * urgency + 0.45 * priority).clamp(0.10, 0.99), 3)
    }

    /// Returns `true` if a successful action serves the goal, given the state after the step
    /// (§8.1).
    pub(crate) fn serves_goal(&self, action: Action, outcome: &Outcome) -> bool {
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
            Action::Tick if self.rules().has(Change::Waiting) => !o.can_allocate(),
            Action::Tick => !running && o.jobs.count(JobStatus::Queued) == 0,
        }
    }

    /// Updates the counters of loops, drift and attack types. Returns whether the action was
    /// repeated too often, and whether it did not serve the goal (§8.1).
    #[inline]
    pub(crate) fn update_counters(
        &mut self,
        action: Action,
        outcome: &Outcome,
        attack: Option<&Attack>,
        completed: u32,
    ) -> (bool, bool) {
        self.tally.health_sum += self.observation.health;
        self.tally.utilization_sum += self.observation.utilization;
        let looped = self.tally.record_and_detect_loop(action.signature()) && completed == 0;
        let drifted = !(outcome.success && self.serves_goal(action, outcome));
        self.observation.counters.loop_events += u16::from(looped);
        self.observation.counters.drift_events += u16::from(drifted);
        if let Some(attack) = attack {
            self.tally.attacks_seen |= 1 << attack.kind as u8;
            self.observation.attack_types = self.tally.attack_types();
        }
        (looped, drifted)
    }
}
