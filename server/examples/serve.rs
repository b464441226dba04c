//! A server without the `sentinel` command: the library alone, which needs no tensor library.
//!
//! ```sh
//! cargo run --release -p sentinel-server --example serve -- --port 8000 --policy bayes
//! ```
#![allow(clippy::print_stdout, reason = "a program prints its address")]

use std::error::Error;

use clap::Parser as _;
use sentinel_server::policy::ServedPolicy;
use sentinel_server::{ServeOptions, Server};

/// The options of the server.
#[derive(clap::Parser)]
struct Cli {
    #[command(flatten)]
    options: ServeOptions,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let options = Cli::parse().options;
    let policy = match &options.policy {
        None => None,
        Some(name) => {
            let found = ServedPolicy::scripted(options.world, name);
            Some(found.ok_or_else(|| format!("no policy {name}"))??)
        }
    };
    let server = Server::bind(options, policy).await?;
    println!("http://{}", server.address());
    let stopped = async {
        let _ = tokio::signal::ctrl_c().await;
    };
    server.run(stopped).await;
    Ok(())
}
