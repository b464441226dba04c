//! Who could be who, given what was seen: every assignment of the behaviours to the slots stays
//! possible until a report or a speed contradicts it.

use sentinel_env::cluster::{
    Attack, AttackType, Behaviour, Change, GpuId, Hypothesis, JOBS_MAX, JobId, JobStatus,
    LEVEL_MAX, Observation, OpenAttack, Rules, Statement, Task,
};
use sentinel_env::num::round_to;
use sentinel_env::rng::derive_seed;
use sentinel_env::slot::{SLOTS, Slot};

use crate::cluster::planner::{attacked, least_done};

/// What was seen, as far as it tells who is who.
#[derive(Clone, Debug, Default)]
pub(super) struct Belief {
    possible: Vec<[Behaviour; SLOTS]>,
    before: Option<Box<Observation>>,
    /// Progress of each job while no attack forged it.
    progress: [f64; JOBS_MAX],
    level: u8,
    open: Option<OpenAttack>,
}

impl Belief {
    /// Takes in an observation: each one once, in order.
    pub(super) fn observe(&mut self, o: &Observation) {
        match self.before.take() {
            None => {
                self.possible = assignments(o.task);
                self.level = 1;
            }
            Some(before) => {
                let statement = o.last.as_ref().and_then(|last| last.statement);
                if let Some(statement) = statement {
                    self.hear(&before, o, &statement);
                }
                self.see_speed(&before, o);
                let found = o.counters.detections > before.counters.detections;
                self.level = (self.level + u8::from(found))
                    .min(LEVEL_MAX)
                    .max(o.attack_types);
                self.notice_attack(&before, o);
            }
        }
        for (id, job) in o.jobs.iter() {
            if job.reported < 1.0 || job.status == JobStatus::Complete {
                self.progress[id.index()] = job.reported;
            }
        }
        self.before = Some(Box::new(*o));
    }

    /// Drops every assignment for which `fits` is false; should that leave none, an attack was
    /// taken for what a worker did, and all stay.
    fn keep(&mut self, fits: impl Fn(&[Behaviour; SLOTS]) -> bool) {
        if self.possible.iter().any(&fits) {
            self.possible.retain(fits);
        }
    }

    /// What was said, and whether the ledger took it for honest, against what each would have said.
    fn hear(&mut self, before: &Observation, o: &Observation, said: &Statement) {
        let (was, is) = (&before.ledger[said.worker], &o.ledger[said.worker]);
        let honest = is.successes() > was.successes();
        // Evidence weighs 1 + 2 * stakes.
        let stakes = (is.alpha + is.beta - was.alpha - was.beta - 1.0) / 2.0;
        let confidence = is.gap_sum - was.gap_sum;
        let actual = self.progress[said.job.index()];
        let adversary = o.profile.adversary();
        // Slots that share the degrading behaviour share its count; no task has two.
        let calls = is.calls;
        let fits = |behaviour: Behaviour| {
            // Stakes have three decimals; what comes back from the ledger is off by rounding.
            let claim = behaviour.claim(actual, round_to(stakes, 3), calls, &adversary);
            claim.honest == honest
                && (round_to(claim.reported, 3) - said.reported).abs() < 2e-3
                && (honest || (claim.confidence - confidence).abs() < 1e-6)
        };
        let slot = said.worker.index();
        self.keep(|assignment| fits(assignment[slot]));
    }

    /// An attack that came and was neither found nor missed yet, by where it shows.
    fn notice_attack(&mut self, before: &Observation, o: &Observation) {
        let over = |o: &Observation| o.counters.detections + o.counters.missed;
        if over(o) > over(before) {
            self.open = None;
        }
        if o.counters.attempts == before.counters.attempts || over(o) > over(before) {
            return;
        }
        let shown = attacked(o);
        let kind = match shown.and_then(|id| o.jobs.get(id)) {
            None => AttackType::CascadePanic,
            Some(job) if job.reported >= 1.0 => AttackType::FalseCompletion,
            Some(_) => AttackType::FalseMemoryReport,
        };
        let job = shown.or_else(|| least_done(o));
        let placed = job.and_then(|id| o.jobs.get(id)?.placed);
        let attack = Attack {
            level: self.level,
            kind,
            gpu: placed.unwrap_or(GpuId(0)),
            job: job.unwrap_or(JobId(0)),
            forged: 0,
            detected: false,
        };
        self.open = job.map(|_| attack.at(o.step_count));
    }

    /// Who took half a step where others take a whole one.
    fn see_speed(&mut self, before: &Observation, o: &Observation) {
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
                self.keep(|a| (a[worker.index()] == Behaviour::Slow) == slow);
            }
        }
    }

    /// The `index`-th supposition: one of the possible assignments, with outcomes of its own.
    pub(super) fn suppose(&self, o: &Observation, index: u64) -> Hypothesis {
        let seed = derive_seed(u64::from(o.step_count), index + 1);
        let count = self.possible.len().max(1) as u64;
        let chosen = self.possible.get((seed % count) as usize);
        let assignment = chosen.copied().unwrap_or(Behaviour::cast(o.task));
        let degrading = Slot::ALL.into_iter().zip(assignment);
        let calls = degrading
            .filter(|(_, behaviour)| *behaviour == Behaviour::Degrading)
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

/// Whether attacks stay open until they are found.
fn finds_attacks(rules: Rules) -> bool {
    let open = [Change::Answers, Change::Detections, Change::Escalation];
    open.into_iter().any(|change| rules.has(change))
}

/// Every way to give the behaviours of a task to the slots, each once.
fn assignments(task: Task) -> Vec<[Behaviour; SLOTS]> {
    let mut all = Vec::new();
    extend(&mut Behaviour::cast(task), 0, &mut all);
    all
}

fn extend(behaviours: &mut [Behaviour; SLOTS], from: usize, all: &mut Vec<[Behaviour; SLOTS]>) {
    if from == SLOTS {
        if !all.contains(behaviours) {
            all.push(*behaviours);
        }
        return;
    }
    for other in from..SLOTS {
        behaviours.swap(from, other);
        extend(behaviours, from + 1, all);
        behaviours.swap(from, other);
    }
}
