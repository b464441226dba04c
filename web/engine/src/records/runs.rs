//! The training runs that the page knows: those that ship with it, and those that were dropped.

use sentinel_page_protocol::{Curves, TrainingRun};

use super::log::TrainingLog;
use super::metrics::{ShownLog, charts};
use crate::files::{Fetched, base_name, text};
use crate::library::plain_name;

/// Largest number of runs that are shown together: there are as many line styles.
const SHOWN_MAX: usize = 8;

/// Heading of the runs that the visitor dropped.
const DROPPED: &str = "Dropped by you";

/// Compact policies: name, label and path of the log.
const POLICIES: [(&str, &str, &str); 4] = [
    ("trust-grpo", "Trust", "replays/grpo"),
    ("cluster-grpo", "Cluster", "replays/cluster-grpo"),
    (
        "cluster-grpo-reference",
        "Cluster, reference rules",
        "replays/cluster-grpo-reference",
    ),
    ("polyguard-grpo", "PolyGuard", "replays/polyguard-grpo"),
];

/// Worlds with a sweep of language models: name and title.
const SWEEPS: [(&str, &str); 2] = [("trust", "trust"), ("polyguard", "PolyGuard")];
/// Models of the sweeps, the smallest first.
const MODELS: [&str; 3] = ["micro", "tiny", "small"];
/// Stages of the sweeps: name and label.
const STAGES: [(&str, &str); 2] = [("sft", "SFT"), ("grpo", "GRPO")];

/// A run with its log.
struct Run {
    info: TrainingRun,
    log: Fetched<TrainingLog>,
}

/// The known runs, and those that are shown.
pub(super) struct Runs {
    all: Vec<Run>,
    /// Indices of the shown runs.
    shown: Vec<usize>,
    smooth: bool,
    /// `true` while the shell waits for curves.
    wanted: bool,
}

impl Default for Runs {
    fn default() -> Self {
        let shipped = shipped().into_iter();
        let run = |info| Run {
            info,
            log: Fetched::NotRequested,
        };
        Self {
            all: shipped.map(run).collect(),
            shown: Vec::new(),
            smooth: false,
            wanted: false,
        }
    }
}

fn shipped() -> Vec<TrainingRun> {
    let run = |name: String, label: String, group: String, folder: String| TrainingRun {
        name,
        label,
        group,
        path: folder + "/trainer_state.json",
        ..TrainingRun::default()
    };
    let mut all = Vec::new();
    for (name, label, folder) in POLICIES {
        let label = format!("{label}: trained policy");
        all.push(run(
            name.to_owned(),
            label,
            "Trained policies (GRPO)".to_owned(),
            folder.to_owned(),
        ));
    }
    for (world, title) in SWEEPS {
        for model in MODELS {
            for (stage, label) in STAGES {
                all.push(run(
                    format!("{world}-{model}-{stage}"),
                    format!("Model “{model}” in {title}, {label}"),
                    format!("Language models in {title}"),
                    format!("results/{world}-sweep/logs/{model}-{stage}_adapter"),
                ));
            }
        }
    }
    all
}

impl Runs {
    /// Shows the runs with these names; the first run of `world` if there are none. Returns the
    /// paths of the logs that have to be fetched, and a sentence for each name that is not shown.
    pub(super) fn show(
        &mut self,
        world: &str,
        names: &[String],
        smooth: bool,
    ) -> (Vec<String>, Vec<String>) {
        (self.smooth, self.wanted) = (smooth, true);
        self.shown.clear();
        let mut problems = Vec::new();
        for name in names {
            match self.all.iter().position(|run| run.info.name == *name) {
                Some(index) if self.shown.contains(&index) => {}
                Some(_) if self.shown.len() == SHOWN_MAX => {
                    problems.push(format!("Only {SHOWN_MAX} runs fit on the charts."));
                    break;
                }
                Some(index) => self.shown.push(index),
                None => problems.push(format!(
                    "The page has no training run “{name}”. A log that you dropped is gone after a reload; drop it again."
                )),
            }
        }
        if self.shown.is_empty() {
            let first = format!("{world}-");
            let first = |run: &Run| run.info.name.starts_with(&first);
            self.shown
                .push(self.all.iter().position(first).unwrap_or(0));
        }
        let mut paths = Vec::new();
        for index in &self.shown {
            let run = &mut self.all[*index];
            if run.log.is_missing() {
                run.log = Fetched::Loading;
                paths.push(run.info.path.clone());
            }
        }
        (paths, problems)
    }

    /// Takes the log that was fetched from `path`. Returns `None` if no run has this path.
    pub(super) fn take(
        &mut self,
        path: &str,
        content: Result<Vec<u8>, String>,
    ) -> Option<Result<(), String>> {
        let run = self.all.iter_mut().find(|run| run.info.path == path)?;
        let read = content
            .map_err(|reason| format!("{reason}. The curves are drawn only from this file."))
            .and_then(|bytes| text(path, bytes))
            .and_then(|text| TrainingLog::parse(path, &text));
        Some(match read {
            Ok(log) => {
                run.log = Fetched::Ready(log);
                Ok(())
            }
            Err(reason) => {
                run.log = Fetched::Failed(reason.clone());
                Err(reason)
            }
        })
    }

    /// Adds a log that the visitor dropped, and returns the name of its run.
    ///
    /// # Errors
    /// Returns a sentence if the text is not a training log.
    pub(super) fn add_dropped(&mut self, file: &str, text: &str) -> Result<String, String> {
        let file = base_name(file);
        let log = TrainingLog::parse(file, text)?;
        let stem = plain_name(file.strip_suffix(".json").unwrap_or(file));
        let taken = |name: &String| self.all.iter().any(|run| run.info.name == *name);
        let numbered = (2..).map(|number| format!("{stem}-{number}"));
        let mut names = std::iter::once(stem.clone()).chain(numbered);
        let name = names.find(|name| !taken(name)).unwrap_or(stem);
        let info = TrainingRun {
            name: name.clone(),
            label: name.clone(),
            group: DROPPED.to_owned(),
            ..TrainingRun::default()
        };
        self.all.push(Run {
            info,
            log: Fetched::Ready(log),
        });
        Ok(name)
    }

    /// Returns the curves once all shown logs have arrived or failed, once for each request.
    pub(super) fn curves(&mut self) -> Option<Curves> {
        let loading = |index: &usize| matches!(self.all[*index].log, Fetched::Loading);
        if !self.wanted || self.shown.iter().any(loading) {
            return None;
        }
        self.wanted = false;
        for run in &mut self.all {
            (run.info.style, run.info.tag) = (None, String::new());
        }
        let several = self.shown.len() > 1;
        for (style, index) in (0..).zip(&self.shown) {
            let Run { info, log } = &mut self.all[*index];
            info.style = Some(style);
            if several {
                info.tag = char::from(b'A' + style).to_string();
            }
            info.summary = log.ready().map_or_else(String::new, TrainingLog::summary);
        }
        let shown = self.shown.iter().filter_map(|index| {
            let Run { info, log } = &self.all[*index];
            Some(ShownLog {
                log: log.ready()?,
                tag: &info.tag,
                style: info.style?,
            })
        });
        let shown: Vec<ShownLog<'_>> = shown.collect();
        Some(Curves {
            charts: charts(&shown, self.smooth),
            runs: self.all.iter().map(|run| run.info.clone()).collect(),
        })
    }
}
