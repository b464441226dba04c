//! Work in parts, side by side on a processor's cores.
//!
//! Products of matrices use all cores, but what lies between them uses one: two parts at once are
//! nearly twice as fast. An accelerator gets one part at a time.

use burn::tensor::Device;
use rayon::prelude::*;

/// Does `work` on each part and hands what it makes to `take`, in order. The parts must not depend
/// on the machine, so that its number of cores changes no result.
///
/// As many parts are under way as there are cores, and no more results are kept: a micro-batch's are
/// the gradients of a whole model.
pub(crate) fn in_parts<T, R, E>(
    device: &Device,
    parts: Vec<T>,
    work: impl Fn(T) -> Result<R, E> + Sync,
    mut take: impl FnMut(R),
) -> Result<(), E>
where
    T: Send,
    R: Send,
    E: Send,
{
    if *device != Device::flex() {
        for part in parts {
            take(work(part)?);
        }
        return Ok(());
    }
    let cores = rayon::current_num_threads().max(1);
    let mut parts = parts.into_iter();
    loop {
        let wave: Vec<T> = parts.by_ref().take(cores).collect();
        if wave.is_empty() {
            return Ok(());
        }
        let done: Result<Vec<R>, E> = wave.into_par_iter().map(&work).collect();
        done?.into_iter().for_each(&mut take);
    }
}
