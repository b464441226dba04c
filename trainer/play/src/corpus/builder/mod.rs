//! `sentinel lm build-corpus`: a corpus from several sources, with the provenance and the license
//! of every row.
//!
//! ```text
//! tables ─ episodes ─ dataset ─ API or document   the sources, each with its rows
//!                      ↓
//!                  Collector                      refuses what is held out, removes duplicates
//!                      ↓
//! sft.jsonl   grpo_prompts.jsonl   summary.json   written as a whole
//! ```
//!
//! Sources of the network are used only if they are requested. A source that fails stops the build,
//! unless `--skip-failed-sources` allows to go on; the summary names every source with its counts
//! or the reason why it is not used. The same sources give the same files, whatever the order in
//! which rows arrive.

mod collect;
mod config;
mod error;
mod holdout;
mod hub_dataset;
mod interactions;
mod network_access;
mod output;
mod row;
mod summary;
mod synthetic;
#[cfg(test)]
mod tests;
mod world_tables;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use sentinel_env::WorldName;

pub use collect::{Duplicates, Refusal, SourceReport, SourceStatus};
pub use config::{BuildConfig, NamedLicense, Profile, ProfileCounts};
pub use error::{BuildError, SourceError};
pub use holdout::{HoldoutFilter, HoldoutMatch};
pub use network_access::NetworkAccess;
pub use row::{CorpusRow, Message, RowOrigin, SourceName, StepOrigin};
pub use summary::{CorpusFile, Summary};

use sentinel_base::provenance::Provenance;
use sentinel_base::{Error, Progress};

use collect::{Collector, FetchedRows};
use network_access::redact_secrets;
use synthetic::Content;

/// The state of a build.
struct Builder<'a> {
    config: &'a BuildConfig,
    network: &'a NetworkAccess,
    stop: &'a AtomicBool,
    progress: Progress<'a>,
    worlds: Vec<WorldName>,
    rows: Collector,
    sources: BTreeMap<SourceName, SourceReport>,
    provenance: Provenance,
}

/// Builds a corpus and returns its summary. Nothing is written unless the corpus is complete.
/// `stop` ends the build.
///
/// # Errors
/// Returns an error if an option is invalid, no source was chosen, a source fails, no row is left,
/// or the folder is occupied or cannot be written.
pub fn build(
    config: &BuildConfig,
    network: &NetworkAccess,
    stop: &AtomicBool,
    progress: Progress<'_>,
) -> Result<Summary, BuildError> {
    let is_local = config.with_local || config.with_synthetic;
    if !is_local && config.with_hf.is_none() && config.with_ddi_api.is_none() {
        return Err(BuildError::NoSource);
    }
    output::check_output_folder(&config.output_dir, config.overwrite_output_dir)?;
    let (seeds, grpo_seeds) = config.seed_ranges()?;
    let mut builder = Builder {
        config,
        network,
        stop,
        progress,
        worlds: config.worlds()?,
        rows: Collector::default(),
        sources: BTreeMap::new(),
        provenance: Provenance::new(),
    };
    builder.provenance.command = Some(config.command());
    builder.add_local()?;
    builder.add_synthetic()?;
    builder.add_hf()?;
    builder.add_interactions()?;
    let (prompts, prompt_lines) = builder.prompts()?;
    builder.check_stop()?;
    builder.check_not_empty()?;
    let Builder {
        rows,
        sources,
        provenance,
        worlds,
        ..
    } = builder;
    let mut licenses = BTreeMap::new();
    for (license, count) in sources.values().flat_map(|report| &report.licenses) {
        *licenses.entry(license.clone()).or_default() += count;
    }
    let all = || sources.values().chain([&prompts]);
    let summary = Summary {
        format: summary::FORMAT,
        profile: config.profile.name(),
        worlds: worlds.iter().map(|world| world.name()).collect(),
        seeds,
        grpo_seeds,
        sft: output::describe_file(output::SFT_FILE, &rows.lines),
        grpo_prompts: output::describe_file(output::GRPO_PROMPTS_FILE, &prompt_lines),
        licenses,
        refused: all().flat_map(|report| report.refused.values()).sum(),
        duplicates: all()
            .map(|report| report.duplicates.exact + report.duplicates.normalized)
            .sum(),
        sources,
        prompts,
        provenance,
    };
    output::write(&config.output_dir, &rows.lines, &prompt_lines, &summary)?;
    Ok(summary)
}

