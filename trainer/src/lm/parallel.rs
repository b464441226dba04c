//! Work in parts, side by side on a processor's cores.
//!
//! Products of matrices use all cores, but what lies between them uses one: two parts at once are
//! nearly twice as fast. An accelerator gets one part at a time.

use burn::tensor::Device;
use rayon::prelude::*;

/// What `work` makes of each part, in order. The parts must not depend on the machine, so that its
/// number of cores changes no result.
///
/// As many parts are under way as there are cores: more would only need more memory.
pub(super) fn in_parts<T, R, E>(
    device: &Device,
    parts: Vec<T>,
    work: impl Fn(T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E>
where
    T: Send,
    R: Send,
    E: Send,
{
    if *device != Device::flex() {
        return parts.into_iter().map(work).collect();
    }
    let cores = rayon::current_num_threads().max(1);
    let mut all = Vec::with_capacity(parts.len());
    let mut parts = parts.into_iter();
    loop {
        let wave: Vec<T> = parts.by_ref().take(cores).collect();
        if wave.is_empty() {
            return Ok(all);
        }
        let done: Result<Vec<R>, E> = wave.into_par_iter().map(&work).collect();
        all.extend(done?);
    }
}
