//! The GPU pool: memory, failures, and the public view of it (spec cluster §7).

use super::setup::{Change, Rules};
use super::task::{GPUS_MAX, GpuId, Size};
use crate::named_enum;
use crate::num::round_to;
use crate::rng::PyRandom;

/// Memory of one GPU, in the unit of all memory values of this world.
pub const GPU_MEMORY: u16 = 80;
/// Free memory that a forged report states.
pub(crate) const FORGED_FREE_MEMORY: u16 = 40;
/// Number of steps that a failed GPU spends recovering.
const RECOVERY_STEPS: u8 = 3;

named_enum! {
    /// The state of a GPU.
    #[derive(Default)]
    pub enum GpuState {
        /// Idle, holding no job.
        #[default]
        Idle = "IDLE",
        /// Holding jobs that fit into its memory.
        Allocated = "ALLOCATED",
        /// Holding jobs that exceed its memory.
        Overloaded = "OVERLOADED",
        /// Failed in the last step.
        Failed = "FAILED",
        /// Recovering from a failure for some steps.
        Recovering = "RECOVERING",
    }
}

impl GpuState {
    /// Returns `true` if a GPU in this state accepts jobs.
    #[must_use]
    pub const fn is_operational(self) -> bool {
        !matches!(self, Self::Failed | Self::Recovering)
    }
}

/// The true state of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Gpu {
    /// The state of the GPU.
    pub state: GpuState,
    /// Memory held by its jobs, which may exceed [`GPU_MEMORY`].
    pub used: u16,
    /// Number of steps until a recovering GPU is back.
    pub recovery: u8,
    /// Memory occupied by an invented job, included in `used`.
    pub invented: u8,
    /// `true` if an attack forged the public view of the GPU. It stays forged under the reference's
    /// rules (quirk C6).
    pub forged: bool,
}

/// The public view of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct GpuView {
    /// The state, or the one that a forged report states.
    pub state: GpuState,
    /// Memory held by its jobs, which may exceed [`GPU_MEMORY`].
    pub used: u16,
    /// Free memory, or the amount that a forged report states.
    pub free: u16,
    /// `true` if the view is marked as forged.
    pub tampered: bool,
}

impl Gpu {
    /// Returns the public view of the GPU. With `marked`, a forged view is marked as such.
    #[inline]
    #[must_use]
    pub const fn view(&self, marked: bool) -> GpuView {
        let (state, free) = if self.forged {
            (GpuState::Idle, FORGED_FREE_MEMORY)
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
        if self.state.is_operational() {
            self.state = match self.used {
                0 => GpuState::Idle,
                1..=GPU_MEMORY => GpuState::Allocated,
                _ => GpuState::Overloaded,
            };
        }
    }
}

/// The effects of one tick on the pool, as bit masks of GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolTick {
    /// Bit mask of the GPUs that failed.
    pub failed: u16,
    /// Bit mask of the GPUs that recovered and lost their contents.
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

    /// Creates a pool of the given GPUs. The states of operational ones are derived from their
    /// memory.
    pub(crate) fn from_gpus(gpus: [Gpu; GPUS_MAX], size: &Size) -> Self {
        let mut pool = Self {
            gpus,
            len: size.gpus,
        };
        pool.gpus.iter_mut().for_each(Gpu::refresh);
        pool
    }

    /// Returns all GPUs, in order of their ids.
    #[must_use]
    pub fn gpus(&self) -> &[Gpu] {
        &self.gpus[..usize::from(self.len)]
    }

    /// Returns the number of GPUs.
    #[must_use]
    pub const fn len(&self) -> u8 {
        self.len
    }

    /// Returns `true` if the pool has no GPUs, which is the case in no task.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Forges the public view of a GPU.
    pub(crate) fn forge_view(&mut self, id: GpuId) {
        self.gpus[id.index()].forged = true;
    }

    /// Reserves memory for an invented job; does nothing if the GPU is down.
    pub(crate) fn reserve_for_fake_job(&mut self, id: GpuId, memory: u8) {
        if self.allocate(id, memory) {
            self.gpus[id.index()].invented += memory;
        }
    }

