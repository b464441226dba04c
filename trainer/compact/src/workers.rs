//! The interface of the workers that play episodes; the caller hands them in, since the algorithms start no
//! thread.

use std::ops::Range;

/// A number of workers that share work whose order does not matter.
pub trait Workers {
    /// Calls `work` with every index of a range, and returns the results in the order of the indices:
    /// they must not depend on the number of workers. `buffers` makes what each worker keeps between
    /// its calls.
    fn map<B, T: Send>(
        &self,
        indices: Range<u64>,
        buffers: impl Fn() -> B + Sync + Send,
        work: impl Fn(&mut B, u64) -> T + Sync + Send,
    ) -> Vec<T>;
}

/// The calling thread as the only worker.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sequential;

impl Workers for Sequential {
    fn map<B, T: Send>(
        &self,
        indices: Range<u64>,
        buffers: impl Fn() -> B + Sync + Send,
        work: impl Fn(&mut B, u64) -> T + Sync + Send,
    ) -> Vec<T> {
        let mut buffers = buffers();
        indices.map(|index| work(&mut buffers, index)).collect()
    }
}
