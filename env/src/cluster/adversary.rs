//! The adversary that attacks the cluster's reports and escalates (spec cluster §5).

use serde::{Serialize, Serializer};

use super::{GpuId, JobId, JobStatus, Jobs, Size};
use crate::controller::DifficultyProfile;
use crate::rng::PyRandom;

/// The highest level.
pub const LEVEL_MAX: u8 = 5;
/// Steps between two attacks, at least.
const GAP: u8 = 5;
/// Steps in which an attack can be found where the rules leave it open: the next one cannot come
/// sooner.
pub const OPEN_STEPS: u8 = GAP;
/// Share of attacks caught from which the adversary escalates on its own.
const ESCALATE_ABOVE: f64 = 0.70;

/// The five kinds of attack, one for each level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum AttackType {
    /// A job is reported complete.
    FalseCompletion,
    /// A GPU is reported idle, for good.
    FalseMemoryReport,
    /// The whole cluster is reported down; nothing comes of it.
    CascadePanic,
    /// A job is invented; it never enters the queue.
    FabricateJob,
    /// Three reports at once; nothing comes of them.
    CoordinatedMultiReport,
}

impl AttackType {
    /// All, by level from 1 on.
    pub const ALL: [Self; LEVEL_MAX as usize] = [
        Self::FalseCompletion,
        Self::FalseMemoryReport,
        Self::CascadePanic,
        Self::FabricateJob,
        Self::CoordinatedMultiReport,
    ];

    /// What level `1..=5` brings.
    #[must_use]
    pub const fn of_level(level: u8) -> Self {
        let top = LEVEL_MAX - 1;
        let index = level.saturating_sub(1);
        Self::ALL[if index < top { index } else { top } as usize]
    }

    /// The word that payloads use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FalseCompletion => "false_completion",
            Self::FalseMemoryReport => "false_memory_report",
            Self::CascadePanic => "cascade_panic",
            Self::FabricateJob => "fabricate_job",
            Self::CoordinatedMultiReport => "coordinated_multi_report",
        }
    }
}

impl Serialize for AttackType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// One attack. Every field is drawn or set whatever the type; the type says which are used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attack {
    /// The adversary's level at the time, `1..=5`.
    pub level: u8,
    /// What it is.
    pub kind: AttackType,
    /// The GPU that was drawn.
    pub gpu: GpuId,
    /// The job that was drawn, or the first job when none waits or runs.
    pub job: JobId,
    /// Number of the invented job, `1000..=9999`; 0 unless one is invented.
    pub forged: u16,
    /// Whether a verification in the same step caught a dishonest report.
    pub detected: bool,
}

impl Attack {
    /// The attack as one that is open from `step` on.
    #[must_use]
    pub const fn at(self, step: u8) -> OpenAttack {
        OpenAttack {
            attack: self,
            since: step,
        }
    }

    /// Whether the attack says something of this job.
    #[must_use]
    pub fn targets(&self, job: JobId) -> bool {
        let of_job = matches!(
            self.kind,
            AttackType::FalseCompletion | AttackType::CoordinatedMultiReport
        );
        of_job && self.job == job
    }
}

/// An attack that can still be found; only under rules that leave attacks open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenAttack {
    /// The attack.
    pub attack: Attack,
    /// The step in which it happened.
    pub since: u8,
}

/// The adversary's state between steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdversaryState {
    chance: f64,
    level: u8,
    last_step: Option<u8>,
    pub(super) open: Option<OpenAttack>,
}

impl AdversaryState {
    /// The adversary of a task; one with chance 0 where there is none.
    #[must_use]
    pub fn new(size: &Size, profile: &DifficultyProfile) -> Self {
        let chance = match (size.adversary, profile.adaptive) {
            (false, _) => 0.0,
            (true, false) => 0.25,
            (true, true) => (0.15 + 0.35 * profile.high_stakes_ratio).min(0.55),
        };
        Self {
            chance,
            level: 1,
            last_step: None,
            open: None,
        }
    }

