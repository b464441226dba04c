//! The Hugging Face Hub: jobs on rented machines, uploads, and downloads of whole runs.
//!
//! It must never know a tensor or train anything; of results it knows the names of charts and of
//! policies, for the commands of a job. Read `upload/mod.rs` first, then `client.rs`.
//!
//! * `sentinel hf-job` describes a job ([`job`]) and submits it;
//! * `sentinel upload` commits files to a repository ([`upload`]): small ones in the commit itself,
//!   large ones by git LFS before it;
//! * `sentinel pull` downloads a repository into a folder ([`pull`]) and verifies every digest.
//!
//! All three refuse what depends on a fallback unless told otherwise ([`fallback_marks`]), and use one
//! [`HubClient`], whose token is in no message and no file. The crate `hf-hub`, which downloads
//! base models into the cache of Hugging Face (`sentinel-lm`), is not used here: version 1.0 sends
//! large files by the Xet protocol only, ignores `Retry-After`, has no jobs, and adds about a
//! hundred crates with a C library.

mod client;
mod error;
#[cfg(test)]
mod fake_hub;
pub mod fallback_marks;
mod glob_pattern;
pub mod job;
pub mod pull;
mod remote_files;
mod repo;
#[cfg(test)]
mod tests;
pub mod upload;

pub use client::HubClient;
pub use error::{FallbackMark, HubError};
pub use repo::{Repo, RepoType};