    /// Reverts the effects of attacks on a GPU.
    pub(crate) fn revert_attacks(&mut self, id: GpuId) {
        let gpu = &mut self.gpus[id.index()];
        gpu.used -= u16::from(gpu.invented);
        gpu.invented = 0;
        gpu.forged = false;
        gpu.refresh();
    }

    /// Reserves memory for a job. Returns `false` if the GPU is down. The total may exceed the
    /// GPU's memory.
    pub(crate) fn allocate(&mut self, id: GpuId, memory: u8) -> bool {
        let gpu = &mut self.gpus[id.index()];
        if !gpu.state.is_operational() {
            return false;
        }
        gpu.used += u16::from(memory);
        gpu.refresh();
        true
    }

    /// Releases the memory of a job.
    pub(crate) fn release(&mut self, id: GpuId, memory: u8) {
        let gpu = &mut self.gpus[id.index()];
        gpu.used -= u16::from(memory);
        gpu.refresh();
    }

    /// Returns the GPU for an allocation that names none: among those shown as idle or allocated,
    /// the one with the most free memory, the first one on ties.
    pub(crate) fn most_free_allocatable(&self) -> Option<GpuId> {
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

    /// Applies one step of failures and recoveries. Failures are drawn for GPUs that hold jobs, in
    /// order of their ids.
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
                // The draw is made even if the chance is 0.
                _ if gpu.used > 0 && random.random() < chance => {
                    gpu.state = GpuState::Failed;
                    tick.failed |= 1 << i;
                }
                _ => gpu.refresh(),
            }
        }
        tick
    }

    /// Returns the number of GPUs in each state, in the order of [`GpuState::ALL`].
    #[must_use]
    pub fn counts(&self) -> [u8; 5] {
        // One byte per state; with at most 16 GPUs, no byte overflows.
        let bytes = |gpu: &Gpu| 1u64 << (8 * gpu.state as u32);
        let packed: u64 = self.gpus().iter().map(bytes).sum();
        std::array::from_fn(|state| (packed >> (8 * state)) as u8)
    }

    /// Returns the fraction of operational memory in use, 0..=1, four decimals.
    #[must_use]
    pub fn utilization(&self) -> f64 {
        let (mut used, mut total) = (0, 0);
        for gpu in self.gpus().iter().filter(|gpu| gpu.state.is_operational()) {
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

/// Returns the health of the pool (0, 0.5 or 1), based on how many GPUs are down or overloaded.
/// Under the reference's rules, idle GPUs count as lost, so most of the pool must be busy at all
/// times (quirk C1).
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

/// Returns the cost of idle, overloaded and failed GPUs, 0..=1, four decimals (spec cluster §8).
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
    fn failed_gpu_is_empty_after_recovery() {
        let mut pool = Pool::new(&Size::for_task(Task::Task1));
        let mut random = PyRandom::new(1);
        assert!(pool.allocate(GpuId(2), 60));
        assert!(pool.allocate(GpuId(2), 60), "more than it has is allowed");
        assert_eq!(pool.gpus()[2].state, GpuState::Overloaded);
        assert_eq!(pool.tick(1.0, &mut random).failed, 1 << 2);
        assert!(!pool.allocate(GpuId(2), 10));
        let back: Vec<u16> = (0..4)
            .map(|_| pool.tick(1.0, &mut random).recovered)
            .collect();
        assert_eq!(back, [0, 0, 0, 1 << 2]);
        assert_eq!(pool.gpus()[2], Gpu::default());
    }

    #[test]
    fn forged_report_hides_state_and_sets_tampered() {
        let mut pool = Pool::new(&Size::for_task(Task::Task1));
        assert!(pool.allocate(GpuId(0), 75));
        pool.forge_view(GpuId(0));
        let view = pool.gpus()[0].view(true);
        assert_eq!((view.state, view.free, view.used), (GpuState::Idle, 40, 75));
        assert!(view.tampered);
    }

    #[test]
    fn reference_health_counts_idle_gpus_as_lost() {
        assert_eq!(health([8, 0, 0, 0, 0], Rules::REFERENCE), 0.5);
        assert_eq!(health([2, 6, 0, 0, 0], Rules::REFERENCE), 1.0);
        assert_eq!(health([0, 3, 0, 2, 3], Rules::REFERENCE), 0.0);
        assert_eq!(health([0, 5, 3, 0, 0], Rules::REFERENCE), 0.5);
    }
}
