//! Progress on standard error: a bar on a terminal, lines in a log.

use std::fmt::Write;
use std::io::{IsTerminal, stderr};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::output::note;

/// The minimum run time before a progress bar appears.
const PATIENCE: Duration = Duration::from_secs(1);

/// A counter of episodes that appears on a terminal once a run takes long.
pub(crate) struct EpisodeBar {
    total: Option<u64>,
    done: AtomicU64,
    start: Instant,
    shown: OnceLock<ProgressBar>,
    terminal: bool,
}

impl EpisodeBar {
    /// Creates a bar for a run of `total` episodes, or of an unknown number.
    pub(crate) fn new(total: Option<u64>) -> Self {
        Self {
            total,
            done: AtomicU64::new(0),
            start: Instant::now(),
            shown: OnceLock::new(),
            terminal: stderr().is_terminal(),
        }
    }

    /// Counts one more finished episode.
    pub(crate) fn step(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if self.terminal && (self.shown.get().is_some() || self.start.elapsed() > PATIENCE) {
            self.shown
                .get_or_init(|| bar(self.total))
                .set_position(done);
        }
    }
}

impl Drop for EpisodeBar {
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

/// Writes the number of episodes per second, without decimals.
fn rate(state: &ProgressState, out: &mut dyn Write) {
    let _ = write!(out, "{:.0}", state.per_sec());
}

/// The progress of a training run: a bar on a terminal with lines above it, or lines alone.
pub(crate) struct RunBar {
    /// The progress bar; hidden without a terminal.
    pub(crate) bar: ProgressBar,
    /// `true` if standard error is a terminal.
    pub(crate) terminal: bool,
}

impl RunBar {
    /// Creates a bar of `width` characters for a run of `total` steps.
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

    /// Starts the bar at a step; returns the text that the first line adds for a resumed run.
    pub(crate) fn begin(&self, resumed_at: usize, unit: &str) -> String {
        self.bar.set_position(resumed_at as u64);
        self.bar.reset_eta();
        match resumed_at {
            0 => String::new(),
            step => format!(", resumed after {unit} {step}"),
        }
    }

    /// Writes a line above the bar, or by itself without a terminal.
    pub(crate) fn line(&self, text: &str) {
        if self.terminal {
            self.bar.println(text);
        } else {
            note(text);
        }
    }

    /// Removes the bar from the terminal.
    pub(crate) fn close(&self) {
        self.bar.finish_and_clear();
    }
}
