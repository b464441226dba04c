//! The comparison of a saved artifact's log-probabilities with those of training.
//!
//! The last update of GRPO logs the tokens of its completions with their log-probabilities under the
//! model that the run ends with; they are computed again in the number formats of the run. Where there
//! are none, the completions of the check itself are
//! computed in two ways: by base model and adapter, and by the merged weights.

use std::path::{Path, PathBuf};

use sentinel_base::Error;
use sentinel_base::precision::Precision;
use sentinel_evidence::artifact::{Artifact, ArtifactKind};
use sentinel_evidence::json_file::{self, report_error};
use sentinel_evidence::postsave::{Compared, LogProbDifference, logprob_tolerance};
use sentinel_evidence::run_paths::RunPaths;
use sentinel_language::agent::{Generation, LoadedModel};
use sentinel_language::grpo::{Objective, Sample, completion_logps};
use sentinel_language::training::{LoggedTokens, RunError};
use sentinel_lm::{CausalLm, ForwardOptions, Lora};
use sentinel_rl::config::LossConfig;
use sentinel_run::TRAINER_STATE_FILE;
use sentinel_run::distributed::ProcessGroup;
use serde::Deserialize;
use serde_json::Value;

use super::artifact_episode_args::ArtifactEpisodes;

/// The number of completions in a batch.
const MICRO: usize = 8;

/// Compares log-probabilities; `None` if there are no tokens.
///
/// # Errors
/// If the log of completions cannot be read, or the model cannot be run.
pub(super) fn compare(
    paths: &RunPaths,
    play: &ArtifactEpisodes,
    artifact: &Artifact,
    loaded: &LoadedModel,
    generations: &[Generation],
) -> Result<Option<LogProbDifference>, RunError> {
    let (model, pad) = (loaded.model(), loaded.pad_token());
    if artifact.kind == ArtifactKind::GrpoAdapter {
        let logged = logged(&artifact.path)?;
        if let Some(training) = play.training.as_ref().filter(|_| !logged.is_empty()) {
            let precision = training.run.precision;
            let mut model = model.clone();
            model.lower_precision(precision)?;
            let samples = logged
                .iter()
                .map(|row| sample(&row.prompt_ids, &row.completion_ids));
            let samples = samples.collect::<Vec<_>>();
            let now = logps(&model, &samples, training.temperature, pad)?;
            let then: Vec<Vec<f64>> = logged.into_iter().map(|row| row.logps).collect();
            let tolerance = logprob_tolerance(precision);
            return difference(&artifact.path, Compared::Training, tolerance, &now, &then);
        }
    }
    let samples: Vec<Sample> = generations
        .iter()
        .map(|one| sample(&one.prompt, &one.completion.ids))
        .collect();
    let now = logps(model, &samples, 1.0, pad)?;
    let others = if artifact.kind == ArtifactKind::Merged {
        // Without the adapter there is nothing that the merged weights could be compared with.
        let Ok((_, other)) = play.load(paths, ArtifactKind::SftAdapter) else {
            return Ok(None);
        };
        logps(other.model(), &samples, 1.0, pad)?
    } else {
        logps(&Lora::merged(model), &samples, 1.0, pad)?
    };
    difference(
        &artifact.path,
        Compared::MergedAndAdapter,
        logprob_tolerance(Precision::F32),
        &now,
        &others,
    )
}

fn sample(prompt: &[u32], completion: &[u32]) -> Sample {
    Sample {
        prompt: prompt.to_vec(),
        completion: completion.to_vec(),
        ..Sample::default()
    }
}

/// Returns the log-probabilities of all tokens of completions, as a training pass computes them.
fn logps(
    model: &CausalLm,
    samples: &[Sample],
    temperature: f64,
    pad: u32,
) -> Result<Vec<Vec<f64>>, RunError> {
    let objective = Objective {
        loss: LossConfig::default(),
        temperature,
        num_items: 0.0,
        pad,
    };
    let rows: Vec<&Sample> = samples
        .iter()
        .filter(|one| !one.completion.is_empty())
        .collect();
    Ok(completion_logps(
        model,
        &rows,
        MICRO,
        &objective,
        ForwardOptions::EVALUATION,
        &ProcessGroup::default(),
    )?)
}

fn difference(
    folder: &Path,
    compared_with: Compared,
    tolerance: f64,
    now: &[Vec<f64>],
    then: &[Vec<f64>],
) -> Result<Option<LogProbDifference>, RunError> {
    let lengths = |all: &[Vec<f64>]| all.iter().map(Vec::len).collect::<Vec<_>>();
    if lengths(now) != lengths(then) {
        let reason = "the log of its completions has another number of tokens";
        return Err(report_error(folder, reason, RETRAIN).into());
    }
    let pairs = now.iter().flatten().zip(then.iter().flatten());
    Ok(LogProbDifference::from_pairs(
        compared_with,
        tolerance,
        pairs,
    ))
}

/// The remedy for a log of completions that cannot be used.
const RETRAIN: &str = "train the adapter again with `sentinel lm grpo`";

/// A row of a log of completions: only the keys that are needed.
#[derive(Deserialize)]
struct LoggedRow {
    #[serde(flatten)]
    tokens: Option<LoggedTokens>,
}

/// Returns the tokens that the last update of a run logged; none if the saved model is that of an
/// earlier step, or the log has no tokens.
fn logged(run: &Path) -> Result<Vec<LoggedTokens>, Error> {
    let state: Value = match run.join(TRAINER_STATE_FILE) {
        path if path.is_file() => json_file::read_trainer_state(&path, RETRAIN)?,
        _ => return Ok(Vec::new()),
    };
    let number = |name: &str| state.get(name).and_then(Value::as_u64);
    let (last, best) = (number("global_step"), number("best_global_step"));
    let Some(last) = last.filter(|last| best.is_none_or(|best| best == *last)) else {
        return Ok(Vec::new());
    };
    let path: PathBuf = run.join(format!("completions/completions_{last:05}.jsonl"));
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(&path).map_err(|source| Error::Read {
        path: path.clone(),
        source,
    })?;
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let row: LoggedRow = serde_json::from_str(line).map_err(|error| {
            let reason = format!("line {} is not a completion ({error})", index + 1);
            report_error(&path, reason, RETRAIN)
        })?;
        found.extend(row.tokens.filter(|row| !row.completion_ids.is_empty()));
    }
    Ok(found)
}
