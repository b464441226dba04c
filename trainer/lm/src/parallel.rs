//! Parallel execution of independent parts on the cores of a processor.
//!
//! Matrix products use all cores, but the operations between them use one: on two cores, two parts
//! at once are nearly twice as fast. An accelerator gets one part at a time.

use burn::tensor::Device;
use rayon::prelude::*;

/// Runs `work` on each part and passes the results to `take` in order.
///
/// The division into parts must not depend on the machine, so that the number of cores does not
/// change any result. At most as many parts run, and as many results are held, as there are cores:
/// the result of a micro-batch is the gradient of a whole model.
pub fn par_map_ordered<T, R, E>(
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
