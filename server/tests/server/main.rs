//! Tests of the server, over real sockets.

mod access;
mod bounds;
mod client;
mod completions;
mod doors;
mod episodes;
mod lifetime;
mod names;
mod openapi;
mod page;
mod policy;
mod protocol;
mod reference;
mod reference_cluster;
mod schemas;
mod transcript;
