//! The progress display of language-model training: a bar on a terminal, lines in a log.

use std::fmt::Write as _;
use std::time::Instant;

use sentinel_language::training::Event;
use sentinel_rl::Metrics;

use super::progress_bar::RunBar;

/// The metrics that are shown, with their labels.
const SHOWN: [(&str, &str); 7] = [
    ("loss", "loss"),
    ("reward", "reward"),
    ("rollout/score", "score"),
    ("completions/invalid_rate", "invalid"),
    ("mean_token_accuracy", "accuracy"),
    ("kl", "kl"),
    ("grad_norm", "norm"),
];
/// The seconds between two lines without a terminal.
const PAUSE: u64 = 10;

/// The progress display of a training run.
pub(crate) struct LmProgress {
    progress: RunBar,
    total: usize,
    fallback: bool,
    said: Option<Instant>,
}

impl LmProgress {
    pub(crate) fn new() -> Self {
        Self {
            progress: RunBar::new(0, 20),
            total: 0,
            fallback: false,
            said: None,
        }
    }

    /// Returns `true` if the run uses a stand-in for a requested model or data.
    pub(crate) const fn fallback(&self) -> bool {
        self.fallback
    }

    pub(crate) fn close(&self) {
        self.progress.close();
    }

    pub(crate) fn show(&mut self, event: &Event) {
        match event {
            Event::Started {
                method,
                resumed_at,
                total,
                parameters,
                trained,
                fallback,
                ..
            } => {
                self.total = *total;
                self.fallback = *fallback;
                self.progress.bar.set_length(*total as u64);
                if *fallback {
                    self.progress.line(
                        "fallback: the run uses a stand-in, which sentinel.json in its folder names",
                    );
                }
                let from = self.progress.begin(*resumed_at, "step");
                self.progress.line(&format!(
                    "{method}: {trained} of {parameters} parameters, {total} steps{from}"
                ));
            }
            Event::Data { counts } => {
                let counts: Vec<String> = counts.iter().map(|(n, c)| format!("{n} {c}")).collect();
                self.progress.line(&counts.join(", "));
            }
            Event::Warning { step, text } => {
                if *step == 0 || self.progress.terminal {
                    self.progress.line(&format!("step {step}: {text}"));
                }
            }
            Event::Step { step, metrics, .. } => self.step(*step, metrics),
            Event::Eval {
                step,
                scores,
                metrics,
            } => {
                let mut text = format!("step {step}: validation score {:.4}", scores.overall);
                if let Some(invalid) = metrics.get("completions/invalid_rate") {
                    let _ = write!(text, ", invalid {invalid:.4}");
                }
                self.progress.line(&text);
            }
            Event::Saved { .. } | Event::Interrupted { .. } | Event::Finished { .. } => {}
        }
    }

    fn step(&mut self, step: usize, metrics: &Metrics) {
        let mut text = String::new();
        for (name, short) in SHOWN {
            if let Some(value) = metrics.get(name) {
                let _ = write!(text, "{short} {value:.4} ");
            }
        }
        if let Some(rate) = metrics.get("tokens_per_second") {
            let _ = write!(text, "{rate:.0} tokens/s ");
        }
        if let Some(memory) = resident() {
            let _ = write!(text, "{memory:.2} GiB");
        }
        self.progress.bar.set_position(step as u64);
        let due = self
            .said
            .is_none_or(|said| said.elapsed().as_secs() >= PAUSE);
        if !self.progress.terminal && (due || step == self.total) {
            self.progress
                .line(&format!("step {step}/{}: {text}", self.total));
            self.said = Some(Instant::now());
        }
        self.progress.bar.set_message(text);
    }
}

/// Returns the resident memory of the program in GiB, or `None` on a system without `/proc`.
fn resident() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0 / 1024.0)
}
