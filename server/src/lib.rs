//! The worlds behind HTTP and WebSocket.
//!
//! * [`openenv`]: the protocol of OpenEnv 0.10 at the root, for all worlds.
//! * [`reference_api`]: the HTTP API of the Python reference under `/sentinel/`.
//! * [`policy`]: a policy that answers `/act`.
//! * [`completions`]: a language model under `/v1/`, in the dialect of vLLM's server.
//! * [`environment`]: an environment of any world, as one client uses it.
//! * [`sessions`]: a bounded table of sessions with an idle time and a maximal age.
//! * [`Server`]: binds a socket, accepts connections, and stops gracefully.
//!
//! The library prints nothing: it emits `tracing` events and counts in [`metrics`].

#![allow(
    clippy::result_large_err,
    reason = "the error of a handler is the response, which is built once and moved"
)]

mod access;
pub mod completions;
mod connections;
mod envelope;
pub mod environment;
mod errors;
mod hosts;
pub mod metrics;
mod openapi;
pub mod openenv;
mod options;
mod page;
pub mod policy;
pub mod reference_api;
mod reply;
mod route;
mod routes;
mod schema;
mod server;
pub mod sessions;
mod state;
pub mod validation;
pub mod worlds;

pub use hosts::NameError;
pub use options::{Limits, ServeOptions};
pub use server::{ServeError, Server};
