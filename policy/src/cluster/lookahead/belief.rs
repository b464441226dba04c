//! The set of possible assignments of behaviors to slots. An assignment stays possible until a
//! report or a working speed contradicts it.

use sentinel_env::cluster::{
    Attack, AttackType, Behavior, Change, GpuId, Hypothesis, JOBS_MAX, JobId, JobStatus,
    MAX_ATTACK_LEVEL, Observation, ReportView, Rules, Task, UndetectedAttack,
};
use sentinel_env::num::round_to;
use sentinel_env::rng::derive_seed;
use sentinel_env::slot::{SLOTS, Slot};

use crate::cluster::planner::{least_progressed, suspected_attack};

/// The assignments that agree with all observations, and the public evidence needed to sample full
/// states.
#[derive(Clone, Debug, Default)]
pub(crate) struct Belief {
    possible: Vec<[Behavior; SLOTS]>,
    before: Option<Box<Observation>>,
    /// Progress of each job, 0..=1, ignoring values that an attack forged.
    progress: [f64; JOBS_MAX],
    level: u8,
    open: Option<UndetectedAttack>,
}

impl Belief {
    /// Updates the belief with an observation. Call it once for every observation of an episode, in
    /// order.
    pub(crate) fn observe(&mut self, o: &Observation) {
        match self.before.take() {
            None => {
                self.possible = assignments(o.task);
                self.level = 1;
            }
            Some(before) => {
                let statement = o.last.as_ref().and_then(|last| last.statement);
                if let Some(statement) = statement {
                    self.update_from_report(&before, o, &statement);
                }
                self.update_from_speed(&before, o);
                let found = o.counters.detections > before.counters.detections;
                self.level = (self.level + u8::from(found))
                    .min(MAX_ATTACK_LEVEL)
                    .max(o.attack_types);
                self.update_open_attack(&before, o);
            }
        }
        for (id, job) in o.jobs.iter() {
            if job.reported < 1.0 || job.status == JobStatus::Complete {
                self.progress[id.index()] = job.reported;
            }
        }
        self.before = Some(Box::new(*o));
    }

    /// Removes the assignments for which `fits` is false. If that would leave none, keeps all of
    /// them: an effect of an attack was attributed to a worker.
    fn keep(&mut self, fits: impl Fn(&[Behavior; SLOTS]) -> bool) {
        if self.possible.iter().any(&fits) {
            self.possible.retain(fits);
        }
    }

    /// Compares a report, and the ledger's decision on its honesty, with the report that each
    /// behavior would have made.
    fn update_from_report(&mut self, before: &Observation, o: &Observation, said: &ReportView) {
        let (was, is) = (&before.ledger[said.worker], &o.ledger[said.worker]);
        let honest = is.successes() > was.successes();
        // The weight of a report as evidence is `1 + 2 * stakes`.
        let stakes = (is.alpha + is.beta - was.alpha - was.beta - 1.0) / 2.0;
        let confidence = is.gap_sum - was.gap_sum;
        let actual = self.progress[said.job.index()];
        let adversary = o.profile.adversary();
        // The degrading behavior counts calls over all slots that have it; no task has two of
        // them.
        let calls = is.calls;
        let fits = |behavior: Behavior| {
            // Stakes have three decimals; the value recovered from the ledger differs by rounding
            // errors.
            let claim = behavior.make_claim(actual, round_to(stakes, 3), calls, &adversary);
            claim.honest == honest
                && (round_to(claim.reported, 3) - said.reported).abs() < 2e-3
                && (honest || (claim.confidence - confidence).abs() < 1e-6)
        };
        let slot = said.worker.index();
        self.keep(|assignment| fits(assignment[slot]));
    }

