//! What an attack does, how long it lasts, and who finds it (spec cluster §5).
//!
//! Under the reference's rules an attack is over as it happens. Under the rules that say so it stays
//! open for [`OPEN_STEPS`] steps, in which a verification of its job finds it.

use super::{Agent, Attack, AttackType, Change, ClaimKind, Episode, JobId, JobStatus};

/// Steps in which an attack can be found: the next one cannot come sooner.
pub(super) const OPEN_STEPS: u8 = 5;
/// Memory that an invented job takes.
const FORGED_MEMORY: u8 = 72;

use AttackType::{
    CascadePanic, CoordinatedMultiReport, FabricateJob, FalseCompletion, FalseMemoryReport,
};

impl Episode {
    /// The adversary's move, before the action.
    pub(super) fn attack(&mut self) -> Option<Attack> {
        self.expire();
        let (rules, caught) = (self.rules(), self.detection_rate());
        let o = &mut self.observation;
        let random = &mut self.hidden.attacks;
        let attacker = &mut self.hidden.attacker;
        if !rules.has(Change::Escalation) {
            attacker.escalate_if_caught(caught);
        }
        let mut attack = attacker.attack(o.step_count, &o.jobs, o.gpu_count, random)?;
        o.counters.attempts += 1;
        if rules.has(Change::Escalation) {
            // Where the job sits, so that whoever checks the job can find the attack.
            attack.gpu = o.jobs.get_mut(attack.job).placed.unwrap_or(attack.gpu);
        }
        if attack.kind == FalseCompletion && !rules.has(Change::Answers) {
            // Counted before anybody could act (quirk C4).
            o.counters.poisonings += 1;
        }
        self.harm(&attack);
        if self.stays_open(attack.kind) {
            self.hidden.attacker.open = Some(attack.at(self.observation.step_count));
        }
        Some(attack)
    }

    /// Whether there is something to find: the higher levels do nothing under the reference's rules.
    fn stays_open(&self, kind: AttackType) -> bool {
        let rules = self.rules();
        let level_one = rules.has(Change::Answers) || rules.has(Change::Detections);
        rules.has(Change::Escalation) || (kind == FalseCompletion && level_one)
    }

    fn harm(&mut self, attack: &Attack) {
        let every_level = self.rules().has(Change::Escalation);
        let pool = &mut self.hidden.pool;
        match attack.kind {
            FalseMemoryReport => return pool.forge(attack.gpu),
            FabricateJob if every_level => pool.invent(attack.gpu, FORGED_MEMORY),
            CoordinatedMultiReport if every_level => {
                pool.forge(attack.gpu);
                self.observation.jobs.get_mut(attack.job).reported = 1.0;
            }
            FalseCompletion => {
                self.observation.jobs.get_mut(attack.job).reported = 1.0;
                return self.claim(Agent::Adversary, ClaimKind::Forged);
            }
            CascadePanic | FabricateJob | CoordinatedMultiReport => {}
        }
        self.note(Agent::Adversary);
    }

    /// Whether a panic keeps all jobs from getting on.
    pub(super) fn halted(&self) -> bool {
        let panics = |attack: Attack| matches!(attack.kind, CascadePanic | CoordinatedMultiReport);
        self.rules().has(Change::Escalation)
            && self
                .hidden
                .attacker
                .open
                .is_some_and(|open| panics(open.attack))
    }

    /// Ends an open attack whose time is over. One whose job does not run any more is over too, and
    /// was neither found nor missed.
    fn expire(&mut self) {
        let Some(open) = self.hidden.attacker.open else {
            return;
        };
        let jobs = &self.observation.jobs;
        let runs = jobs.get(open.attack.job).map(|job| job.status) == Some(JobStatus::Running);
        let late = self.observation.step_count - open.since >= OPEN_STEPS;
        if runs && !late {
            return;
        }
        self.close(&open.attack);
        if runs {
            let counted = self.rules().has(Change::Answers);
            self.observation.counters.missed += 1;
            self.observation.counters.poisonings += u16::from(counted);
        }
    }

    /// Whether a check of this job finds the attack that is open; it is over then.
    pub(super) fn find(&mut self, job: JobId) -> bool {
        let open = self.hidden.attacker.open.map(|open| open.attack);
        // There is nothing to a panic: any job that is looked at shows it.
        let shows = |attack: &Attack| attack.job == job || attack.kind == CascadePanic;
        let Some(attack) = open.filter(shows) else {
            return false;
        };
        self.close(&attack);
        true
    }

    /// Undoes what an attack did.
    fn close(&mut self, attack: &Attack) {
        self.hidden.attacker.open = None;
        if self.rules().has(Change::Escalation) {
            self.hidden.pool.clear(attack.gpu);
        }
        let actual = self.hidden.progress_of(attack.job);
        let job = self.observation.jobs.get_mut(attack.job);
        if job.status == JobStatus::Running {
            job.reported = actual;
        }
    }
}
