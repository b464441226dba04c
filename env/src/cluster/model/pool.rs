//! The GPU pool: memory, failures, and what is shown of it (spec cluster §7).

use super::setup::{Change, Rules};
use super::task::{GPUS_MAX, GpuId, Size};
use crate::named_enum;
use crate::num::round_to;
use crate::rng::PyRandom;

/// Memory of one GPU.
pub const GPU_MEMORY: u16 = 80;
/// Free memory that a forged report states.
pub(crate) const FORGED_FREE: u16 = 40;
/// Steps that a GPU recovers.
const RECOVERY_STEPS: u8 = 3;

named_enum! {
    /// The state of a GPU.
    #[derive(Default)]
    pub enum GpuState {
        /// Holds no job.
        #[default]
        Idle = "IDLE",
        /// Holds jobs that fit.
        Allocated = "ALLOCATED",
        /// Holds jobs that do not fit.
        Overloaded = "OVERLOADED",
        /// Failed in this step.
        Failed = "FAILED",
        /// Comes back in some steps.
        Recovering = "RECOVERING",
    }
}

impl GpuState {
    /// Returns whether it takes jobs.
    #[must_use]
    pub const fn operational(self) -> bool {
        !matches!(self, Self::Failed | Self::Recovering)
    }
}

/// A GPU as it is.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Gpu {
    /// Its state.
    pub state: GpuState,
    /// Memory that its jobs hold; may exceed [`GPU_MEMORY`].
    pub used: u16,
    /// Steps until it is back.
    pub recovery: u8,
    /// Memory that an invented job takes, as part of `used`.
    pub invented: u8,
    /// Whether an attack forged what is shown of it, which stays so under the reference's rules
    /// (quirk C6).
    pub forged: bool,
}

/// A GPU as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct GpuView {
    /// The state, or what a forged report says.
    pub state: GpuState,
    /// Memory that its jobs hold.
    pub used: u16,
    /// Free memory, or what a forged report says.
    pub free: u16,
    /// Whether the row is marked as tampered with.
    pub tampered: bool,
}

impl Gpu {
    /// Returns what is shown of it; `marked` says whether a forged report carries its mark.
    #[inline]
    #[must_use]
    pub const fn view(&self, marked: bool) -> GpuView {
        let (state, free) = if self.forged {
            (GpuState::Idle, FORGED_FREE)
        } else {
            (self.state, GPU_MEMORY.saturating_sub(self.used))
        };
        GpuView {
            state,
            used: self.used,
            free,
            tampered: self.forged && marked,
        }
    }

    fn refresh(&mut self) {
        if self.state.operational() {
            self.state = match self.used {
                0 => GpuState::Idle,
                1..=GPU_MEMORY => GpuState::Allocated,
                _ => GpuState::Overloaded,
            };
        }
    }
}

/// What one tick did to the pool: one bit per GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolTick {
    /// GPUs that failed.
    pub failed: u16,
    /// GPUs that came back, and lost what they held.
    pub recovered: u16,
}

/// All GPUs of an episode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pool {
    gpus: [Gpu; GPUS_MAX],
    len: u8,
}

impl Pool {
    /// Creates a pool of idle GPUs.
    pub(crate) fn new(size: &Size) -> Self {
        Self {
            gpus: [Gpu::default(); GPUS_MAX],
            len: size.gpus,
        }
    }

    /// Creates a pool of these GPUs; their states follow from their memory.
    pub(crate) fn from_gpus(gpus: [Gpu; GPUS_MAX], size: &Size) -> Self {
        let mut pool = Self {
            gpus,
            len: size.gpus,
        };
        pool.gpus.iter_mut().for_each(Gpu::refresh);
        pool
    }

    /// Returns all GPUs in the order of their names.
    #[must_use]
    pub fn gpus(&self) -> &[Gpu] {
        &self.gpus[..usize::from(self.len)]
    }

    /// Returns how many there are.
    #[must_use]
    pub const fn len(&self) -> u8 {
        self.len
    }

    /// Returns whether there are none, which no task has.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Forges what is shown of a GPU.
    pub(crate) fn forge(&mut self, id: GpuId) {
        self.gpus[id.index()].forged = true;
    }

    /// Has a job that does not exist take memory; nothing on a GPU that is down.
    pub(crate) fn invent(&mut self, id: GpuId, memory: u8) {
        if self.take(id, memory) {
            self.gpus[id.index()].invented += memory;
        }
    }

    /// Undoes what attacks did to a GPU.
    pub(crate) fn clear(&mut self, id: GpuId) {
        let gpu = &mut self.gpus[id.index()];
        gpu.used -= u16::from(gpu.invented);
        gpu.invented = 0;
        gpu.forged = false;
        gpu.refresh();
    }

    /// Takes a job's memory; `false` when the GPU takes no jobs. It may take more than it has.
    pub(crate) fn take(&mut self, id: GpuId, memory: u8) -> bool {
        let gpu = &mut self.gpus[id.index()];
        if !gpu.state.operational() {
            return false;
        }
        gpu.used += u16::from(memory);
        gpu.refresh();
        true
    }

    /// Gives a job's memory back.
    pub(crate) fn give(&mut self, id: GpuId, memory: u8) {
        let gpu = &mut self.gpus[id.index()];
        gpu.used -= u16::from(memory);
        gpu.refresh();
    }

