//! Golden traces and digests that every target must reproduce, and the code that checks them.
//!
//! The same checks run in native tests and as WebAssembly in a browser (`wasm` module).

pub mod bench;
mod cluster;
mod cluster_shapes;
mod compare;
pub mod digests;
mod episodes;
mod golden;
#[cfg(not(target_arch = "wasm32"))]
pub mod loopback;
mod primitives;
mod shapes;
#[cfg(not(target_arch = "wasm32"))]
pub mod snapshot;
#[cfg(not(target_arch = "wasm32"))]
pub mod testdata;
#[cfg(target_arch = "wasm32")]
mod wasm;

pub use compare::Outcome;
pub use digests::check_digests;
pub use golden::check_golden;
