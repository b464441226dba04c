//! Tests of the server, over real sockets.

mod access;
mod client;
mod completions;
mod doors;
mod episodes;
mod lifetime;
mod openapi;
mod policy;
mod protocol;
mod reference;
mod reference_cluster;
mod schemas;
mod transcript;
