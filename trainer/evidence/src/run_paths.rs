//! The folders of a run: its reports and its checkpoints, of a sweep or at the top level.

use std::path::{Path, PathBuf};

use sentinel_base::Error;

/// The default folder of reports.
pub const REPORTS_DIR: &str = "outputs/reports";
/// The default folder of checkpoints.
pub const CHECKPOINTS_DIR: &str = "checkpoints";
/// The folder of a sweep's runs, in both folders.
pub const SWEEPS_DIR: &str = "sweeps";
/// The default folder of committed results.
pub const RESULTS_DIR: &str = "docs/results";

/// The options that name the folders of a run.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
pub struct RunPathArgs {
    /// The run of a sweep; without it, the reports and checkpoints at the top level
    #[arg(long, alias = "run-id", value_name = "RUN")]
    pub run: Option<String>,
    /// Folder that holds the reports
    #[arg(long, value_name = "DIR", default_value = REPORTS_DIR)]
    pub reports_dir: PathBuf,
    /// Folder that holds the checkpoints
    #[arg(long, value_name = "DIR", default_value = CHECKPOINTS_DIR)]
    pub checkpoints_dir: PathBuf,
}

impl RunPathArgs {
    /// Returns the folders that the options name.
    ///
    /// # Errors
    /// Returns an error if `--run` is not the id of a run.
    pub fn paths(&self) -> Result<RunPaths, Error> {
        match &self.run {
            Some(run) => RunPaths::for_sweep(&self.reports_dir, &self.checkpoints_dir, run),
            None => Ok(RunPaths::top_level(
                &self.reports_dir,
                &self.checkpoints_dir,
            )),
        }
    }
}

/// The folders of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPaths {
    /// The id of the run; `None` for that at the top level.
    pub run: Option<String>,
    /// The folder of its reports.
    pub reports: PathBuf,
    /// The folder of its checkpoints.
    pub checkpoints: PathBuf,
}

impl RunPaths {
    /// Returns the folders of the run at the top level.
    #[must_use]
    pub fn top_level(reports: &Path, checkpoints: &Path) -> Self {
        Self {
            run: None,
            reports: reports.to_owned(),
            checkpoints: checkpoints.to_owned(),
        }
    }

    /// Returns the folders of a run of a sweep: `sweeps/RUN` in both folders.
    ///
    /// # Errors
    /// Returns an error if `run` is not an id, such as a path that leaves the folder.
    pub fn for_sweep(reports: &Path, checkpoints: &Path, run: &str) -> Result<Self, Error> {
        if run.is_empty() || slug(run) != run {
            let reason = format!(
                "{run:?} is not the id of a run, which has lower-case letters, digits and `-`"
            );
            return Err(Error::argument("--run", reason));
        }
        Ok(Self {
            run: Some(run.to_owned()),
            reports: reports.join(SWEEPS_DIR).join(run),
            checkpoints: checkpoints.join(SWEEPS_DIR).join(run),
        })
    }

    /// Returns the options that name this run on a command line, for remedies.
    #[must_use]
    pub fn options(&self) -> String {
        match &self.run {
            Some(run) => format!(" --run {run}"),
            None => String::new(),
        }
    }

    /// Returns the path of a report.
    #[must_use]
    pub fn report(&self, name: &str) -> PathBuf {
        self.reports.join(name)
    }
}

/// Returns the id of a run of a model: lower-case letters and digits, with `-` in place of
/// everything else.
#[must_use]
pub fn slug(name: &str) -> String {
    let mut slug = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_slugs_match_reference() {
        assert_eq!(
            slug("Qwen/Qwen2.5-0.5B-Instruct"),
            "qwen-qwen2-5-0-5b-instruct"
        );
        assert_eq!(slug("../tiny//x/"), "tiny-x");
    }

    #[test]
    fn invalid_run_ids_are_refused() {
        let of = |run| RunPaths::for_sweep(Path::new("r"), Path::new("c"), run);
        assert!(of("tiny").is_ok_and(|paths| paths.reports == Path::new("r/sweeps/tiny")));
        for run in ["", "../x", "a/b", "A", "-a"] {
            assert!(of(run).is_err(), "{run}");
        }
    }
}
