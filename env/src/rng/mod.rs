//! Random streams: CPython's generator, a small and fast one, and the seeding of an episode's
//! streams.

mod mt19937;
mod pcg;
mod python;
mod streams;

pub use mt19937::{Mt19937, Prefetched, Words, first_words};
pub use pcg::PcgRandom;
pub use python::PyRandom;
pub use streams::{SPLITMIX64_INCREMENT, Streams, derive_seed};
