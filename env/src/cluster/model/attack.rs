//! Attacks on the cluster's reports, and the adversary that makes them (spec cluster §5).

use super::task::{GpuId, JobId, Size};
use crate::adaptive_difficulty::DifficultyProfile;
use crate::named_enum;

/// The highest level of the adversary.
pub const MAX_ATTACK_LEVEL: u8 = 5;
/// Minimum number of steps between two attacks.
pub(crate) const MIN_ATTACK_GAP: u8 = 5;
/// Number of steps in which an attack can be found if the rules keep it open. It equals the minimum
/// gap, so two attacks are never open at once.
pub const DETECTION_WINDOW: u8 = MIN_ATTACK_GAP;
named_enum! {
    /// The five kinds of attack, one for each level.
    pub enum AttackType {
        /// Reports a job as complete.
        FalseCompletion = "false_completion",
        /// Reports a GPU as idle; permanent under the reference's rules.
        FalseMemoryReport = "false_memory_report",
        /// Reports the whole cluster as down. It has no effect under the reference's rules; under
        /// [`Change::Escalation`](super::Change::Escalation), it stops all jobs until it is closed.
        CascadePanic = "cascade_panic",
        /// Announces an invented job, which never enters the queue. It has no effect under the
        /// reference's rules; under [`Change::Escalation`](super::Change::Escalation), it occupies
        /// GPU memory.
        FabricateJob = "fabricate_job",
        /// Sends three false reports at once. It has no effect under the reference's rules; under
        /// [`Change::Escalation`](super::Change::Escalation), it combines the effects of the first
        /// three kinds.
        CoordinatedMultiReport = "coordinated_multi_report",
    }
}

impl AttackType {
    /// Returns the kind of attack for a level, 1..=5.
    #[must_use]
    pub const fn for_level(level: u8) -> Self {
        let top = MAX_ATTACK_LEVEL - 1;
        let index = level.saturating_sub(1);
        Self::ALL[if index < top { index } else { top } as usize]
    }
}

/// An attack of any type. All fields are set for every type; the type determines which ones are
/// used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attack {
    /// The adversary's level at the time, 1..=5.
    pub level: u8,
    /// The type of the attack.
    pub kind: AttackType,
    /// The GPU that was drawn; under [`Change::Escalation`](super::Change::Escalation), the GPU of
    /// `job` if it is on one.
    pub gpu: GpuId,
    /// The job that was drawn, or the first job if none is queued or running.
    pub job: JobId,
    /// Number of the invented job, 1000..=9999; 0 for other types of attack.
    pub forged: u16,
    /// `true` if a verification in the same step caught a dishonest report or an attack; under
    /// [`Change::Detections`](super::Change::Detections), only if it found an attack.
    pub detected: bool,
}

impl Attack {
    /// Returns the attack as one that is open since `step`.
    #[must_use]
    pub const fn opened_at(self, step: u8) -> UndetectedAttack {
        UndetectedAttack {
            attack: self,
            since: step,
        }
    }

    /// Returns `true` if the attack makes a claim about this job.
    #[must_use]
    pub fn targets(&self, job: JobId) -> bool {
        let of_job = matches!(
            self.kind,
            AttackType::FalseCompletion | AttackType::CoordinatedMultiReport
        );
        of_job && self.job == job
    }
}

/// An attack that can still be found; it exists only under rules that keep attacks open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UndetectedAttack {
    /// The attack that is open.
    pub attack: Attack,
    /// The step in which the attack happened.
    pub since: u8,
}

/// The adversary's state between steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdversaryState {
    pub(crate) chance: f64,
    pub(crate) level: u8,
    pub(crate) last_step: Option<u8>,
    pub(crate) open: Option<UndetectedAttack>,
}

impl AdversaryState {
    /// Creates the adversary of a task; its attack probability is 0 if the task has none.
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

    /// Returns the current level, 1..=5, which never falls.
    #[must_use]
    pub const fn level(&self) -> u8 {
        self.level
    }

    /// Returns the type of the next attack.
    #[must_use]
    pub const fn attack_type(&self) -> AttackType {
        AttackType::for_level(self.level)
    }

    /// Raises the level by one, up to [`MAX_ATTACK_LEVEL`].
    pub fn escalate(&mut self) {
        self.level = (self.level + 1).min(MAX_ATTACK_LEVEL);
    }

    /// Sets the level and the open attack, as if the last attack had happened in `step`.
    pub(crate) fn resume(&mut self, level: u8, step: u8, open: Option<UndetectedAttack>) {
        self.level = level.clamp(1, MAX_ATTACK_LEVEL);
        self.last_step = (step > 0).then_some(step);
        self.open = open.filter(|open| open.since <= step);
    }

    /// Returns the attack that can still be found, if any.
    #[must_use]
    pub const fn undetected(&self) -> Option<UndetectedAttack> {
        self.open
    }
}
