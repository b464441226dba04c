//! The threads of a native run.

use std::ops::Range;

use rayon::prelude::*;

use crate::workers::Workers;

/// The threads of rayon's current pool, by default one for each core.
#[derive(Clone, Copy, Debug, Default)]
pub struct Threads;

impl Workers for Threads {
    fn map<B, T: Send>(
        &self,
        indices: Range<u64>,
        buffers: impl Fn() -> B + Sync + Send,
        work: impl Fn(&mut B, u64) -> T + Sync + Send,
    ) -> Vec<T> {
        indices.into_par_iter().map_init(buffers, work).collect()
    }
}
