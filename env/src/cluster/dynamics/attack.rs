//! The effects of an attack, its duration, and its detection (spec cluster §5).
//!
//! Under the reference's rules, an attack takes effect at once and cannot be found later. Rules
//! with certain changes keep it open for [`DETECTION_WINDOW`] steps, in which a verification of its job
//! finds it.

use crate::cluster::model::{
    AdversaryState, Agent, Attack, AttackType, Change, ClaimKind, DETECTION_WINDOW, GpuId, JobId,
    JobStatus, Jobs, MIN_ATTACK_GAP, State,
};
use crate::rng::PyRandom;

/// Fraction of attacks caught above which the adversary escalates by itself.
const ESCALATE_ABOVE: f64 = 0.70;

/// Memory, in units of a GPU's 80, that an invented job occupies.
pub(crate) const FORGED_JOB_MEMORY: u8 = 72;

use AttackType::{
    CascadePanic, CoordinatedMultiReport, FabricateJob, FalseCompletion, FalseMemoryReport,
};

impl State {
    /// Makes the adversary's move, which precedes the action.
    #[inline]
    pub(crate) fn adversary_turn(&mut self) -> Option<Attack> {
        self.expire();
        let (rules, caught) = (self.rules(), self.observation.detection_rate());
        let o = &mut self.observation;
        let random = &mut self.hidden.attacks;
        let attacker = &mut self.hidden.attacker;
        if !rules.has(Change::Escalation) {
            attacker.escalate_if_caught(caught);
        }
        let mut attack = attacker.attack(o.step_count, &o.jobs, o.gpu_count, random)?;
        o.counters.attempts += 1;
        if rules.has(Change::Escalation) {
            // The GPU of the targeted job, if it has one, so that checking the job can find the
            // attack.
            attack.gpu = o.jobs.get_mut(attack.job).placed.unwrap_or(attack.gpu);
        }
        if attack.kind == FalseCompletion && !rules.has(Change::Answers) {
            // Counted before the agent could react (quirk C4).
            o.counters.poisonings += 1;
        }
        self.apply_attack(&attack);
        if self.stays_open(attack.kind) {
            self.hidden.attacker.open = Some(attack.opened_at(self.observation.step_count));
        }
        Some(attack)
    }

    /// Returns `true` if an attack of this kind stays open until it is found. Under the reference's
    /// rules, none does.
    fn stays_open(&self, kind: AttackType) -> bool {
        let rules = self.rules();
        let level_one = rules.has(Change::Answers) || rules.has(Change::Detections);
        rules.has(Change::Escalation) || (kind == FalseCompletion && level_one)
    }

    fn apply_attack(&mut self, attack: &Attack) {
        let every_level = self.rules().has(Change::Escalation);
        let pool = &mut self.hidden.pool;
        match attack.kind {
            FalseMemoryReport => return pool.forge_view(attack.gpu),
            FabricateJob if every_level => pool.reserve_for_fake_job(attack.gpu, FORGED_JOB_MEMORY),
            CoordinatedMultiReport if every_level => {
                pool.forge_view(attack.gpu);
                self.observation.jobs.get_mut(attack.job).reported = 1.0;
            }
            FalseCompletion => {
                self.observation.jobs.get_mut(attack.job).reported = 1.0;
                return self.record_claim(Agent::Adversary, ClaimKind::Forged);
            }
            CascadePanic | FabricateJob | CoordinatedMultiReport => {}
        }
        self.record_action(Agent::Adversary);
    }

    /// Returns `true` if an open panic attack stops the progress of all jobs.
    pub(crate) fn is_halted(&self) -> bool {
        let panics = |attack: Attack| matches!(attack.kind, CascadePanic | CoordinatedMultiReport);
        self.rules().has(Change::Escalation)
            && self
                .hidden
                .attacker
                .open
                .is_some_and(|open| panics(open.attack))
    }

