//! `sentinel report`: everything that is known about runs, evaluations and sweeps as one HTML file
//! that needs no network, with its charts, its raw data, and the same numbers as `results.json`.
//!
//! [`results`] is the data, which the reader fills from files; the figures and the HTML are made
//! from nothing else. What is missing is listed with the command that makes it.

mod error;
pub mod evaluation;
mod figures;
mod html;
pub mod integrity;
mod output;
mod read;
pub mod results;
mod summary;
pub mod sweep_results;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use sweep_results::SweepEntry;

pub use error::ReportError;
use sentinel_base::provenance::{Provenance, marked_name};
use sentinel_base::task_selection::shell_quote;

use read::{Input, Sources};
use results::{ChartEntry, FORMAT, MissingChart, Results, Section};
pub use summary::{SWEEP_SUMMARY, SweepSummary};

/// The configuration of `sentinel report`.
#[derive(Clone, Debug, clap::Args)]
pub struct ReportConfig {
    /// Run folders, files of `eval --out` and `lm eval --out`, a sweep's reports folder, and
    /// folders of charts
    #[arg(value_name = "RUN", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Folder for the report; an earlier report in it is replaced
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Title of the report
    #[arg(long, value_name = "TEXT", default_value = "Results")]
    pub title: String,
}

impl ReportConfig {
    /// Returns the command line that makes the report again.
    fn command(&self) -> String {
        let text = |path: &Path| shell_quote(&path.display().to_string());
        let mut words = vec!["sentinel report".to_owned()];
        words.extend(self.inputs.iter().map(|path| text(path)));
        words.push(format!("--out {}", text(&self.out)));
        if self.title != "Results" {
            words.push(format!("--title {}", shell_quote(&self.title)));
        }
        words.join(" ")
    }
}

/// The result of `sentinel report`.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenReport {
    /// The path of the HTML file.
    pub index: PathBuf,
    /// The data that the report shows.
    pub results: Results,
}

impl WrittenReport {
    /// Returns the summary for a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let results = &self.results;
        let mut text = String::new();
        for MissingChart {
            chart,
            reason,
            command,
        } in &results.missing
        {
            text.push_str(&format!("missing in {chart}: {reason}\n  {command}\n"));
        }
        for fallback in &results.provenance.fallbacks {
            text.push_str(&format!("{fallback}\n"));
        }
        let count = |count, one, many| figures::counted(count, one, many);
        text.push_str(&format!(
            "wrote {}: {}, {} missing, {} of raw data\n",
            self.index.display(),
            count(results.charts.len(), "chart", "charts"),
            count(results.missing.len(), "input", "inputs"),
            count(results.files.len(), "file", "files"),
        ));
        text
    }
}

/// Reads the inputs and writes the report.
///
/// # Errors
/// Returns an error if an input cannot be read, or the report cannot be written. An earlier report
/// then stays as it was.
pub fn write_report(config: &ReportConfig) -> Result<WrittenReport, ReportError> {
    output::check(&config.out)?;
    let mut sources = Sources::default();
    let mut results = collect(config, &mut sources)?;
    output::check_apart(&config.out, &sources)?;
    let subjects = integrity::collect_policy_stats(&results.sweeps, &results.evaluations);
    let drawn = figures::figures(
        &results.sweeps,
        &results.runs,
        &results.evaluations,
        &subjects,
    );
    let of_folders = std::mem::take(&mut results.charts);
    results.charts = drawn.charts;
    results.charts.extend(of_folders);
    unique_names(&mut results.charts);
    results.missing = drawn.missing;
    results.files = (sources.files().iter())
        .map(|(raw, _)| raw.clone())
        .collect();
    let overfit = integrity::judge_policies(&subjects, &results.provenance);
    let summary = (!results.sweeps.is_empty()).then(|| SweepSummary::new(&results));
    let parts = output::ReportContents {
        results: &results,
        overfit: overfit.as_ref(),
        summary: summary.as_ref(),
        sources: &sources,
    };
    let index = output::write(&config.out, &parts)?;
    Ok(WrittenReport { index, results })
}

/// Reads all inputs into results without figures of their own.
fn collect(config: &ReportConfig, sources: &mut Sources) -> Result<Results, ReportError> {
    let mut results = Results {
        format: FORMAT,
        title: config.title.clone(),
        sweeps: Vec::new(),
        runs: Vec::new(),
        evaluations: Vec::new(),
        charts: Vec::new(),
        missing: Vec::new(),
        files: Vec::new(),
        provenance: Provenance {
            command: Some(config.command()),
            ..Provenance::new()
        },
    };
    for path in &config.inputs {
        let all = &mut results.provenance;
        match read::read(path, sources)? {
            Input::Run(run) => {
                all.add_fallbacks(run.provenance.fallbacks.iter().cloned());
                results.runs.push(*run);
            }
            Input::Evaluation(evaluation) => {
                all.add_fallbacks(evaluation.provenance.fallbacks.iter().cloned());
                results.evaluations.push(*evaluation);
            }
            Input::Sweep(sweep) => {
                let entries = sweep.entries.iter();
                all.add_fallbacks(entries.flat_map(|entry| entry.fallbacks.iter().cloned()));
                results.sweeps.push(*sweep);
            }
            Input::Charts(charts) => {
                for (chart, provenance) in charts {
                    all.add_fallbacks(provenance.fallbacks.iter().cloned());
                    results.charts.push(ChartEntry {
                        section: Section::Charts,
                        of: None,
                        caption: chart.description.clone(),
                        provenance: Some(provenance),
                        chart,
                    });
                }
            }
        }
    }
    let mut entries: Vec<&mut SweepEntry> = (results.sweeps.iter_mut())
        .flat_map(|sweep| &mut sweep.entries)
        .collect();
    unique_labels(&mut entries);
    for (raw, _) in sources.files() {
        let digest = raw.sha256.clone();
        results.provenance.inputs.insert(raw.source.clone(), digest);
    }
    Ok(results)
}

/// Names models by the ids of their entries where two have the same name, and by their places where
/// two sweeps have the same id.
fn unique_labels(entries: &mut [&mut SweepEntry]) {
    let name = |entry: &SweepEntry| entry.label.trim_end_matches(" (fallback)").to_owned();
    let repeats = |names: &[String], name: &str| names.iter().filter(|n| *n == name).count() > 1;
    let names: Vec<String> = entries.iter().map(|entry| name(entry)).collect();
    for entry in entries.iter_mut().filter(|e| repeats(&names, &name(e))) {
        entry.label = marked_name(&entry.run, !entry.fallbacks.is_empty());
    }
    let names: Vec<String> = entries.iter().map(|entry| name(entry)).collect();
    for (index, entry) in entries.iter_mut().enumerate() {
        if repeats(&names, &name(entry)) {
            entry.label = format!("#{} {}", index + 1, entry.label);
        }
    }
}

/// Renames charts whose name another one has already, since the name is that of a file.
fn unique_names(charts: &mut [ChartEntry]) {
    let mut taken = Vec::<String>::new();
    for entry in charts {
        let name = entry.chart.name.clone();
        let mut numbered = (2..).map(|number| format!("{name}-{number}"));
        if taken.contains(&name) {
            entry.chart.name = numbered.find(|n| !taken.contains(n)).unwrap_or(name);
        }
        taken.push(entry.chart.name.clone());
    }
}
