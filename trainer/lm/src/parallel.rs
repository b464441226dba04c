//! Parallel execution of independent parts on the cores of a processor.
//!
//! A part takes a core from its beginning to its end: large products alone would use all cores, but what is between
//! them one. An accelerator gets one part at a time.

use burn::tensor::Device;
use rayon::prelude::*;

/// Smallest number of tokens in a part of a batch, but for the last part. Products of fewer rows are slower.
pub(crate) const MIN_PART_TOKENS: usize = 256;

/// Returns the number of cores that parts are computed on.
#[must_use]
pub fn core_count() -> usize {
    rayon::current_num_threads().max(1)
}

/// Largest number of trained numbers in all gradients that are computed at once, 1 GiB in f32, if there is more than one.
const MAX_GRADIENTS: usize = 1 << 28;

/// Returns the number of rows that each core takes of a product, `min_rows` or more if there are as many.
pub(crate) fn rows_per_core(rows: usize, min_rows: usize) -> usize {
    let parts = (rows / min_rows).clamp(1, core_count());
    rows.div_ceil(parts).max(1)
}

/// Returns the number of parts that the rows of a batch are divided into, about.
#[must_use]
pub fn part_count(rows: usize, tokens: usize) -> usize {
    (tokens / MIN_PART_TOKENS).clamp(1, rows.max(1))
}

/// Returns the number of batches that run at once on the cores of a processor, if a pass divides each into at most
/// `parts`: more batches would take more memory.
#[must_use]
pub fn batches_at_once(parts: usize, cores: usize) -> usize {
    cores.div_ceil(parts.max(1)).max(1)
}

/// Returns the number of micro-batches that run at once, from the rows of each and the tokens of its longest row.
pub fn micro_batches_at_once(sizes: impl Iterator<Item = [usize; 2]>) -> usize {
    let parts = sizes.map(|[rows, longest]| part_count(rows, rows * longest));
    batches_at_once(parts.max().unwrap_or(1), core_count())
}

/// Returns the number of parts of a batch that compute gradients of so many numbers at once.
#[must_use]
pub fn gradients_at_once(trained: usize, cores: usize) -> usize {
    (MAX_GRADIENTS / trained.max(1)).clamp(1, cores.max(1))
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
