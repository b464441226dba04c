//! Random streams: CPython's generator, and how an episode's streams are seeded.

mod mt19937;
mod python;
mod streams;

pub use mt19937::{Mt19937, Prefetched, Words, first_words};
pub use python::PyRandom;
pub use streams::{SPLITMIX64_INCREMENT, StreamId, Streams, derive_seed};
