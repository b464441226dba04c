//! The library behind the `sentinel` command: sweeps over several models, and checks of the machine.
//! Everything else that the command runs is a crate of its own, below `trainer/`. It must never hold what
//! another crate could use.
//!
//! Read `sweep/run.rs` first; the list of commands is `cli/mod.rs`, in the program.
//!
//! It prints nothing: functions return values, write to a file or to a writer that the caller
//! provides, and report progress by a callback. One config struct per command serves both clap and
//! callers from code.

pub mod doctor;
pub mod sweep;
