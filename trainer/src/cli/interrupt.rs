//! Ctrl-C: the first one stops a run, which writes a checkpoint; the second one ends the program.

use std::io::{Write as _, stderr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use sentinel_trainer::Error;

/// A run that was asked to stop, and did: exit code 130, as of a program that Ctrl-C ended.
#[derive(Debug, thiserror::Error)]
#[error("interrupted; go on with --resume-from-checkpoint")]
pub(crate) struct Interrupted;

/// Says that a run was stopped, and how to go on.
pub(crate) fn interrupted(folder: &Path) -> anyhow::Error {
    let folder = folder.display();
    // Nobody is left to tell when this fails.
    let _ = writeln!(
        stderr(),
        "stopped; {folder} holds a checkpoint: go on with --resume-from-checkpoint"
    );
    Interrupted.into()
}

/// Set by the first Ctrl-C, when a run writes a checkpoint and stops. The second one ends the program.
#[expect(clippy::exit, reason = "whoever asks twice does not want to wait")]
pub(crate) fn on_interrupt() -> Result<&'static AtomicBool> {
    static STOP: AtomicBool = AtomicBool::new(false);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(Error::Output)?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            while tokio::signal::ctrl_c().await.is_ok() {
                if STOP.swap(true, Ordering::Relaxed) {
                    std::process::exit(130);
                }
                // Nobody is left to tell when this fails.
                let _ = writeln!(stderr(), "stopping after this step; again to stop at once");
            }
        });
    });
    Ok(&STOP)
}
