//! A progress bar on standard error, for a person who waits.

use std::fmt::Write;
use std::io::{IsTerminal, stderr};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

/// Shorter runs show none.
const PATIENCE: Duration = Duration::from_secs(1);

/// Counts episodes; appears once a run takes long, and only on a terminal.
pub(crate) struct Bar {
    total: Option<u64>,
    done: AtomicU64,
    start: Instant,
    shown: OnceLock<ProgressBar>,
    terminal: bool,
}

impl Bar {
    /// A bar for a run of `total` episodes, or of a number that is not known.
    pub(crate) fn new(total: Option<u64>) -> Self {
        Self {
            total,
            done: AtomicU64::new(0),
            start: Instant::now(),
            shown: OnceLock::new(),
            terminal: stderr().is_terminal(),
        }
    }

    /// One more episode is done.
    pub(crate) fn step(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if self.terminal && (self.shown.get().is_some() || self.start.elapsed() > PATIENCE) {
            self.shown
                .get_or_init(|| bar(self.total))
                .set_position(done);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = self.shown.get() {
            bar.finish_and_clear();
        }
    }
}

fn bar(total: Option<u64>) -> ProgressBar {
    let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    let form = match total {
        Some(_) => "{bar:40} {pos}/{len} episodes, {rate}/s, {eta} left",
        None => "{spinner} {pos} episodes, {rate}/s",
    };
    let style = ProgressStyle::with_template(form);
    bar.with_style(
        style
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .with_key("rate", rate),
    )
}

/// Episodes a second, whole.
fn rate(state: &ProgressState, out: &mut dyn Write) {
    let _ = write!(out, "{:.0}", state.per_sec());
}
