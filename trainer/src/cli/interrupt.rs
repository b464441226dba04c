//! The signals that ask a program to stop: Ctrl-C, and SIGTERM, which batch systems and containers send. The
//! first one stops a run, which writes a checkpoint; a second Ctrl-C ends the program.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use sentinel_base::Error;
use sentinel_run::{RunDir, RunDirArgs};

use super::output::note;

/// The error of a run that stopped on request: exit code 130, as of a program that Ctrl-C ended.
#[derive(Debug, thiserror::Error)]
#[error("interrupted; continue with --resume-from-checkpoint")]
pub(crate) struct Interrupted;

/// Prints that a run was stopped and how to resume it, and returns [`Interrupted`].
pub(crate) fn interrupted(folder: &Path) -> anyhow::Error {
    let folder = folder.display();
    note(&format!(
        "stopped; {folder} holds a checkpoint: continue with --resume-from-checkpoint"
    ));
    Interrupted.into()
}

/// Prints a note if a run begins anew, or from an older checkpoint, although its options ask for another.
pub(super) fn print_start(args: &RunDirArgs, dir: &RunDir) {
    if let Some(text) = args.describe_start(dir) {
        note(&text);
    }
}

/// The error of a run on several ranks whose message was printed: exit code 1.
#[derive(Debug, thiserror::Error)]
#[error("the run ended with an error")]
pub(crate) struct Reported;

/// A signal that asks a program to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopSignal {
    /// Ctrl-C in the terminal of the program.
    Interrupt,
    /// SIGTERM, which a batch system may send more than once.
    Terminate,
}

/// Catches the signals that ask this program to stop.
#[cfg(unix)]
pub(super) struct StopSignals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl StopSignals {
    /// Starts to catch the signals. Call this inside of a runtime.
    ///
    /// # Errors
    /// Returns an error if the system refuses.
    pub(super) fn catch() -> Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).map_err(Error::Output)?,
            terminate: signal(SignalKind::terminate()).map_err(Error::Output)?,
        })
    }

    /// Waits for the next signal; `None` if there will be none.
    pub(super) async fn next(&mut self) -> Option<StopSignal> {
        tokio::select! {
            found = self.interrupt.recv() => found.map(|()| StopSignal::Interrupt),
            found = self.terminate.recv() => found.map(|()| StopSignal::Terminate),
        }
    }
}

/// Catches the signals that ask this program to stop.
#[cfg(not(unix))]
pub(super) struct StopSignals;

#[cfg(not(unix))]
impl StopSignals {
    /// Starts to catch the signals. Call this inside of a runtime.
    ///
    /// # Errors
    /// None on this system.
    pub(super) fn catch() -> Result<Self> {
        Ok(Self)
    }

    /// Waits for the next signal; `None` if there will be none.
    pub(super) async fn next(&mut self) -> Option<StopSignal> {
        tokio::signal::ctrl_c()
            .await
            .ok()
            .map(|()| StopSignal::Interrupt)
    }
}

/// Returns a flag that the first signal sets, so that a run writes a checkpoint and stops. The second
/// Ctrl-C ends the program.
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
    // Before the thread starts, so that no signal is missed.
    let mut signals = {
        let _inside = runtime.enter();
        StopSignals::catch()?
    };
    std::thread::spawn(move || {
        runtime.block_on(async {
            while let Some(signal) = signals.next().await {
                if !is_main {
                    continue;
                }
                if STOP.swap(true, Ordering::Relaxed) {
                    if signal == StopSignal::Interrupt {
                        std::process::exit(130);
                    }
                    continue;
                }
                note("stopping after this step; press Ctrl-C again to stop at once");
            }
        });
    });
    Ok(&STOP)
}
