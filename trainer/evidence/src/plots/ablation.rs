//! The chart of policies that were trained without a feature.

use std::path::{Path, PathBuf};

use sentinel_base::interval::mean_and_half_width;
use serde::Deserialize;

use super::eval_file::EvalFile;
use super::sourced_chart::{SourcedChart, provenance_of};
use crate::charts::{Axis, BarRow, Chart, Estimate, Plot, palette};
use crate::input::{EvidenceError, InputKind, json_files};

/// The policy that is compared.
const TRAINED: &str = "trained";
/// The kind of file that lists the evaluations.
const KIND: InputKind = InputKind {
    what: "a list of evaluations of policies that were trained without a feature",
    command: "sentinel train --features no_history --output-dir DIR, then sentinel eval \
        --policies trained --model DIR --out outputs/ablation/eval_no_history.json",
};

/// A file that lists evaluations. Paths are relative to its folder.
#[derive(Deserialize)]
struct AblationList {
    variants: Vec<Variant>,
}

/// An evaluation with the name of what was left out.
#[derive(Deserialize)]
struct Variant {
    label: String,
    eval: PathBuf,
}

/// Draws the mean score of each trained policy.
pub(super) fn ablation(path: &Path) -> Result<SourcedChart, EvidenceError> {
    let mut files = Vec::new();
    for variant in variants(path)? {
        files.push((variant.label, EvalFile::load(&variant.eval)?));
    }
    for (_, file) in &files {
        check(file, &files[0].1)?;
    }
    let rows = files.iter().map(|(label, file)| {
        let scores: Vec<f64> = file.rows(TRAINED, None).map(|row| row.score).collect();
        let (mean, half_width) = mean_and_half_width(&scores);
        BarRow {
            label: label.clone(),
            color: Some(palette::BLUE.to_owned()),
            estimate: half_width.map_or(Estimate::exact(mean), |half| {
                Estimate::with_half_width(mean, half)
            }),
        }
    });
    let played = files[0].1.describe_episodes();
    let chart = Chart {
        name: "ablation".to_owned(),
        title: "Score of policies trained without a feature".to_owned(),
        subtitle: Some(format!("{played}; whiskers: 95 % intervals")),
        description: "A bar for each training run: the mean score of the trained policy over all \
            tasks and seeds, with its 95 % interval. The name of a bar says what the policy was \
            trained without."
            .to_owned(),
        x: Axis::new("mean score"),
        y: Axis::default(),
        plot: Plot::HorizontalBars {
            rows: rows.collect(),
        },
    };
    let sources = files
        .iter()
        .map(|(_, file)| (&*file.path, file.provenance()));
    Ok(SourcedChart {
        chart,
        provenance: provenance_of(sources)?,
    })
}

/// Checks that a model played, without fallbacks, and the same episodes as in `first`.
fn check(file: &EvalFile, first: &EvalFile) -> Result<(), EvidenceError> {
    let path = file.path.display();
    let model = file
        .sentinel
        .as_ref()
        .and_then(|origin| origin.model.as_ref());
    let is_fallback = file.provenance().is_some_and(|found| found.is_fallback());
    if model.is_none() || is_fallback || file.rows(TRAINED, None).next().is_none() {
        return Err(EvidenceError::Unfit(format!(
            "{path} is not an evaluation of a trained model alone: an ablation needs \
             `sentinel eval --policies trained --model DIR` of a model without fallbacks"
        )));
    }
    let episodes = |file: &EvalFile| -> Vec<(String, u64)> {
        let rows = file.rows(TRAINED, None);
        rows.map(|row| (row.task_type.clone(), row.seed)).collect()
    };
    if file.world() != first.world() || episodes(file) != episodes(first) {
        return Err(EvidenceError::Unfit(format!(
            "{path} and {} were not played on the same episodes: evaluate both with the same \
             options",
            first.path.display()
        )));
    }
    Ok(())
}

/// Returns the evaluations of a folder by name, or those that a file lists.
fn variants(path: &Path) -> Result<Vec<Variant>, EvidenceError> {
    let variants = if path.is_dir() {
        let named = |eval: PathBuf| {
            let stem = eval
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned());
            let stem = stem.unwrap_or_default();
            let label = stem.trim_start_matches("eval_").replace('_', " ");
            Variant { label, eval }
        };
        json_files(path, "")?.into_iter().map(named).collect()
    } else {
        let folder = sentinel_base::files::parent_folder(path);
        let mut list: AblationList = KIND.read(path)?;
        for variant in &mut list.variants {
            variant.eval = folder.join(&variant.eval);
        }
        list.variants
    };
    if variants.is_empty() {
        return Err(EvidenceError::NoEpisodes {
            path: path.to_owned(),
            command: KIND.command,
        });
    }
    Ok(variants)
}