impl Builder<'_> {
    fn check_stop(&self) -> Result<(), BuildError> {
        if self.stop.load(Ordering::Relaxed) {
            Err(BuildError::Interrupted)
        } else {
            Ok(())
        }
    }

    /// Adds rows to the corpus and their source to the summary.
    fn add(
        &mut self,
        source: SourceName,
        from: Option<String>,
        fetched: FetchedRows,
    ) -> Result<(), BuildError> {
        self.check_stop()?;
        let mut report = self.rows.add(source, fetched).map_err(Error::from)?;
        report.from = from;
        self.sources.insert(source, report);
        Ok(())
    }

    fn skip(&mut self, source: SourceName, reason: impl Into<String>) {
        let report = SourceReport::skipped(reason);
        self.sources.insert(source, report);
    }

    fn leave_out(&mut self, source: SourceName, option: &str) {
        let report = SourceReport::not_requested(option);
        self.sources.insert(source, report);
    }

    /// Ends the build, or counts the source as skipped if the user allows that.
    fn failed(&mut self, name: SourceName, error: SourceError) -> Result<(), BuildError> {
        if error.is_interrupted() {
            return Err(BuildError::Interrupted);
        }
        if !self.config.skip_failed_sources {
            return Err(BuildError::Source { name, error });
        }
        self.skip(name, error.to_string());
        Ok(())
    }

    fn add_local(&mut self) -> Result<(), BuildError> {
        if !self.config.with_local {
            self.leave_out(SourceName::Local, "--with-local");
            return Ok(());
        }
        let made = world_tables::table_rows(&self.worlds, self.config.profile.counts());
        if made.rows.is_empty() {
            let worlds: Vec<&str> = self.worlds.iter().map(|world| world.name()).collect();
            let reason = format!("{} has no tables", worlds.join(" or "));
            self.skip(SourceName::Local, reason);
            return Ok(());
        }
        let tables: Vec<&str> = made.tables.keys().map(String::as_str).collect();
        let from = tables.join(", ");
        self.provenance.inputs.extend(made.tables);
        self.add(SourceName::Local, Some(from), FetchedRows::from(made.rows))
    }

    /// Plays episodes; `None` if that was not requested.
    fn play(&self, content: Content) -> Result<Option<FetchedRows>, BuildError> {
        if !self.config.with_synthetic {
            return Ok(None);
        }
        let (rows, prompts) = self.config.seed_ranges()?;
        let plan = synthetic::Plan {
            seeds: match content {
                Content::Demonstration => rows,
                Content::Prompt => prompts,
            },
            style: self.config.prompt,
            content,
            stop: self.stop,
        };
        let played = plan.play(&self.worlds, self.progress)?;
        self.check_stop()?;
        Ok(Some(FetchedRows::from(played)))
    }

    fn add_synthetic(&mut self) -> Result<(), BuildError> {
        match self.play(Content::Demonstration)? {
            Some(played) => {
                let (seeds, _) = self.config.seed_ranges()?;
                let from = format!("scripted policies, seeds {seeds} of each task");
                self.add(SourceName::Synthetic, Some(from), played)
            }
            None => {
                self.leave_out(SourceName::Synthetic, "--with-synthetic");
                Ok(())
            }
        }
    }

    /// Returns the prompts for GRPO.
    fn prompts(&self) -> Result<(SourceReport, Vec<String>), BuildError> {
        let Some(played) = self.play(Content::Prompt)? else {
            let report = SourceReport::not_requested("--with-synthetic");
            return Ok((report, Vec::new()));
        };
        let mut prompts = Collector::default();
        let mut report = prompts
            .add(SourceName::Synthetic, played)
            .map_err(Error::from)?;
        let (_, seeds) = self.config.seed_ranges()?;
        report.from = Some(format!("scripted policies, seeds {seeds} of each task"));
        Ok((report, prompts.lines))
    }

    fn check_online(&self) -> Result<(), SourceError> {
        if self.network.is_offline {
            Err(SourceError::Offline)
        } else {
            Ok(())
        }
    }

    fn add_hf(&mut self) -> Result<(), BuildError> {
        let Some(dataset) = &self.config.with_hf else {
            self.leave_out(SourceName::Hf, "--with-hf");
            return Ok(());
        };
        let limit = self
            .config
            .max_rows
            .unwrap_or(self.config.profile.counts().hf_rows);
        let fetched = self
            .check_online()
            .and_then(|()| hub_dataset::fetch(self.config, dataset, limit, self.network));
        match fetched {
            Ok(fetched) => self.add(SourceName::Hf, Some(dataset.clone()), fetched),
            Err(error) => self.failed(SourceName::Hf, error),
        }
    }

    /// Reads the API of drug interactions, or the document in its place.
    fn add_interactions(&mut self) -> Result<(), BuildError> {
        let config = self.config;
        let Some(api) = &config.with_ddi_api else {
            self.leave_out(SourceName::DdiApi, "--with-ddi-api");
            self.leave_out(SourceName::WebFallback, "--with-web-fallback");
            return Ok(());
        };
        let limit = config.max_rows.unwrap_or(config.profile.counts().ddi_rows);
        let license = config.license(SourceName::DdiApi);
        let fetched = self
            .check_online()
            .and_then(|()| interactions::fetch_api(api, license, limit, self.network));
        let error = match fetched {
            Ok(fetched) => {
                match &config.with_web_fallback {
                    Some(_) => self.skip(SourceName::WebFallback, "the API answered"),
                    None => self.leave_out(SourceName::WebFallback, "--with-web-fallback"),
                }
                return self.add(SourceName::DdiApi, Some(redact_secrets(api)), fetched);
            }
            Err(error) if error.is_interrupted() => return Err(BuildError::Interrupted),
            Err(error) => error,
        };
        let Some(url) = &config.with_web_fallback else {
            self.leave_out(SourceName::WebFallback, "--with-web-fallback");
            return self.failed(SourceName::DdiApi, error);
        };
        let license = config.license(SourceName::WebFallback);
        let fetched = self
            .check_online()
            .and_then(|()| interactions::fetch_document(url, license, limit, self.network));
        match fetched {
            Ok(fetched) => {
                let (api, url) = (redact_secrets(api), redact_secrets(url));
                self.skip(SourceName::DdiApi, error.to_string());
                self.add(SourceName::WebFallback, Some(url.clone()), fetched)?;
                if let Some(report) = self.sources.get_mut(&SourceName::WebFallback)
                    && report.status == SourceStatus::Used
                {
                    report.reason = Some(format!("in place of {api}: {error}"));
                    let what = format!("rows of {url} in place of {api}: {error}");
                    self.provenance.add_fallback("corpus", what);
                }
                Ok(())
            }
            Err(document) => {
                let both = SourceError::Both {
                    api: Box::new(error),
                    document: Box::new(document),
                };
                self.skip(SourceName::WebFallback, "it failed as the API did");
                self.failed(SourceName::DdiApi, both)
            }
        }
    }

    /// Refuses a corpus without rows, and tells what happened to those that were read.
    fn check_not_empty(&self) -> Result<(), BuildError> {
        if !self.rows.lines.is_empty() {
            return Ok(());
        }
        let requested = (self.sources.iter())
            .filter(|(_, report)| report.status != SourceStatus::NotRequested)
            .map(|(name, report)| {
                let reason = report.reason.as_deref().unwrap_or_default();
                format!("{name}: {reason}")
            });
        Err(BuildError::Empty {
            path: self.config.output_dir.join(output::SFT_FILE),
            reason: requested.collect::<Vec<_>>().join("; "),
        })
    }
}
