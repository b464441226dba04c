//! Folders of charts: the JSON files that `sentinel plots` writes beside its pictures.

use std::path::{Path, PathBuf};

use sentinel_base::provenance::Provenance;
use serde::Deserialize;
use serde_json::Value;

use super::source::{Sources, entries, read_json};
use crate::charts::{Chart, FORMAT};
use crate::report::error::ReportError;

/// The remedy for a chart that cannot be read.
const REMEDY: &str = "draw it again with `sentinel plots`";

/// The JSON beside a chart.
#[derive(Debug, Deserialize)]
struct ChartFile {
    format: u32,
    #[serde(flatten)]
    chart: Chart,
    provenance: Provenance,
}

/// Returns `true` if the JSON is that of a chart.
pub(super) fn is_chart(value: &Value) -> bool {
    ["format", "name", "plot", "provenance"]
        .iter()
        .all(|key| value.get(key).is_some())
}

/// Returns `true` if a folder holds a chart: a JSON file with a picture of the same name.
pub(super) fn is_folder(folder: &Path) -> Result<bool, ReportError> {
    Ok(!files(folder)?.is_empty())
}

/// Returns the JSON files of a folder that have a picture beside them.
fn files(folder: &Path) -> Result<Vec<PathBuf>, ReportError> {
    let is_data = |path: &PathBuf| {
        path.extension().is_some_and(|ending| ending == "json")
            && path.with_extension("svg").is_file()
    };
    Ok(entries(folder)?.into_iter().filter(is_data).collect())
}

/// Reads all charts of a folder, or a single file.
///
/// # Errors
/// Returns an error if one cannot be read, is truncated or cannot be drawn.
pub(super) fn read(
    path: &Path,
    sources: &mut Sources,
) -> Result<Vec<(Chart, Provenance)>, ReportError> {
    let paths = if path.is_dir() {
        files(path)?
    } else {
        vec![path.to_owned()]
    };
    let mut charts = Vec::new();
    for path in paths {
        let file: ChartFile = read_json(&path, "a chart", REMEDY, sources)?;
        if file.format > FORMAT {
            return Err(ReportError::Format {
                path,
                found: file.format.into(),
                known: FORMAT,
            });
        }
        file.chart.validate()?;
        charts.push((file.chart, file.provenance));
    }
    Ok(charts)
}