    /// Records an attack that was neither found nor missed yet, with the type that its visible
    /// effect suggests.
    fn update_open_attack(&mut self, before: &Observation, o: &Observation) {
        let over = |o: &Observation| o.counters.detections + o.counters.missed;
        if over(o) > over(before) {
            self.open = None;
        }
        if o.counters.attempts == before.counters.attempts || over(o) > over(before) {
            return;
        }
        let shown = suspected_attack(o);
        let kind = match shown.and_then(|id| o.jobs.get(id)) {
            None => AttackType::CascadePanic,
            Some(job) if job.reported >= 1.0 => AttackType::FalseCompletion,
            Some(_) => AttackType::FalseMemoryReport,
        };
        let job = shown.or_else(|| least_progressed(o));
        let placed = job.and_then(|id| o.jobs.get(id)?.placed);
        let attack = Attack {
            level: self.level,
            kind,
            gpu: placed.unwrap_or(GpuId(0)),
            job: job.unwrap_or(JobId(0)),
            forged: 0,
            detected: false,
        };
        self.open = job.map(|_| attack.opened_at(o.step_count));
    }

    /// Compares the progress of each running job with full and half speed, and removes the
    /// assignments that disagree.
    fn update_from_speed(&mut self, before: &Observation, o: &Observation) {
        for ((_, was), (id, is)) in before.jobs.iter().zip(o.jobs.iter()) {
            let ran = was.status == JobStatus::Running && is.status == JobStatus::Running;
            let (Some(worker), true) = (is.worker, ran && is.reported < 1.0) else {
                continue;
            };
            let full = 1.0 / f64::from(is.steps);
            let made = is.reported - self.progress[id.index()];
            let stood_still = made < 0.25 * full || made > 1.25 * full;
            if !stood_still {
                let slow = made < 0.75 * full;
                self.keep(|a| (a[worker.index()] == Behavior::Slow) == slow);
            }
        }
    }

    /// Returns the probability of each behavior for each worker, `[workers, behaviors]`: the share of
    /// the possible assignments.
    pub(crate) fn marginals(&self) -> [[f64; Behavior::ALL.len()]; SLOTS] {
        let mut all = [[0.0; Behavior::ALL.len()]; SLOTS];
        let share = 1.0 / self.possible.len().max(1) as f64;
        for assignment in &self.possible {
            for (row, behavior) in all.iter_mut().zip(assignment) {
                row[*behavior as usize] += share;
            }
        }
        all
    }

    /// Returns the progress of a job, 0..=1, ignoring values that an attack forged.
    pub(crate) const fn progress(&self, job: JobId) -> f64 {
        self.progress[job.index()]
    }

    /// Samples a full state: one of the possible assignments, each equally likely, with its own
    /// random outcomes.
    pub(super) fn sample_hypothesis(&self, o: &Observation, seed: u64) -> Hypothesis {
        let count = self.possible.len().max(1) as u64;
        let chosen = self.possible.get((seed % count) as usize);
        let assignment = chosen.copied().unwrap_or(Behavior::for_task(o.task));
        let degrading = Slot::ALL.into_iter().zip(assignment);
        let calls = degrading
            .filter(|(_, behavior)| *behavior == Behavior::Degrading)
            .map(|(slot, _)| o.ledger[slot].calls)
            .sum();
        let priority = |job: u64| 1 + (derive_seed(seed, job + 1) % 5) as u8;
        Hypothesis {
            assignment,
            progress: self.progress,
            priorities: std::array::from_fn(|job| priority(job as u64)),
            degrading_calls: calls,
            level: self.level,
            open: self.open.filter(|_| finds_attacks(o.rules)),
            outcome_seed: seed,
        }
    }
}

/// Returns `true` if the rules leave attacks open until they are found.
fn finds_attacks(rules: Rules) -> bool {
    let open = [Change::Answers, Change::Detections, Change::Escalation];
    open.into_iter().any(|change| rules.has(change))
}

/// Returns every distinct assignment of the behaviors of a task to the slots.
fn assignments(task: Task) -> Vec<[Behavior; SLOTS]> {
    let mut all = Vec::new();
    extend(&mut Behavior::for_task(task), 0, &mut all);
    all
}

fn extend(behaviors: &mut [Behavior; SLOTS], from: usize, all: &mut Vec<[Behavior; SLOTS]>) {
    if from == SLOTS {
        if !all.contains(behaviors) {
            all.push(*behaviors);
        }
        return;
    }
    for other in from..SLOTS {
        behaviors.swap(from, other);
        extend(behaviors, from + 1, all);
        behaviors.swap(from, other);
    }
}