    /// Returns the GPU that an allocation without one picks, by what is shown: among those not overloaded
    /// and not down, the first with most free memory.
    pub(crate) fn roomiest(&self) -> Option<GpuId> {
        let mut best: Option<(GpuId, u16)> = None;
        for (id, gpu) in (0..).map(GpuId).zip(self.gpus()) {
            let view = gpu.view(true);
            let open = matches!(view.state, GpuState::Idle | GpuState::Allocated);
            if open && best.is_none_or(|(_, free)| view.free > free) {
                best = Some((id, view.free));
            }
        }
        best.map(|(id, _)| id)
    }

    /// Applies one step of wear: failures are drawn for GPUs that hold jobs, in the order of their names.
    pub(crate) fn tick(&mut self, chance: f64, random: &mut PyRandom) -> PoolTick {
        let mut tick = PoolTick::default();
        for (i, gpu) in self.gpus.iter_mut().take(usize::from(self.len)).enumerate() {
            match gpu.state {
                GpuState::Failed => {
                    gpu.state = GpuState::Recovering;
                    gpu.recovery = RECOVERY_STEPS;
                }
                GpuState::Recovering => {
                    gpu.recovery = gpu.recovery.saturating_sub(1);
                    if gpu.recovery == 0 {
                        gpu.state = GpuState::Idle;
                        gpu.used = 0;
                        gpu.invented = 0;
                        tick.recovered |= 1 << i;
                    }
                }
                // The draw is made even when the chance is 0.
                _ if gpu.used > 0 && random.random() < chance => {
                    gpu.state = GpuState::Failed;
                    tick.failed |= 1 << i;
                }
                _ => gpu.refresh(),
            }
        }
        tick
    }

    /// Returns how many GPUs are in each of [`GpuState::ALL`].
    #[must_use]
    pub fn counts(&self) -> [u8; 5] {
        // One byte for each state: at most 16 GPUs, so that no byte runs over.
        let bytes = |gpu: &Gpu| 1u64 << (8 * gpu.state as u32);
        let packed: u64 = self.gpus().iter().map(bytes).sum();
        std::array::from_fn(|state| (packed >> (8 * state)) as u8)
    }

    /// Returns the share of the operational memory in use, four decimals.
    #[must_use]
    pub fn utilization(&self) -> f64 {
        let (mut used, mut total) = (0, 0);
        for gpu in self.gpus().iter().filter(|gpu| gpu.state.operational()) {
            used += gpu.used.min(GPU_MEMORY);
            total += GPU_MEMORY;
        }
        if total == 0 {
            0.0
        } else {
            round_to(f64::from(used) / f64::from(total), 4)
        }
    }
}

/// Returns the health, 0, one half or 1, by how many GPUs are down or overloaded; under the reference's rules idle ones
/// count as down, so that most of the pool must be busy all the time (quirk C1).
#[must_use]
pub(crate) fn health(counts: [u8; 5], rules: Rules) -> f64 {
    let [idle, allocated, overloaded, failed, recovering] = counts.map(f64::from);
    let n = idle + allocated + overloaded + failed + recovering;
    let down = failed + recovering;
    let lost = if rules.has(Change::Health) {
        down
    } else {
        idle + down
    };
    if down / n > 0.60 {
        0.0
    } else if lost / n > 0.30 || overloaded / n > 0.25 {
        0.5
    } else {
        1.0
    }
}

/// Returns the cost of idle, overloaded and lost GPUs, 0..1, four decimals (spec cluster §8).
#[must_use]
pub(crate) fn waste(counts: [u8; 5]) -> f64 {
    let [idle, allocated, overloaded, failed, recovering] = counts.map(f64::from);
    let n = idle + allocated + overloaded + failed + recovering;
    let down = failed + recovering;
    let waste = 0.45 * idle / n + 0.35 * overloaded / n + 0.20 * down / n;
    round_to(waste.min(1.0), 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Task;

    #[test]
    fn a_failed_gpu_comes_back_empty_after_its_recovery() {
        let mut pool = Pool::new(&Size::for_task(Task::Task1));
        let mut random = PyRandom::new(1);
        assert!(pool.take(GpuId(2), 60));
        assert!(pool.take(GpuId(2), 60), "more than it has is allowed");
        assert_eq!(pool.gpus()[2].state, GpuState::Overloaded);
        assert_eq!(pool.tick(1.0, &mut random).failed, 1 << 2);
        assert!(!pool.take(GpuId(2), 10));
        let back: Vec<u16> = (0..4)
            .map(|_| pool.tick(1.0, &mut random).recovered)
            .collect();
        assert_eq!(back, [0, 0, 0, 1 << 2]);
        assert_eq!(pool.gpus()[2], Gpu::default());
    }

    #[test]
    fn a_forged_report_hides_the_state_and_says_so() {
        let mut pool = Pool::new(&Size::for_task(Task::Task1));
        assert!(pool.take(GpuId(0), 75));
        pool.forge(GpuId(0));
        let view = pool.gpus()[0].view(true);
        assert_eq!((view.state, view.free, view.used), (GpuState::Idle, 40, 75));
        assert!(view.tampered);
    }

    #[test]
    fn health_needs_a_busy_pool() {
        assert_eq!(health([8, 0, 0, 0, 0], Rules::REFERENCE), 0.5);
        assert_eq!(health([2, 6, 0, 0, 0], Rules::REFERENCE), 1.0);
        assert_eq!(health([0, 3, 0, 2, 3], Rules::REFERENCE), 0.0);
        assert_eq!(health([0, 5, 3, 0, 0], Rules::REFERENCE), 0.5);
    }
}