    /// Closes an open attack whose time has run out, and counts it as missed. An attack whose job
    /// is no longer running is closed too, but counts neither as found nor as missed.
    fn expire(&mut self) {
        let Some(open) = self.hidden.attacker.open else {
            return;
        };
        let jobs = &self.observation.jobs;
        let runs = jobs.get(open.attack.job).map(|job| job.status) == Some(JobStatus::Running);
        let late = self.observation.step_count - open.since >= DETECTION_WINDOW;
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

    /// Returns `true` if checking this job finds the open attack, which is then closed.
    pub(crate) fn detect_attack(&mut self, job: JobId) -> bool {
        let open = self.hidden.attacker.open.map(|open| open.attack);
        // A panic claims that every GPU is down, so checking any job disproves it.
        let shows = |attack: &Attack| attack.job == job || attack.kind == CascadePanic;
        let Some(attack) = open.filter(shows) else {
            return false;
        };
        self.close(&attack);
        true
    }

    /// Reverts the effects of an attack.
    fn close(&mut self, attack: &Attack) {
        self.hidden.attacker.open = None;
        if self.rules().has(Change::Escalation) {
            self.hidden.pool.revert_attacks(attack.gpu);
        }
        let actual = self.hidden.progress_of(attack.job);
        let job = self.observation.jobs.get_mut(attack.job);
        if job.status == JobStatus::Running {
            job.reported = actual;
        }
    }
}

impl AdversaryState {
    /// Raises the level by one if enough attacks were caught; called before every step. `caught` is
    /// the number of detections divided by the number of attacks so far. Without an adversary, the
    /// level does not change.
    fn escalate_if_caught(&mut self, caught: f64) {
        if self.chance > 0.0 && caught > ESCALATE_ABOVE {
            self.escalate();
        }
    }

    /// Draws whether an attack happens in this step, and its target.
    fn attack(&mut self, step: u8, jobs: &Jobs, gpus: u8, random: &mut PyRandom) -> Option<Attack> {
        if self.chance == 0.0 {
            return None;
        }
        if self
            .last_step
            .is_some_and(|last| step - last < MIN_ATTACK_GAP)
            || random.random() > self.chance
        {
            return None;
        }
        let gpu = GpuId(random.below(u32::from(gpus)) as u8);
        let job = pick_job(jobs, random);
        let kind = self.attack_type();
        let forged = if kind == AttackType::FabricateJob {
            random.randint(1000, 9999) as u16
        } else {
            0
        };
        self.last_step = Some(step);
        Some(Attack {
            level: self.level,
            kind,
            gpu,
            job,
            forged,
            detected: false,
        })
    }
}

/// Returns a random running job, else a random queued job, else the first job without a draw.
fn pick_job(jobs: &Jobs, random: &mut PyRandom) -> JobId {
    for status in [JobStatus::Running, JobStatus::Queued] {
        let count = jobs.count(status);
        if count > 0 {
            let n = random.below(u32::from(count)) as usize;
            return jobs.ids_by_status(status).nth(n).unwrap_or(JobId(0));
        }
    }
    JobId(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adaptive_difficulty::DifficultyProfile;
    use crate::cluster::dynamics::reset::generate_jobs;
    use crate::cluster::model::Size;
    use crate::task::Task;

    fn parts() -> (AdversaryState, Jobs, PyRandom) {
        let (size, profile) = (Size::for_task(Task::Task3), DifficultyProfile::default());
        let (jobs, _) = generate_jobs(&size, &profile, &mut PyRandom::new(3));
        (AdversaryState::new(&size, &profile), jobs, PyRandom::new(3))
    }

    #[test]
    fn attacks_keep_minimum_gap_and_match_level() {
        let (mut adversary, jobs, mut random) = parts();
        let mut last = None;
        for step in 1..=120 {
            if step == 60 {
                (0..9).for_each(|_| adversary.escalate());
            }
            let Some(attack) = adversary.attack(step, &jobs, 16, &mut random) else {
                continue;
            };
            assert!(last.is_none_or(|last| step - last >= MIN_ATTACK_GAP));
            let level = if step < 60 { 1 } else { 5 };
            assert_eq!(
                (attack.level, attack.kind),
                (level, AttackType::for_level(level))
            );
            assert!(jobs.get(attack.job).is_some() && attack.gpu.0 < 16);
            last = Some(step);
        }
        assert!(last.is_some());
    }

    #[test]
    fn high_catch_rate_escalates_level_each_step() {
        let (mut adversary, jobs, mut random) = parts();
        for step in 1..=3 {
            adversary.escalate_if_caught(0.71);
            adversary.attack(step, &jobs, 16, &mut random);
        }
        assert_eq!(adversary.level(), 4);
        assert_eq!(adversary.attack_type(), AttackType::FabricateJob);
    }

    #[test]
    fn task_without_adversary_draws_no_random_numbers() {
        let (_, jobs, mut random) = parts();
        let size = Size::for_task(Task::Task2);
        let mut none = AdversaryState::new(&size, &DifficultyProfile::default());
        for step in 1..=60 {
            none.escalate_if_caught(2.0);
            assert_eq!(none.attack(step, &jobs, 12, &mut random), None);
        }
        assert_eq!((none.level(), random), (1, PyRandom::new(3)));
    }
}
