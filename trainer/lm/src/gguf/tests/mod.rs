//! Tests of the import, with files that they write themselves.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

mod bad_input;
mod families;
mod formats;
mod writer;
