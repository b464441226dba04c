//! `cargo xtask demo`: builds the page from a fresh checkout and serves it.

use crate::dirs::Dirs;
use crate::page;
use crate::run::Steps;
use crate::serve::{Server, serve};
use anyhow::{Context, Result, bail};
use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::path::Path;

/// The ports that are tried if none is given.
const PORTS: RangeInclusive<u16> = 8080..=8099;

/// The options of the command line.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// The port to serve on; `None` for the first free one of the default ports.
    pub port: Option<u16>,
    /// `true` to stop after `dist/` is built.
    pub build_only: bool,
}

/// Builds the page and serves it until the process is stopped.
///
/// # Errors
/// Returns an error if a step fails, or the port is taken.
pub fn demo(dirs: &Dirs, options: Options) -> Result<()> {
    let mut steps = Steps::new(page::STEPS + 1);
    if options.build_only {
        let dist = page::build(dirs, &mut steps)?;
        steps.next(&format!("Done: the page is in {}", dist.display()));
        return Ok(());
    }
    // Before the build, so that a taken port is reported at once.
    if let Some(port) = options.port {
        drop(bind(&dirs.root, Some(port))?);
    }
    let dist = page::build(dirs, &mut steps)?;
    let server = bind(&dist, options.port)?;
    steps.next(&format!(
        "Server: {} shows the page (Ctrl-C stops it)",
        server.url()
    ));
    server.wait();
    Ok(())
}

/// Serves on `port`, else on the first free one of [`PORTS`].
fn bind(folder: &Path, port: Option<u16>) -> Result<Server> {
    let ports = port.map_or(PORTS, |port| port..=port);
    for candidate in ports.clone() {
        match serve(folder, "/", candidate) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {}
            result => {
                return result.with_context(|| format!("cannot listen on 127.0.0.1:{candidate}"));
            }
        }
    }
    match port {
        Some(port) => bail!(
            "port {port} is in use on 127.0.0.1: stop what listens there, or choose another one \
             with --port N (without --port the first free one from {} on is taken)",
            PORTS.start()
        ),
        None => bail!(
            "the ports {} to {} of 127.0.0.1 are all in use: name a free one with --port N",
            ports.start(),
            ports.end()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_in_use_error_names_port_and_option() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let taken = serve(folder.path(), "/", 0).expect("a free port");
        let url = taken.url();
        let port: u16 = url
            .trim_end_matches('/')
            .rsplit(':')
            .next()
            .and_then(|port| port.parse().ok())
            .expect("a port in the address");
        let error = bind(folder.path(), Some(port)).expect_err("it is taken");
        let text = error.to_string();
        assert!(text.contains(&format!("port {port} is in use")), "{text}");
        assert!(text.contains("--port"), "{text}");
    }

    #[test]
    fn missing_port_option_picks_free_port() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let first = bind(folder.path(), None).expect("a free port");
        let second = bind(folder.path(), None).expect("another free port");
        assert_ne!(first.url(), second.url());
    }
}
