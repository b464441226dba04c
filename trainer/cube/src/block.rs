//! The threads of a kernel: blocks of rows or of numbers, and sums and maxima within a block.

use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Largest number of threads of a block that computes a row.
pub(crate) const UNITS: u32 = 256;
/// Largest number of threads of a block that computes a long row, such as the logits of a vocabulary.
pub(crate) const MAX_UNITS: u32 = 1024;

/// Returns the largest power of two of threads that a block can have on the device of a tensor, at most `most`.
pub(crate) fn units(tensor: &CubeTensor, most: u32) -> u32 {
    let limit = tensor.client.properties().hardware.max_units_per_cube;
    (1 << limit.max(1).ilog2()).min(most)
}

/// Returns one block for each of `rows` rows.
pub(crate) fn blocks(rows: usize) -> CubeCount {
    let rows = u32::try_from(rows).unwrap_or(u32::MAX);
    // The second dimension holds the rest of what one dimension can count on every device.
    CubeCount::Static(rows.min(1 << 15), rows.div_ceil(1 << 15), 1)
}

/// Returns the blocks of a kernel that computes each of `count` numbers by a thread of its own.
pub(crate) fn blocks_of_numbers(count: usize, units: u32) -> CubeCount {
    blocks(count.div_ceil(units as usize))
}

/// The row that a block computes, with [`blocks`].
#[cube]
pub(crate) fn row_of_block() -> usize {
    (CUBE_POS_Y * CUBE_COUNT_X + CUBE_POS_X) as usize
}

/// The number that a thread computes, with [`blocks_of_numbers`].
#[cube]
pub(crate) fn number_of_thread() -> usize {
    row_of_block() * CUBE_DIM_X as usize + UNIT_POS as usize
}

/// Returns the sum of the values of all threads of a block to each of them. `shared` has a place for each thread.
#[cube]
pub(crate) fn block_sum(value: f32, shared: &mut Shared<[f32]>, #[comptime] units: u32) -> f32 {
    block_reduce(value, shared, units, false)
}

/// Returns the largest of the values of all threads of a block to each of them.
#[cube]
pub(crate) fn block_max(value: f32, shared: &mut Shared<[f32]>, #[comptime] units: u32) -> f32 {
    block_reduce(value, shared, units, true)
}

/// Returns the maximum, or else the sum, of the values of all threads of a block to each of them.
#[cube]
fn block_reduce(
    value: f32,
    shared: &mut Shared<[f32]>,
    #[comptime] units: u32,
    #[comptime] is_max: bool,
) -> f32 {
    let at = UNIT_POS as usize;
    sync_cube();
    shared[at] = value;
    sync_cube();
    let levels = comptime!(units.ilog2() as usize);
    #[unroll]
    for level in 0..levels {
        let half = comptime!((units as usize) >> (level + 1));
        if at < half {
            let other = shared[at + half];
            if comptime!(is_max) {
                shared[at] = max(shared[at], other);
            } else {
                shared[at] += other;
            }
        }
        sync_cube();
    }
    shared[0]
}
