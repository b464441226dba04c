//! `sentinel check`: the success criteria of a folder of results.
//!
//! The criteria are those of the reference's runbook: the replay of the trained policy and twelve
//! charts exist, and the replay can be evaluated. Here each file must also be valid: the replay is
//! played again, a picture must be whole, and the data beside it must name inputs whose digests are
//! those of files that exist.

mod evaluation;
mod png;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sentinel_base::Error;
use sentinel_base::provenance::Provenance;
use sentinel_play::verify::{FileReport, verify_file};
use serde::{Deserialize, Serialize};

use super::artifact_index::{ArtifactIndex, INDEX_FILE, files_in};
use super::gate::Condition;
use super::json_file::report_error;
use super::{json_file, plots};

/// The name of the replay of the trained policy.
pub const REPLAY: &str = "trained_policy_replay.jsonl";
/// The folder of the charts.
pub const CHARTS: &str = "charts";
/// The number of seeds of the evaluation by default.
pub const EPISODES_DEFAULT: u64 = 5;

/// The options of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// The folder of results.
    pub folder: PathBuf,
    /// Further folders with files that the charts were drawn from.
    pub inputs: Vec<PathBuf>,
    /// The number of seeds of the evaluation.
    pub episodes: u64,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// `true` if every criterion is met.
    pub passed: bool,
    /// The folder of results.
    pub folder: PathBuf,
    /// The criteria in order.
    pub criteria: Vec<Condition>,
    /// The program, the digests of what it read, and every fallback on the way.
    pub provenance: Provenance,
}

impl CheckReport {
    /// Returns a table for a terminal.
    #[must_use]
    pub fn table(&self) -> String {
        let width = self.criteria.iter().map(|one| one.name.len()).max();
        let width = width.unwrap_or(0);
        let line = |one: &Condition| {
            let verdict = if one.passed { "pass" } else { "FAIL" };
            format!("{verdict}  {:<width$}  {}\n", one.name, one.evidence)
        };
        let lines: Vec<String> = self.criteria.iter().map(line).collect();
        let passed = self.criteria.iter().filter(|one| one.passed).count();
        let all = self.criteria.len();
        format!("{}{passed} of {all} criteria are met\n", lines.concat())
    }
}

/// Checks the success criteria of a folder.
///
/// # Errors
/// Returns an error if the folder does not exist or cannot be read. A file that is missing or
/// invalid is a criterion that is not met.
pub fn check_folder(options: &CheckOptions) -> Result<CheckReport, Error> {
    let folder = &options.folder;
    if !folder.is_dir() {
        let remedy = "name the folder that holds the replay and charts/";
        return Err(report_error(folder, "there is no such folder", remedy));
    }
    let mut known = BTreeSet::new();
    for folder in std::iter::once(folder).chain(&options.inputs) {
        for path in files_in(folder)? {
            known.insert(json_file::digest(&folder.join(path))?);
        }
    }
    let mut provenance = Provenance::new();
    let mut criteria = Vec::new();
    let mut add = |name: &str, file: PathBuf, found: Result<String, String>| {
        criteria.push(Condition {
            name: name.to_owned(),
            passed: found.is_ok(),
            evidence: found.unwrap_or_else(|reason| reason),
            file,
        });
    };
    let replay = folder.join(REPLAY);
    let verified = verify_file(&replay, &|| ()).map_err(|error| match error {
        Error::Read { .. } => format!("{error}; record it with `sentinel record`"),
        other => other.to_string(),
    });
    // A replay that cannot be read is a criterion that is not met.
    let _ = provenance.add_file(REPLAY, &replay);
    if let Ok(report) = &verified {
        provenance.add_fallbacks(report.fallbacks.iter().cloned());
    }
    add(
        "replay",
        replay.clone(),
        verified.as_ref().map_err(Clone::clone).and_then(recomputed),
    );
    for name in plots::CHART_NAMES {
        let path = folder.join(CHARTS).join(format!("{name}.png"));
        let data = path.with_extension("json");
        // The same for a picture.
        let _ = provenance.add_file(&format!("{CHARTS}/{name}.png"), &path);
        add(name, path.clone(), chart(&path, &data, &known));
    }
    let evaluated =
        verified.and_then(|report| evaluation::evaluate(&replay, &report, options.episodes));
    add("evaluation", replay, evaluated);
    let index = folder.join(INDEX_FILE);
    if index.exists() {
        add(INDEX_FILE, index.clone(), indexed(&index, folder));
    }
    Ok(CheckReport {
        passed: criteria.iter().all(|one| one.passed),
        folder: folder.clone(),
        criteria,
        provenance,
    })
}

/// Returns the evidence that a replay has the scores that playing it again gives.
fn recomputed(report: &FileReport) -> Result<String, String> {
    let found = &report.verification;
    let text = format!(
        "{} episodes, {} rows, score {:.4}, digest {}",
        found.episode_count, report.rows, found.score, found.digest
    );
    if !report.fits() {
        return Err(format!("{text}; it does not fit: {}", report.problems()));
    }
    match report.fallbacks.as_slice() {
        [] => Ok(text),
        [first, ..] => Err(format!("{text}; {first}")),
    }
}

/// The part of a chart's data that says where it comes from.
#[derive(Deserialize)]
struct ChartOrigin {
    provenance: Provenance,
}

/// Returns the evidence that a chart is whole and drawn from files that exist.
fn chart(path: &Path, data: &Path, known: &BTreeSet<String>) -> Result<String, String> {
    let text = |error: Error| error.to_string();
    let remedy = "draw it with `sentinel plots`";
    let bytes = std::fs::read(path)
        .map_err(|error| format!("cannot read {}: {error}; {remedy}", path.display()))?;
    let [width, height] = png::size(&bytes)
        .map_err(|reason| format!("{} is not a picture: {reason}; {remedy}", path.display()))?;
    let origin: ChartOrigin = json_file::read_json(data, remedy).map_err(text)?;
    let ChartOrigin { provenance } = origin;
    let shown = data.display();
    if let Some(fallback) = provenance.fallbacks.first() {
        return Err(format!("{shown}: {fallback}"));
    }
    let missing: BTreeMap<&String, &String> = (provenance.inputs.iter())
        .filter(|(_, digest)| !known.contains(*digest))
        .collect();
    match (provenance.inputs.len(), missing.first_key_value()) {
        (0, _) => Err(format!("{shown} names no input; {remedy}")),
        (_, Some((name, digest))) => {
            let digest = digest.get(..12).unwrap_or(digest);
            Err(format!(
                "{shown}: no file has the digest of {name} ({digest}): {remedy} again, or name its folder with --inputs"
            ))
        }
        (count, None) => Ok(format!("{width} x {height} pixels, {count} inputs found")),
    }
}

/// Returns the evidence that the files of a folder are those of its index.
fn indexed(index: &Path, folder: &Path) -> Result<String, String> {
    let text = |error: Error| error.to_string();
    let index = ArtifactIndex::load(index).map_err(text)?;
    let differences = index.differences(folder).map_err(text)?;
    match differences.as_slice() {
        [] => Ok(format!(
            "{} files, {} links",
            index.files.len(),
            index.links.len()
        )),
        [first, rest @ ..] => Err(format!(
            "{first}, and {} more differences: write it again with `sentinel check --index`",
            rest.len()
        )),
    }
}

#[cfg(test)]
mod tests;
