//! The library behind the `sentinel` command: evaluate, record, verify, trace.
//!
//! It prints nothing: functions return values, write to a file or to a writer that the caller
//! hands in, and report progress by a callback. One config struct per command serves clap and
//! whoever calls from code.

pub mod ablate;
mod args;
pub mod bench;
pub mod chosen;
pub mod compact;
pub mod corpus;
pub mod episode;
mod error;
pub mod eval;
pub mod files;
pub mod interval;
pub mod lm;
pub mod manifest;
pub mod options;
pub mod provenance;
pub mod record;
pub mod rl;
pub mod rules;
pub mod run;
pub mod seeds;
pub mod trace;
pub mod verify;
pub mod worlds;

pub use args::Contestant;
pub use chosen::{Cells, selected};
pub use episode::EpisodeArgs;
pub use error::Error;
pub use seeds::SeedRange;

/// Told after each episode; shared by the threads that play them.
pub type Progress<'a> = &'a (dyn Fn() + Sync);

/// For keys of files that stand only where they say something.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}
