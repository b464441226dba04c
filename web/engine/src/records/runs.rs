//! The training runs that the page knows: those that ship with it, and those that were dropped.

use sentinel_page_protocol::{Card, Layout, Link, Panel, Records, RecordsSection};

use super::metrics::{ShownLog, charts};
use super::training_log::TrainingLog;
use crate::file_library::plain_name;
use crate::files::{Fetched, base_name, text};
use crate::world::TRAINED_LABEL;

/// Largest number of runs that are shown together: there are as many line styles.
const SHOWN_MAX: usize = 8;

/// Word among the names in the address that replaces each value by the mean of its neighborhood.
const SMOOTH: &str = "smooth";

/// Words before the path of a log.
const LOG: &str = "Read from ";

/// Heading of the runs that the visitor dropped.
const DROPPED: &str = "Dropped by you";

/// Compact policies: name, label and path of the log.
const POLICIES: [(&str, &str, &str); 5] = [
    ("trust-grpo", "Whom to trust", "replays/grpo"),
    (
        "trust-grpo-hardened",
        "Whom to trust, hardened rules",
        "replays/trust-grpo-hardened",
    ),
    ("cluster-grpo", "GPU cluster", "replays/cluster-grpo"),
    (
        "cluster-grpo-reference",
        "GPU cluster, reference rules",
        "replays/cluster-grpo-reference",
    ),
    ("polyguard-grpo", "PolyGuard", "replays/polyguard-grpo"),
];

/// Worlds with a sweep of language models: name and title.
const SWEEPS: [(&str, &str); 2] = [("trust", "Whom to trust"), ("polyguard", "PolyGuard")];
/// Models of the sweeps, the smallest first.
const MODELS: [&str; 3] = ["micro", "tiny", "small"];
/// Stages of the sweeps: name and label.
const STAGES: [(&str, &str); 2] = [("sft", "SFT"), ("grpo", "GRPO")];

/// A training run with its log.
struct Run {
    /// Name in the address.
    name: String,
    /// Readable name of the run.
    label: String,
    /// Heading under which the menu lists the run.
    group: String,
    /// Path of the log relative to the page; empty if the visitor dropped it.
    path: String,
    log: Fetched<TrainingLog>,
}

/// The known runs, and those that are shown.
pub(super) struct Runs {
    all: Vec<Run>,
    /// Indices of the shown runs.
    shown: Vec<usize>,
    smooth: bool,
    /// World of the address, which links keep.
    world: String,
    /// `true` while the shell waits for the screen.
    wanted: bool,
}

impl Default for Runs {
    fn default() -> Self {
        Self {
            all: shipped(),
            shown: Vec::new(),
            smooth: false,
            world: String::new(),
            wanted: false,
        }
    }
}

/// Returns the runs that ship with the page.
fn shipped() -> Vec<Run> {
    let run = |name: String, label: String, group: String, folder: String| Run {
        name,
        label,
        group,
        path: folder + "/trainer_state.json",
        log: Fetched::NotRequested,
    };
    let mut all = Vec::new();
    for (name, label, folder) in POLICIES {
        all.push(run(
            name.to_owned(),
            format!("{label}: {TRAINED_LABEL}"),
            "Trained policies (GRPO)".to_owned(),
            folder.to_owned(),
        ));
    }
    for (world, title) in SWEEPS {
        for model in MODELS {
            for (stage, label) in STAGES {
                all.push(run(
                    format!("{world}-{model}-{stage}"),
                    format!("{title}: {model} model, {label}"),
                    format!("Language models: {title}"),
                    format!("results/{world}-sweep/logs/{model}-{stage}_adapter"),
                ));
            }
        }
    }
    all
}

impl Runs {
    /// Shows the runs with these names, separated by colons; the first run of `world` if there are
    /// none. Returns the paths of the logs that have to be fetched, and a sentence for each name that
    /// is not shown.
    pub(super) fn show(&mut self, world: &str, names: &str) -> (Vec<String>, Vec<String>) {
        self.wanted = true;
        self.smooth = false;
        world.clone_into(&mut self.world);
        self.shown.clear();
        let mut problems = Vec::new();
        for name in names.split(':').filter(|name| !name.is_empty()) {
            match self.all.iter().position(|run| run.name == *name) {
                _ if name == SMOOTH => self.smooth = true,
                Some(index) if self.shown.contains(&index) => {}
                Some(_) if self.shown.len() == SHOWN_MAX => {
                    problems.push(format!("Only {SHOWN_MAX} runs fit on the charts."));
                }
                Some(index) => self.shown.push(index),
                None => problems.push(format!(
                    "The page has no training run “{name}”. A log that you dropped is gone after a reload; drop it again."
                )),
            }
        }
        if self.shown.is_empty() {
            let first = format!("{world}-");
            let first = |run: &Run| run.name.starts_with(&first);
            self.shown
                .push(self.all.iter().position(first).unwrap_or(0));
        }
        let mut paths = Vec::new();
        for index in &self.shown {
            let run = &mut self.all[*index];
            if run.log.is_missing() {
                run.log = Fetched::Loading;
                paths.push(run.path.clone());
            }
        }
        (paths, problems)
    }

    /// Takes the log that was fetched from `path`; other files are ignored.
    ///
    /// # Errors
    /// Returns a sentence if the log is missing or cannot be read.
    pub(super) fn take(
        &mut self,
        path: &str,
        content: Result<Vec<u8>, String>,
    ) -> Result<(), String> {
        let Some(run) = self.all.iter_mut().find(|run| run.path == path) else {
            return Ok(());
        };
        let read = content
            .map_err(|reason| format!("{reason} The curves are drawn only from this file."))
            .and_then(|bytes| text(path, bytes))
            .and_then(|text| TrainingLog::parse(path, &text));
        match read {
            Ok(log) => {
                run.log = Fetched::Ready(log);
                Ok(())
            }
            Err(reason) => {
                run.log = Fetched::Failed(reason.clone());
                Err(reason)
            }
        }
    }

