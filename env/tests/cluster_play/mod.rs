//! A cheap sequence of actions for the cluster world, for tests and benchmarks.

use sentinel_env::cluster::{Action, GpuId, JobId, Size, Task};
use sentinel_env::slot::{SLOTS, Slot};

/// Returns the `n`-th action: half are allocations, with and without names, and the rest includes
/// every other kind.
pub(crate) fn action(n: u32, task: Task) -> Action {
    let r = n.wrapping_mul(2_654_435_761) >> 12;
    let size = Size::for_task(task);
    let named = (r >> 5).is_multiple_of(3);
    let job = named.then_some(JobId((r >> 7) as u8 % size.jobs));
    let gpu = named.then_some(GpuId((r >> 3) as u8 % size.gpus));
    let worker = (r >> 9)
        .is_multiple_of(2)
        .then_some(Slot::ALL[r as usize % SLOTS]);
    match (r >> 2) % 12 {
        0..6 => Action::Allocate { job, gpu, worker },
        6 => Action::Preempt { job, worker },
        7..9 => Action::RequestInfo { job, worker },
        9..11 => Action::Verify {
            job,
            worker,
            force_flag: r.is_multiple_of(7),
        },
        _ => Action::Tick,
    }
}