    /// The current level, `1..=5`. It never falls.
    #[must_use]
    pub const fn level(&self) -> u8 {
        self.level
    }

    /// The type of the next attack.
    #[must_use]
    pub const fn attack_type(&self) -> AttackType {
        AttackType::of_level(self.level)
    }

    /// One level up, to the highest.
    pub fn escalate(&mut self) {
        self.level = (self.level + 1).min(LEVEL_MAX);
    }

    /// Goes on at a level, as if the last attack had just come.
    pub(super) fn resume(&mut self, level: u8, step: u8, open: Option<OpenAttack>) {
        self.level = level.clamp(1, LEVEL_MAX);
        self.last_step = (step > 0).then_some(step);
        self.open = open.filter(|open| open.since <= step);
    }

    /// The attack that can still be found.
    #[must_use]
    pub const fn open(&self) -> Option<OpenAttack> {
        self.open
    }

    /// One level up when enough was caught, which is asked before every step. `caught` is
    /// detections over attacks so far. Without an adversary nothing escalates.
    pub(super) fn escalate_if_caught(&mut self, caught: f64) {
        if self.chance > 0.0 && caught > ESCALATE_ABOVE {
            self.escalate();
        }
    }

    /// Attacks in this step, or not.
    pub(super) fn attack(
        &mut self,
        step: u8,
        jobs: &Jobs,
        gpus: u8,
        random: &mut PyRandom,
    ) -> Option<Attack> {
        if self.chance == 0.0 {
            return None;
        }
        if self.last_step.is_some_and(|last| step - last < GAP) || random.random() > self.chance {
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

/// A running job, else a waiting one, else the first without a draw.
fn pick_job(jobs: &Jobs, random: &mut PyRandom) -> JobId {
    for status in [JobStatus::Running, JobStatus::Queued] {
        let count = jobs.count(status);
        if count > 0 {
            let n = random.below(u32::from(count)) as usize;
            return jobs.with(status).nth(n).unwrap_or(JobId(0));
        }
    }
    JobId(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::Task;

    fn parts() -> (AdversaryState, Jobs, PyRandom) {
        let (size, profile) = (Size::of(Task::Task3), DifficultyProfile::default());
        let (jobs, _) = Jobs::generate(&size, &profile, &mut PyRandom::new(3));
        (AdversaryState::new(&size, &profile), jobs, PyRandom::new(3))
    }

    #[test]
    fn attacks_keep_their_distance_and_follow_the_level() {
        let (mut adversary, jobs, mut random) = parts();
        let mut last = None;
        for step in 1..=120 {
            if step == 60 {
                (0..9).for_each(|_| adversary.escalate());
            }
            let Some(attack) = adversary.attack(step, &jobs, 16, &mut random) else {
                continue;
            };
            assert!(last.is_none_or(|last| step - last >= GAP));
            let level = if step < 60 { 1 } else { 5 };
            assert_eq!(
                (attack.level, attack.kind),
                (level, AttackType::of_level(level))
            );
            assert!(jobs.get(attack.job).is_some() && attack.gpu.0 < 16);
            last = Some(step);
        }
        assert!(last.is_some());
    }

    #[test]
    fn being_caught_often_escalates_every_step() {
        let (mut adversary, jobs, mut random) = parts();
        for step in 1..=3 {
            adversary.escalate_if_caught(0.71);
            adversary.attack(step, &jobs, 16, &mut random);
        }
        assert_eq!(adversary.level(), 4);
        assert_eq!(adversary.attack_type(), AttackType::FabricateJob);
    }

    #[test]
    fn tasks_without_adversary_draw_nothing() {
        let (_, jobs, mut random) = parts();
        let size = Size::of(Task::Task2);
        let mut none = AdversaryState::new(&size, &DifficultyProfile::default());
        for step in 1..=60 {
            none.escalate_if_caught(2.0);
            assert_eq!(none.attack(step, &jobs, 12, &mut random), None);
        }
        assert_eq!((none.level(), random), (1, PyRandom::new(3)));
    }
}
