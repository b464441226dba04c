//! The values that options of the trainer have, with their parsers: numbers, names of worlds, ranges
//! of seeds, selections of tasks; and the random streams that follow from a seed.
//!
//! It must never know a file, a thread, a clock or a tensor: it compiles for wasm32, so that an
//! algorithm can read its options in a browser. `sentinel-base` passes all of it on, together with
//! the parts that need files.
//!
//! Read `seeds.rs` first.

pub mod parsers;
pub mod rng;
pub mod seeds;
pub mod tasks;

pub use seeds::SeedRange;

/// The default number of `checkpoint-N` folders that a run keeps.
pub const SAVE_TOTAL_LIMIT: usize = 2;
