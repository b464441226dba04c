//! The options of `sentinel lm build-corpus`, and the counts of its profiles.

use std::fmt;
use std::path::PathBuf;

use sentinel_base::task_selection::shell_quote;
use sentinel_base::{Error, SeedRange, arg_parsers, seeds};
use sentinel_env::{WorldName, named_enum};
use sentinel_policy::text::PromptStyle;

use super::SourceName;
use super::network_access::redact_secrets;

/// The dataset that is read if `--with-hf` names none.
const DATASET: &str = "databricks/databricks-dolly-15k";
/// The API that is read if `--with-ddi-api` names none: the labels of openFDA that have a section
/// on interactions.
const DDI_API: &str =
    "https://api.fda.gov/drug/label.json?search=_exists_:drug_interactions&limit=100";
/// The server of dataset rows.
const HF_ENDPOINT: &str = "https://datasets-server.huggingface.co";
/// The first seed of synthetic rows.
const FIRST_SEED: u64 = 100_000;
/// The first seed of prompts for GRPO.
const FIRST_GRPO_SEED: u64 = 500_000;

named_enum! {
    /// The size of a corpus.
    #[derive(Default)]
    pub enum Profile {
        /// A corpus of about a thousand rows, for trials.
        #[default]
        Small = "small",
        /// A corpus of some ten thousands of rows, for training.
        Massive = "massive",
    }
}

/// The counts of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileCounts {
    /// Episodes of each task whose steps become rows.
    pub episodes: u64,
    /// Episodes of each task whose prompts are for GRPO.
    pub grpo_episodes: u64,
    /// Questions about each fact of a table, in other words.
    pub phrasings: usize,
    /// Questions about pairs that no table lists, per table.
    pub unlisted_pairs: usize,
    /// Rows that are read from a dataset.
    pub hf_rows: u64,
    /// Rows that are read from an API or the document in its place.
    pub ddi_rows: u64,
}

impl Profile {
    /// Returns the counts of the profile.
    #[must_use]
    pub const fn counts(self) -> ProfileCounts {
        match self {
            Self::Small => ProfileCounts {
                episodes: 4,
                grpo_episodes: 2,
                phrasings: 1,
                unlisted_pairs: 60,
                hf_rows: 200,
                ddi_rows: 200,
            },
            Self::Massive => ProfileCounts {
                episodes: 200,
                grpo_episodes: 50,
                phrasings: 3,
                unlisted_pairs: usize::MAX,
                hf_rows: 20_000,
                ddi_rows: 5_000,
            },
        }
    }
}

/// A license that the user names for a source, written `SOURCE=LICENSE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedLicense {
    source: SourceName,
    license: String,
}

impl fmt::Display for NamedLicense {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.source, self.license)
    }
}

/// The configuration of `sentinel lm build-corpus`.
#[derive(Clone, Debug, clap::Args)]
pub struct BuildConfig {
    /// The size of the corpus
    #[arg(long, value_name = "NAME", default_value_t, value_parser = arg_parsers::named_enum_parser::<Profile>())]
    pub profile: Profile,
    /// The folder to write: sft.jsonl, grpo_prompts.jsonl and summary.json
    #[arg(long, aliases = ["out-dir", "out"], value_name = "DIR")]
    pub output_dir: PathBuf,
    /// Overwrite an earlier corpus in --output-dir
    #[arg(long, alias = "force")]
    pub overwrite_output_dir: bool,

