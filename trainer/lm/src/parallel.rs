//! Parallel execution of independent parts on the cores of a processor.
//!
//! Matrix products use all cores, but the operations between them use one: on two cores, two parts
//! at once are nearly twice as fast. An accelerator gets one part at a time.

use burn::tensor::Device;
use rayon::prelude::*;

/// Smallest number of tokens in a part of a batch, but for the last part. Products of fewer rows are slower.
pub(crate) const MIN_PART_TOKENS: usize = 256;

/// Returns the number of cores, one of which each part takes.
#[must_use]
pub fn core_count() -> usize {
    rayon::current_num_threads().max(1)
}

/// Returns the number of batches of so many tokens that run at once on the cores of a processor: a pass of one divides its
/// rows among cores itself, and more batches take more memory.
#[must_use]
pub fn batches_at_once(tokens: usize, cores: usize) -> usize {
    cores.div_ceil((tokens / MIN_PART_TOKENS).max(1)).max(1)
}

/// Runs `work` on each part and passes the results to `take` in order.
///
/// The division into parts must not depend on the machine, so that the number of cores does not
/// change any result. At most `at_once` parts run, and as many results are held: the result of a
/// micro-batch is the gradient of a whole model.
pub fn par_map_ordered<T, R, E>(
    device: &Device,
    at_once: usize,
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
    let mut parts = parts.into_iter();
    loop {
        let wave: Vec<T> = parts.by_ref().take(at_once.max(1)).collect();
        if wave.is_empty() {
            return Ok(());
        }
        let done: Result<Vec<R>, E> = wave.into_par_iter().map(&work).collect();
        done?.into_iter().for_each(&mut take);
    }
}
