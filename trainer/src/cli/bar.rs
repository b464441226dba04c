//! Progress on standard error: bars for a person who waits, lines for a log.

use std::fmt::Write;
use std::io::{IsTerminal, Write as _, stderr};
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

/// The progress of a training run: a bar on a terminal, and lines above it or alone.
pub(crate) struct RunBar {
    /// The bar; hidden where there is no terminal.
    pub(crate) bar: ProgressBar,
    /// Whether standard error is a terminal.
    pub(crate) terminal: bool,
}

impl RunBar {
    /// A bar of `width` characters for a run of `total` steps.
    pub(crate) fn new(total: usize, width: usize) -> Self {
        let terminal = stderr().is_terminal();
        let bar = if terminal {
            ProgressBar::new(total as u64)
        } else {
            ProgressBar::hidden()
        };
        let form = format!("{{bar:{width}}} {{pos}}/{{len}} {{msg}} {{eta}} left");
        if let Ok(style) = ProgressStyle::with_template(&form) {
            bar.set_style(style);
        }
        Self { bar, terminal }
    }

    /// Begins at a step; returns what to add to the first line where that is not the first step.
    pub(crate) fn begin(&self, resumed_at: usize, unit: &str) -> String {
        self.bar.set_position(resumed_at as u64);
        self.bar.reset_eta();
        match resumed_at {
            0 => String::new(),
            step => format!(", going on after {unit} {step}"),
        }
    }

    /// Writes a line above the bar, or by itself where there is no terminal.
    pub(crate) fn line(&self, text: &str) {
        if self.terminal {
            self.bar.println(text);
        } else {
            // Nobody is left to tell when this fails.
            let _ = writeln!(stderr(), "{text}");
        }
    }

    /// Removes the bar.
    pub(crate) fn close(&self) {
        self.bar.finish_and_clear();
    }
}
