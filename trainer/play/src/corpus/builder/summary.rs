//! The summary of a corpus: what each source gave, and where it comes from.

use std::collections::BTreeMap;
use std::fmt;

use sentinel_base::SeedRange;
use sentinel_base::provenance::Provenance;
use serde::Serialize;

use super::{SourceName, SourceReport, SourceStatus};

/// The version of the form of `summary.json`.
pub(super) const FORMAT: u32 = 1;

/// A file of the corpus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CorpusFile {
    /// The name in the folder.
    pub file: &'static str,
    /// The number of rows.
    pub rows: u64,
    /// The SHA-256 of the file.
    pub sha256: String,
}

/// The content of `summary.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The version of this form.
    pub format: u32,
    /// The name of the profile.
    pub profile: &'static str,
    /// The worlds of tables and episodes.
    pub worlds: Vec<&'static str>,
    /// The seeds of rows.
    pub seeds: SeedRange,
    /// The seeds of prompts for GRPO.
    pub grpo_seeds: SeedRange,
    /// The file of rows for SFT.
    pub sft: CorpusFile,
    /// The file of prompts for GRPO.
    pub grpo_prompts: CorpusFile,
    /// The sources of the rows for SFT, by name; each is there, whether it was used or not.
    pub sources: BTreeMap<SourceName, SourceReport>,
    /// The source of the prompts for GRPO.
    pub prompts: SourceReport,
    /// The number of rows for SFT by license.
    pub licenses: BTreeMap<String, u64>,
    /// The number of refused rows of all sources.
    pub refused: u64,
    /// The number of duplicates of all sources.
    pub duplicates: u64,
    /// The program, the tables and the fallbacks.
    pub provenance: Provenance,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} rows, {} prompts for GRPO",
            self.sft.rows, self.grpo_prompts.rows
        )?;
        let named = self
            .sources
            .iter()
            .map(|(name, report)| (name.name(), report));
        for (name, report) in named.chain([("grpo prompts", &self.prompts)]) {
            write!(f, "  {name:<13} ")?;
            match report.status {
                SourceStatus::Used => {
                    write!(f, "{} of {} rows", report.rows, report.read)?;
                    let losses = report.describe_dropped_rows();
                    if !losses.is_empty() {
                        write!(f, " ({losses})")?;
                    }
                }
                SourceStatus::Skipped => f.write_str("skipped")?,
                SourceStatus::NotRequested => f.write_str("not requested")?,
            }
            match &report.reason {
                Some(reason) => writeln!(f, ": {reason}")?,
                None => writeln!(f)?,
            }
        }
        for fallback in &self.provenance.fallbacks {
            writeln!(f, "  {fallback}")?;
        }
        Ok(())
    }
}
