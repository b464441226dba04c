//! The description of a job, as the Hub takes it.

use std::collections::BTreeMap;

use sentinel_http::{HF_TOKEN, Token};
use serde::Serialize;
use serde_json::{Value, json};

use super::commands::{MissingOption, job_commands};
use super::{JobConfig, JobMode};
use crate::{HubError, Repo, RepoType};

/// An image with `nvidia-smi` from the machine's driver.
const GPU_IMAGE: &str = "nvidia/cuda:12.8.1-base-ubuntu24.04";
/// An image with the CUDA toolkit, for a job that builds the program.
const BUILD_IMAGE: &str = "nvidia/cuda:12.8.1-devel-ubuntu24.04";
/// The tag of the image that docs/how-to/hugging-face.md builds.
const OWN_IMAGE: &str = "sentinel-cuda";
/// Prefixes of an image that is a Space.
const SPACES: [&str; 4] = [
    "https://huggingface.co/spaces/",
    "https://hf.co/spaces/",
    "huggingface.co/spaces/",
    "hf.co/spaces/",
];
/// The variables with the repositories of `train-full`.
const MODEL_REPO: &str = "SENTINEL_MODEL_REPO";
const ARTIFACT_REPO: &str = "SENTINEL_ARTIFACT_REPO";

/// A job before its submission. As JSON it names its secrets and does not hold them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobSpec {
    /// The name of the mode.
    pub mode: &'static str,
    /// The user or organization that pays; `None` for the token's user.
    pub namespace: Option<String>,
    /// The image of the container.
    pub image: String,
    /// The name of the machine.
    pub flavor: String,
    /// The time limit in seconds.
    pub timeout_seconds: u64,
    /// The command of the container.
    pub command: Vec<String>,
    /// The environment variables of the container.
    pub environment: BTreeMap<String, String>,
    /// The names of the environment variables with secrets.
    pub secrets: Vec<&'static str>,
    /// The labels of the job.
    pub labels: BTreeMap<String, String>,
    /// The options that the job still needs; without them it is not submitted.
    pub missing: Vec<MissingOption>,
}

