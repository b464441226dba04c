//! The folder of a report: written whole under another name, then put in the place of an earlier
//! one.

use std::path::{Path, PathBuf};

use sentinel_base::{Error, files};
use serde::Serialize;
use serde_json::Value;

use super::error::ReportError;
use super::html;
use super::integrity::{OVERFIT_REPORT, OverfitReport};
use super::read::Sources;
use super::results::Results;
use super::summary::{SWEEP_SUMMARY, SweepSummary};

/// The name of the HTML file.
const INDEX: &str = "index.html";
/// The data of the report.
const RESULTS: &str = "results.json";
/// The folder of charts.
const CHARTS: &str = "charts";
/// The folder of raw data.
const DATA: &str = "data";
/// Everything that a report's folder holds.
const OWN: [&str; 6] = [INDEX, RESULTS, CHARTS, DATA, OVERFIT_REPORT, SWEEP_SUMMARY];

/// The contents of the folder.
pub(super) struct ReportContents<'a> {
    pub(super) results: &'a Results,
    pub(super) overfit: Option<&'a OverfitReport>,
    pub(super) summary: Option<&'a SweepSummary>,
    pub(super) sources: &'a Sources,
}

/// Checks that a report can be written to a folder without destroying anything but an earlier
/// report.
///
/// # Errors
/// Returns an error if it is a file, or holds something else.
pub(super) fn check(out: &Path) -> Result<(), ReportError> {
    let occupied = || ReportError::Occupied(out.to_owned());
    if !out.exists() || !files::is_occupied(out, &[]) {
        return Ok(());
    }
    if files::is_occupied(out, &OWN) {
        return Err(occupied());
    }
    let text = std::fs::read(out.join(RESULTS)).unwrap_or_default();
    let earlier: Value = serde_json::from_slice(&text).unwrap_or_default();
    match earlier.get("format") {
        Some(_) => Ok(()),
        None => Err(occupied()),
    }
}

/// Checks that no input lies in the folder that is replaced.
///
/// # Errors
/// Returns an error that names the input.
pub(super) fn check_apart(out: &Path, sources: &Sources) -> Result<(), ReportError> {
    let Ok(folder) = out.canonicalize() else {
        return Ok(());
    };
    match sources.inputs().find(|input| input.starts_with(&folder)) {
        Some(input) => Err(ReportError::InputInOutput {
            input: input.to_owned(),
            out: out.to_owned(),
        }),
        None => Ok(()),
    }
}

/// Writes the report and returns the path of its HTML file.
///
/// # Errors
/// Returns an error if a file cannot be written. An earlier report then stays.
pub(super) fn write(out: &Path, parts: &ReportContents<'_>) -> Result<PathBuf, ReportError> {
    let above = files::parent_folder(out);
    create(above)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".sentinel-report-");
    // With the permissions of a new folder, not those of a private one.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
    let folder = builder
        .tempdir_in(above)
        .map_err(|source| ReportError::write(out, source))?;
    write_parts(folder.path(), parts)?;
    replace(out, folder)?;
    Ok(out.join(INDEX))
}

fn write_parts(folder: &Path, parts: &ReportContents<'_>) -> Result<(), ReportError> {
    let charts = folder.join(CHARTS);
    let mut drawings = Vec::new();
    for entry in &parts.results.charts {
        create(&charts)?;
        let own = entry.provenance.as_ref();
        entry
            .chart
            .write(&charts, own.unwrap_or(&parts.results.provenance))?;
        drawings.push(entry.chart.to_svg()?);
    }
    for (raw, content) in parts.sources.files() {
        let path = folder.join(&raw.path);
        create(files::parent_folder(&path))?;
        files::write_atomic(&path, content)?;
    }
    write_json(&folder.join(RESULTS), parts.results)?;
    if let Some(overfit) = parts.overfit {
        write_json(&folder.join(OVERFIT_REPORT), overfit)?;
    }
    if let Some(summary) = parts.summary {
        write_json(&folder.join(SWEEP_SUMMARY), summary)?;
    }
    let page = html::page(parts.results, parts.overfit, &drawings);
    files::write_atomic(&folder.join(INDEX), page.as_bytes())?;
    Ok(())
}

/// Puts a finished folder in the place of an earlier report.
fn replace(out: &Path, folder: tempfile::TempDir) -> Result<(), ReportError> {
    let failed = |source| ReportError::write(out, source);
    // From here on the folder is no longer removed by itself.
    let new = folder.keep();
    let old = new.with_extension("old");
    let had_one = out.exists();
    if had_one && let Err(source) = std::fs::rename(out, &old) {
        // The new folder is of no use; the error that matters is the first one.
        let _ = std::fs::remove_dir_all(&new);
        return Err(failed(source));
    }
    if let Err(source) = std::fs::rename(&new, out) {
        if had_one {
            // Puts the earlier report back.
            let _ = std::fs::rename(&old, out);
        }
        let _ = std::fs::remove_dir_all(&new);
        return Err(failed(source));
    }
    if had_one {
        std::fs::remove_dir_all(&old).map_err(failed)?;
    }
    Ok(())
}

fn create(folder: &Path) -> Result<(), ReportError> {
    std::fs::create_dir_all(folder).map_err(|source| ReportError::write(folder, source))
}

fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), ReportError> {
    let text = serde_json::to_string_pretty(value).map_err(Error::Json)? + "\n";
    files::write_atomic(path, text.as_bytes())?;
    Ok(())
}
