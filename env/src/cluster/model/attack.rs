//! Attacks on the cluster's reports, and the adversary that makes them (spec cluster §5).

use super::task::{GpuId, JobId, Size};
use crate::controller::DifficultyProfile;
use crate::named_enum;

/// The highest level.
pub const LEVEL_MAX: u8 = 5;
/// Steps between two attacks, at least.
pub(crate) const GAP: u8 = 5;
/// Steps in which an attack can be found where the rules leave it open: the next one cannot come
/// sooner.
pub const OPEN_STEPS: u8 = GAP;
named_enum! {
    /// The five kinds of attack, one for each level.
    pub enum AttackType {
        /// A job is reported complete.
        FalseCompletion = "false_completion",
        /// A GPU is reported idle, for good.
        FalseMemoryReport = "false_memory_report",
        /// The whole cluster is reported down; nothing comes of it.
        CascadePanic = "cascade_panic",
        /// A job is invented; it never enters the queue.
        FabricateJob = "fabricate_job",
        /// Three reports at once; nothing comes of them.
        CoordinatedMultiReport = "coordinated_multi_report",
    }
}

impl AttackType {
    /// Returns what level `1..=5` brings.
    #[must_use]
    pub const fn for_level(level: u8) -> Self {
        let top = LEVEL_MAX - 1;
        let index = level.saturating_sub(1);
        Self::ALL[if index < top { index } else { top } as usize]
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
    /// Returns the attack as one that is open from `step` on.
    #[must_use]
    pub const fn at(self, step: u8) -> OpenAttack {
        OpenAttack {
            attack: self,
            since: step,
        }
    }

    /// Returns whether the attack says something of this job.
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
    pub(crate) chance: f64,
    pub(crate) level: u8,
    pub(crate) last_step: Option<u8>,
    pub(crate) open: Option<OpenAttack>,
}

impl AdversaryState {
    /// Creates the adversary of a task; one with chance 0 where there is none.
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

    /// Returns the current level, `1..=5`. It never falls.
    #[must_use]
    pub const fn level(&self) -> u8 {
        self.level
    }

    /// Returns the type of the next attack.
    #[must_use]
    pub const fn attack_type(&self) -> AttackType {
        AttackType::for_level(self.level)
    }

    /// Raises the level by one, to the highest.
    pub fn escalate(&mut self) {
        self.level = (self.level + 1).min(LEVEL_MAX);
    }

    /// Continues at a level, as if the last attack had just come.
    pub(crate) fn resume(&mut self, level: u8, step: u8, open: Option<OpenAttack>) {
        self.level = level.clamp(1, LEVEL_MAX);
        self.last_step = (step > 0).then_some(step);
        self.open = open.filter(|open| open.since <= step);
    }

    /// Returns the attack that can still be found.
    #[must_use]
    pub const fn open(&self) -> Option<OpenAttack> {
        self.open
    }
}