    /// Add questions about the tables of the worlds, which this program holds
    #[arg(long, help_heading = "Sources")]
    pub with_local: bool,
    /// Add steps of episodes that scripted policies play, and prompts for GRPO
    #[arg(long, help_heading = "Sources")]
    pub with_synthetic: bool,
    /// Add rows of a dataset of the Hugging Face Hub: NAME, NAME:CONFIG or NAME:CONFIG:SPLIT
    #[arg(long, help_heading = "Sources", value_name = "DATASET", num_args = 0..=1,
        default_missing_value = DATASET)]
    pub with_hf: Option<String>,
    /// Add rows of an API of drug interactions: openFDA's labels, or URL
    #[arg(long, help_heading = "Sources", value_name = "URL", num_args = 0..=1,
        default_missing_value = DDI_API)]
    pub with_ddi_api: Option<String>,
    /// Read this JSON document if the API fails or has no rows; it marks the corpus as a fallback
    #[arg(
        long,
        help_heading = "Sources",
        value_name = "URL",
        requires = "with_ddi_api"
    )]
    pub with_web_fallback: Option<String>,
    /// Build the corpus without a network source that fails, and say so in the summary
    #[arg(long, help_heading = "Sources")]
    pub skip_failed_sources: bool,

    /// Worlds of the synthetic episodes and the tables, separated by commas, or all
    #[arg(
        long,
        alias = "world",
        help_heading = "Episodes",
        value_name = "WORLDS",
        default_value = "polyguard"
    )]
    pub worlds: String,
    /// Seeds of each task for rows [default: 100000 and following]
    #[arg(long, help_heading = "Episodes", value_name = "A..B")]
    pub seeds: Option<SeedRange>,
    /// Seeds of each task for prompts of GRPO [default: 500000 and following]
    #[arg(long, help_heading = "Episodes", value_name = "A..B")]
    pub grpo_seeds: Option<SeedRange>,
    /// Prompt style of observations
    #[arg(long, help_heading = "Episodes", value_name = "STYLE", default_value_t,
        value_parser = arg_parsers::named_enum_parser::<PromptStyle>())]
    pub prompt: PromptStyle,

    /// The server of dataset rows
    #[arg(long, help_heading = "Network", value_name = "URL", default_value = HF_ENDPOINT)]
    pub hf_endpoint: String,
    /// The columns of question and answer, if the dataset names them in its own way
    #[arg(long, help_heading = "Network", value_name = "PROMPT,COMPLETION", requires = "with_hf",
        value_parser = parse_columns)]
    pub hf_columns: Option<(String, String)>,
    /// The most rows to read from each network source [default: that of the profile]
    #[arg(long, help_heading = "Network", value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..))]
    pub max_rows: Option<u64>,
    /// The license of a source that states none: hf=ID, ddi_api=ID or web_fallback=ID
    #[arg(long = "license", help_heading = "Network", value_name = "SOURCE=ID",
        value_parser = parse_license)]
    pub licenses: Vec<NamedLicense>,
}

fn parse_columns(text: &str) -> Result<(String, String), String> {
    match text.split_once(',') {
        Some((prompt, completion)) if !prompt.is_empty() && !completion.is_empty() => {
            Ok((prompt.to_owned(), completion.to_owned()))
        }
        _ => Err("write two columns, as in question,answer".to_owned()),
    }
}

fn parse_license(text: &str) -> Result<NamedLicense, String> {
    let known = [SourceName::Hf, SourceName::DdiApi, SourceName::WebFallback];
    let (name, license) = text.split_once('=').unwrap_or((text, ""));
    let source = SourceName::parse(&name.replace('-', "_")).filter(|name| known.contains(name));
    let source = source.ok_or("name hf, ddi_api or web_fallback before the license")?;
    if license.trim().is_empty() {
        return Err("write the license behind the source, as in hf=cc-by-4.0".to_owned());
    }
    Ok(NamedLicense {
        source,
        license: license.trim().to_owned(),
    })
}

impl BuildConfig {
    /// Returns a configuration with the defaults of the command line and without a source.
    #[must_use]
    pub fn new(output_dir: PathBuf) -> Self {
        Self {
            profile: Profile::default(),
            output_dir,
            overwrite_output_dir: false,
            with_local: false,
            with_synthetic: false,
            with_hf: None,
            with_ddi_api: None,
            with_web_fallback: None,
            skip_failed_sources: false,
            worlds: WorldName::Polyguard.name().to_owned(),
            seeds: None,
            grpo_seeds: None,
            prompt: PromptStyle::default(),
            hf_endpoint: HF_ENDPOINT.to_owned(),
            hf_columns: None,
            max_rows: None,
            licenses: Vec::new(),
        }
    }

