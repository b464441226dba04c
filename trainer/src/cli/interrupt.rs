//! Ctrl-C: the first one stops a run, which writes a checkpoint; the second one ends the program.

use std::io::{Write as _, stderr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use sentinel_trainer::Error;

/// The error of a run that stopped on request: exit code 130, as of a program that Ctrl-C ended.
#[derive(Debug, thiserror::Error)]
#[error("interrupted; continue with --resume-from-checkpoint")]
pub(crate) struct Interrupted;

/// Prints that a run was stopped and how to resume it, and returns [`Interrupted`].
pub(crate) fn interrupted(folder: &Path) -> anyhow::Error {
    let folder = folder.display();
    // A failure of standard error cannot be reported anywhere.
    let _ = writeln!(
        stderr(),
        "stopped; {folder} holds a checkpoint: continue with --resume-from-checkpoint"
    );
    Interrupted.into()
}

/// The error of a run on several ranks whose message was printed: exit code 1.
#[derive(Debug, thiserror::Error)]
#[error("the run ended with an error")]
pub(crate) struct Reported;

/// Returns a flag that the first Ctrl-C sets, so that a run writes a checkpoint and stops. The
/// second Ctrl-C ends the program.
///
/// # Errors
/// Returns an error if the signal handler's runtime cannot start.
pub(crate) fn on_interrupt() -> Result<&'static AtomicBool> {
    on_interrupt_of_rank(true)
}

/// Returns the flag of [`on_interrupt`] for a rank of a run. Only the main rank reacts to the signal;
/// the others ignore it and follow the main rank.
///
/// # Errors
/// Returns an error if the signal handler's runtime cannot start.
#[expect(clippy::exit, reason = "the second Ctrl-C must not wait")]
pub(crate) fn on_interrupt_of_rank(is_main: bool) -> Result<&'static AtomicBool> {
    static STOP: AtomicBool = AtomicBool::new(false);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(Error::Output)?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            while tokio::signal::ctrl_c().await.is_ok() {
                if !is_main {
                    continue;
                }
                if STOP.swap(true, Ordering::Relaxed) {
                    std::process::exit(130);
                }
                // A failure of standard error cannot be reported anywhere.
                let _ = writeln!(
                    stderr(),
                    "stopping after this step; press Ctrl-C again to stop at once"
                );
            }
        });
    });
    Ok(&STOP)
}
