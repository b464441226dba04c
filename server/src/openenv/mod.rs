//! The protocol of OpenEnv 0.10: a WebSocket with one environment per connection, and HTTP routes
//! beside it.
//!
//! * [`frames`]: the messages of a WebSocket, and what is wrong with those that are refused.
//! * `socket`: a connection, from its first frame to its end.
//! * `waiting`: its frames that wait while a slow step runs.
//! * `http`: the handlers of the routes.
//! * `routes`: the list of the routes, and the types of their messages.
//! * [`json_rpc`]: the sessions and tools of `/mcp`.

pub mod frames;
pub(crate) mod http;
pub mod json_rpc;
pub(crate) mod routes;
pub(crate) mod socket;
mod waiting;

/// The name of the environment, for `/metadata` and `/list_environments`.
pub const NAME: &str = "sentinel_env";