impl JobSpec {
    /// Describes a job. `variable` maps names of environment variables to values.
    ///
    /// # Errors
    /// Returns an error if an option has an invalid value.
    pub fn new(
        config: &JobConfig,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, HubError> {
        check(config)?;
        let namespace = option_or_variable(&config.namespace, "HF_NAMESPACE", &variable);
        if let Some(name) = &namespace {
            check_word("--namespace", name)?;
        }
        let mut missing = Vec::new();
        let environment = output_repositories(config, &variable, &mut missing)?;
        let usual_image = match (config.mode, &config.repo_url) {
            (JobMode::GpuTest, _) => GPU_IMAGE,
            (_, Some(_)) => BUILD_IMAGE,
            (_, None) => OWN_IMAGE,
        };
        if usual_image == OWN_IMAGE && config.image.is_none() {
            missing.push(
                "--image must name an image with sentinel (docker/Dockerfile makes one), or --repo-url \
                 the git repository to build it from"
                    .to_owned(),
            );
        }
        let name = format!("sentinel-{}", config.mode.name());
        Ok(Self {
            mode: config.mode.name(),
            namespace,
            image: config
                .image
                .clone()
                .unwrap_or_else(|| usual_image.to_owned()),
            flavor: config.flavor.clone(),
            timeout_seconds: seconds(&config.timeout)?,
            command: ["bash", "-c", &job_commands(config).join(" && ")]
                .map(str::to_owned)
                .to_vec(),
            environment,
            secrets: Some(HF_TOKEN)
                .filter(|_| config.mode.trains())
                .into_iter()
                .collect(),
            labels: BTreeMap::from([("name".to_owned(), name)]),
            missing,
        })
    }

    /// Returns the body of the request. It holds the token if the job needs it.
    pub(super) fn body(&self, token: &Token) -> Value {
        let mut body = json!({
            "command": self.command,
            "arguments": [],
            "environment": self.environment,
            "flavor": self.flavor,
            "timeoutSeconds": self.timeout_seconds,
            "labels": self.labels,
        });
        if !self.secrets.is_empty() {
            let secrets = self.secrets.iter().map(|name| (*name, token.secret()));
            body["secrets"] = json!(secrets.collect::<BTreeMap<_, _>>());
        }
        let space = SPACES
            .iter()
            .find_map(|prefix| self.image.strip_prefix(prefix));
        match space {
            Some(space) => body["spaceId"] = space.into(),
            None => body["dockerImage"] = self.image.as_str().into(),
        }
        body
    }
}

/// Returns the value of an option or, without it, that of the environment variable `name`; `None` if
/// both are missing or empty.
fn option_or_variable(
    given: &Option<String>,
    name: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let set = || variable(name).map(|value| value.trim().to_owned());
    given.clone().or_else(set).filter(|value| !value.is_empty())
}

/// Returns the environment variables that name the repositories of a full training; adds an entry to
/// `missing` for each repository that is not named.
fn output_repositories(
    config: &JobConfig,
    variable: impl Fn(&str) -> Option<String>,
    missing: &mut Vec<MissingOption>,
) -> Result<BTreeMap<String, String>, HubError> {
    let mut environment = BTreeMap::new();
    if config.mode != JobMode::TrainFull {
        return Ok(environment);
    }
    let training = &config.training;
    for (option, name, given, kind) in [
        (
            "--model-repo",
            MODEL_REPO,
            &training.model_repo,
            RepoType::Model,
        ),
        (
            "--artifact-repo",
            ARTIFACT_REPO,
            &training.artifact_repo,
            RepoType::Dataset,
        ),
    ] {
        match option_or_variable(given, name, &variable) {
            None => missing.push(format!("{option} or {name} must name a repository")),
            Some(id) => {
                let repo = Repo::new(kind, &id)?;
                environment.insert(name.to_owned(), repo.id().to_owned());
            }
        }
    }
    Ok(environment)
}

/// Checks the options that no other part checks.
fn check(config: &JobConfig) -> Result<(), HubError> {
    check_word("--flavor", &config.flavor)?;
    let t = &config.training;
    let counts = [
        ("--episodes", t.episodes, 1),
        ("--num-train-epochs", t.num_train_epochs as u64, 1),
        (
            "--per-device-train-batch-size",
            t.per_device_train_batch_size as u64,
            1,
        ),
        ("--lora-r", t.lora_r as u64, 1),
        ("--num-generations", t.num_generations as u64, 2),
        ("--max-length", t.max_length as u64, 193),
    ];
    for (option, value, least) in counts {
        if value < least {
            let reason = format!("{value} is less than {least}");
            return Err(HubError::Argument { option, reason });
        }
    }
    if !(t.learning_rate.is_finite() && t.learning_rate > 0.0) {
        return Err(HubError::Argument {
            option: "--learning-rate",
            reason: "use a number above 0".to_owned(),
        });
    }
    Ok(())
}

/// Checks that a value is a name.
fn check_word(option: &'static str, word: &str) -> Result<(), HubError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with('.') {
        return Ok(());
    }
    let reason = format!("{word:?} is not a name of letters, digits and dashes");
    Err(HubError::Argument { option, reason })
}

/// Parses a time such as `90s`, `45m`, `1.5h` or `1d`; without a unit it is in seconds.
fn seconds(text: &str) -> Result<u64, HubError> {
    let (number, factor) = match text.char_indices().last() {
        Some((at, 's')) => (&text[..at], 1.0),
        Some((at, 'm')) => (&text[..at], 60.0),
        Some((at, 'h')) => (&text[..at], 3600.0),
        Some((at, 'd')) => (&text[..at], 86_400.0),
        _ => (text, 1.0),
    };
    let number: Option<f64> = number.parse().ok();
    let time = number.map(|number| (number * factor).round());
    match time.filter(|time| (1.0..=31_536_000.0).contains(time)) {
        Some(time) => Ok(time as u64),
        None => Err(HubError::Argument {
            option: "--timeout",
            reason: format!("{text:?} is not a time such as 90s, 45m, 2h or 1d, up to 365d"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_timeout_parses_units() -> Result<(), HubError> {
        for (text, expected) in [
            ("90", 90),
            ("90s", 90),
            ("45m", 2700),
            ("1.5h", 5400),
            ("2h", 7200),
            ("1d", 86_400),
        ] {
            assert_eq!(seconds(text)?, expected, "{text}");
        }
        for text in [
            "", "h", "-1h", "0", "2w", "inf", "nan", "1e9d", "2 h x", "ü",
        ] {
            assert!(seconds(text).is_err(), "{text}");
        }
        Ok(())
    }
}