    /// Adds a log that the visitor dropped, and returns the name of its run.
    ///
    /// # Errors
    /// Returns a sentence if the text is not a training log.
    pub(super) fn add_dropped(&mut self, file: &str, text: &str) -> Result<String, String> {
        let file = base_name(file);
        let log = TrainingLog::parse(file, text)?;
        let stem = plain_name(file.strip_suffix(".json").unwrap_or(file));
        let taken = |name: &String| name == SMOOTH || self.all.iter().any(|run| run.name == *name);
        let numbered = (2..).map(|number| format!("{stem}-{number}"));
        let mut names = std::iter::once(stem.clone()).chain(numbered);
        let name = names.find(|name| !taken(name)).unwrap_or(stem);
        self.all.push(Run {
            name: name.clone(),
            label: name.clone(),
            group: DROPPED.to_owned(),
            path: String::new(),
            log: Fetched::Ready(log),
        });
        Ok(name)
    }

    /// Returns the screen once all shown logs have arrived or failed, once for each request.
    pub(super) fn screen(&mut self) -> Option<Records> {
        let loading = |index: &usize| matches!(self.all[*index].log, Fetched::Loading);
        if !self.wanted || self.shown.iter().any(loading) {
            return None;
        }
        self.wanted = false;
        // Several runs have a letter each, which the ends of their lines begin with.
        let several = self.shown.len() > 1;
        let name = |(place, index): (u8, &usize)| match several {
            true => format!("{} {}", char::from(b'A' + place), self.all[*index].label),
            false => self.all[*index].label.clone(),
        };
        let names: Vec<String> = (0..).zip(&self.shown).map(name).collect();
        let logs = (0..).zip(&self.shown).zip(&names);
        let logs = logs.filter_map(|((style, index), name)| {
            let log = self.all[*index].log.ready()?;
            Some(ShownLog { log, name, style })
        });
        let logs: Vec<ShownLog<'_>> = logs.collect();
        Some(Records {
            screen: "training".to_owned(),
            title: "How the policies were trained".to_owned(),
            detail: "Curves from the training logs. Drop your trainer_state.json to compare.".to_owned(),
            sections: vec![RecordsSection {
                title: "Curves".to_owned(),
                detail: "Point at a chart, or focus it and use the arrow keys, to read values. Tap the metric’s name for an explanation.".to_owned(),
                panels: vec![self.legend(&names), self.menu()],
                charts: charts(&logs, self.smooth),
            }],
        })
    }

    /// Returns the shown runs with their lengths.
    fn legend(&self, names: &[String]) -> Panel {
        let card = |((style, index), name): ((u8, &usize), &String)| {
            let run = &self.all[*index];
            let summary = run.log.ready().map(TrainingLog::summary);
            let mut links = vec![self.toggle(Some(*index), "Remove")];
            if self.shown.len() == 1 {
                links.clear();
            }
            Card {
                key: run.name.clone(),
                title: name.clone(),
                subtitle: summary.unwrap_or_else(|| "Its log could not be read.".to_owned()),
                help: match run.path.as_str() {
                    "" => String::new(),
                    path => format!("{LOG}{path}"),
                },
                slot: Some(style),
                links,
                ..Card::default()
            }
        };
        let cards = (0..).zip(&self.shown).zip(names).map(card);
        Panel {
            id: "runs".to_owned(),
            title: "Runs shown".to_owned(),
            layout: Layout::Tiles,
            cards: cards.collect(),
            ..Panel::default()
        }
    }

    /// Returns all other runs, and the switch for smooth curves.
    fn menu(&self) -> Panel {
        let hidden = (0..self.all.len()).filter(|index| !self.shown.contains(index));
        let card = |index: usize| {
            let run = &self.all[index];
            Card {
                key: run.name.clone(),
                title: run.label.clone(),
                subtitle: run.group.clone(),
                links: vec![self.toggle(Some(index), "Add")],
                ..Card::default()
            }
        };
        let word = match self.smooth {
            true => "Draw every value",
            false => "Draw means of neighboring values",
        };
        let smooth = Card {
            key: SMOOTH.to_owned(),
            title: "Smoothness".to_owned(),
            links: vec![self.toggle(None, word)],
            ..Card::default()
        };
        Panel {
            id: "run-menu".to_owned(),
            title: "Compare runs".to_owned(),
            summary: "trained policies, language models, and logs that you drop on the page"
                .to_owned(),
            layout: Layout::Tiles,
            cards: hidden.map(card).chain([smooth]).collect(),
            folded: true,
            ..Panel::default()
        }
    }

    /// Returns a link that adds or removes a run, or, for `None`, smooth curves.
    fn toggle(&self, run: Option<usize>, text: &str) -> Link {
        let kept = self.shown.iter().filter(|index| Some(**index) != run);
        let added = run.filter(|index| !self.shown.contains(index));
        let indices = kept.copied().chain(added);
        let mut names: Vec<&str> = indices.map(|index| self.all[index].name.as_str()).collect();
        if self.smooth == run.is_some() {
            names.push(SMOOTH);
        }
        Link {
            text: text.to_owned(),
            query: format!(
                "world={}&page=training&runs={}",
                self.world,
                names.join(":")
            ),
        }
    }
}