    /// Returns the license that the user names for a source.
    #[must_use]
    pub fn license(&self, source: SourceName) -> Option<&str> {
        let mut named = self.licenses.iter().filter(|named| named.source == source);
        named.next().map(|named| named.license.as_str())
    }

    /// Returns the worlds, in the order of the command line.
    ///
    /// # Errors
    /// Returns an error if a world is unknown or named twice.
    pub fn worlds(&self) -> Result<Vec<WorldName>, Error> {
        if self.worlds == "all" {
            return Ok(WorldName::ALL.to_vec());
        }
        let worlds = arg_parsers::parse_list("world", &self.worlds, arg_parsers::parse_world);
        worlds.map_err(|reason| Error::argument("--worlds", reason))
    }

    /// Returns the seeds for rows and the seeds for prompts of GRPO.
    ///
    /// # Errors
    /// Returns an error if a seed is not for training, or both ranges have a seed in common.
    pub fn seed_ranges(&self) -> Result<(SeedRange, SeedRange), Error> {
        let counts = self.profile.counts();
        let usual = |start, count| SeedRange::new(start, start + count);
        let rows = self.seeds.unwrap_or(usual(FIRST_SEED, counts.episodes));
        let prompts = (self.grpo_seeds).unwrap_or(usual(FIRST_GRPO_SEED, counts.grpo_episodes));
        let allowed = seeds::TRAINING;
        for (option, range) in [("--seeds", rows), ("--grpo-seeds", prompts)] {
            if !allowed.contains(range) {
                let reason = format!(
                    "{range} are not all among {allowed}: other seeds are kept for validation and \
                     tests"
                );
                return Err(Error::argument(option, reason));
            }
        }
        if rows.overlaps(prompts) {
            let reason = format!("{prompts} and --seeds {rows} have seeds in common");
            return Err(Error::argument("--grpo-seeds", reason));
        }
        Ok((rows, prompts))
    }

    /// Returns the command line of this configuration, with `***` in place of secrets in
    /// addresses.
    #[must_use]
    pub fn command(&self) -> String {
        let mut words = vec![
            "sentinel lm build-corpus".to_owned(),
            format!("--profile {}", self.profile),
        ];
        let flags = [
            (self.with_local, "--with-local"),
            (self.with_synthetic, "--with-synthetic"),
            (self.skip_failed_sources, "--skip-failed-sources"),
        ];
        let set = flags.iter().filter(|(is_set, _)| *is_set);
        words.extend(set.map(|(_, flag)| (*flag).to_owned()));
        let text = |value: &dyn fmt::Display| Some(value.to_string());
        let address = |url: Option<&String>| url.map(|url| redact_secrets(url));
        let columns = self.hf_columns.as_ref().map(|(a, b)| format!("{a},{b}"));
        let values = [
            ("--output-dir", text(&self.output_dir.display())),
            ("--with-hf", self.with_hf.clone()),
            ("--with-ddi-api", address(self.with_ddi_api.as_ref())),
            (
                "--with-web-fallback",
                address(self.with_web_fallback.as_ref()),
            ),
            ("--worlds", text(&self.worlds)),
            ("--seeds", self.seeds.as_ref().and_then(|seeds| text(seeds))),
            (
                "--grpo-seeds",
                self.grpo_seeds.as_ref().and_then(|seeds| text(seeds)),
            ),
            ("--prompt", text(&self.prompt)),
            (
                "--hf-endpoint",
                address(Some(&self.hf_endpoint)).filter(|_| self.with_hf.is_some()),
            ),
            ("--hf-columns", columns),
            ("--max-rows", self.max_rows.map(|rows| rows.to_string())),
        ];
        let licenses = self.licenses.iter().map(|named| ("--license", text(named)));
        words.extend(
            values
                .into_iter()
                .chain(licenses)
                .filter_map(|(option, value)| {
                    let value = value?;
                    Some(format!("{option} {}", shell_quote(&value)))
                }),
        );
        words.join(" ")
    }
}
