//! Files of `eval --out` and `lm eval --out`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sentinel_base::interval::ConfidenceInterval;
use sentinel_base::provenance::Provenance;
use sentinel_play::eval::Diagnostics;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::source::{Sources, read_json};
use crate::report::error::ReportError;
use crate::report::evaluation::{
    Evaluation, EvaluationKind, PolicyScore, ScoredEpisode, TaskScore,
};

/// The kinds of file in errors.
const EVAL: &str = "a file of `eval --out`";
const LM_EVAL: &str = "a file of `lm eval --out`";
/// The key of the mean score in a summary.
const SCORE: &str = "avg_score";
/// The name of a language model among policies.
pub(super) const MODEL: &str = "model";

/// The last object of an evaluation's file.
#[derive(Debug, Deserialize)]
struct Origin {
    world: String,
    model: Option<String>,
    #[serde(default)]
    adapter: Option<PathBuf>,
    #[serde(default)]
    replay: Option<PathBuf>,
    seeds: String,
    streams: String,
    rules: String,
    #[serde(default)]
    diagnostics: Vec<Diagnostics>,
    #[serde(flatten)]
    provenance: Provenance,
}

/// A file of `eval --out`.
#[derive(Debug, Deserialize)]
struct EvalFile {
    /// `true` if the difficulty of an episode depends on those before it.
    #[serde(default)]
    adaptive: bool,
    summary: Map<String, Value>,
    episodes: Vec<EpisodeRow>,
    sentinel: Origin,
}

/// The keys of a row that all worlds have.
#[derive(Debug, Deserialize)]
struct EpisodeRow {
    policy: String,
    task_type: String,
    seed: u64,
    score: f64,
}

/// A file of `lm eval --out`.
#[derive(Debug, Deserialize)]
struct LmEvalFile {
    tasks: Vec<(String, ConfidenceInterval)>,
    score: ConfidenceInterval,
    validity: f64,
    signals: Map<String, Value>,
    sentinel: Origin,
}

impl Origin {
    fn evaluation(self, path: &Path, id: String, kind: EvaluationKind) -> Evaluation {
        let text = |path: PathBuf| path.display().to_string();
        Evaluation {
            id,
            path: path.display().to_string(),
            kind,
            world: self.world,
            model: self.model,
            adapter: self.adapter.map(text),
            replay: self.replay.map(text),
            seeds: self.seeds,
            streams: self.streams,
            rules: self.rules,
            policies: Vec::new(),
            validity: None,
            signals: BTreeMap::new(),
            diagnostics: self.diagnostics,
            provenance: self.provenance,
        }
    }
}

/// Reads a file of `eval --out`.
///
/// # Errors
/// Returns an error if it cannot be read or is truncated, a policy of its summary has no episode,
/// or its origin is missing.
pub(super) fn read_eval(
    path: &Path,
    id: String,
    sources: &mut Sources,
) -> Result<Evaluation, ReportError> {
    let remedy = "make it again with `sentinel eval --out`";
    let file: EvalFile = read_json(path, EVAL, remedy, sources)?;
    let mut evaluation = file.sentinel.evaluation(path, id, EvaluationKind::Eval);
    for (policy, summary) in &file.summary {
        let found = policy_score(policy, summary, &file.episodes);
        let found = found.map_err(|reason| ReportError::Invalid {
            path: path.to_owned(),
            kind: EVAL,
            reason,
            remedy: remedy.to_owned(),
        })?;
        evaluation.policies.push(found);
    }
    if file.adaptive {
        let tasks = evaluation.policies.iter_mut().flat_map(|p| &mut p.tasks);
        tasks.for_each(|task| task.examples.clear());
    }
    // The map of the file is sorted; the rows have the order in which policies were named.
    let first = |policy: &str| (file.episodes.iter()).position(|row| row.policy == policy);
    evaluation
        .policies
        .sort_by_key(|policy| first(&policy.policy));
    Ok(evaluation)
}

/// Returns the score of a policy: its mean from the summary, its interval from the rows.
fn policy_score(
    policy: &str,
    summary: &Value,
    episodes: &[EpisodeRow],
) -> Result<PolicyScore, String> {
    let mean = summary.get(SCORE).and_then(Value::as_f64);
    let mean = mean.ok_or_else(|| format!("summary.{policy} has no {SCORE}"))?;
    let mut cells: Vec<(&str, Vec<ScoredEpisode>)> = Vec::new();
    for row in episodes.iter().filter(|row| row.policy == policy) {
        let (seed, score) = (row.seed, row.score);
        let episode = ScoredEpisode { seed, score };
        match cells.iter_mut().find(|(task, _)| *task == row.task_type) {
            Some((_, episodes)) => episodes.push(episode),
            None => cells.push((&row.task_type, vec![episode])),
        }
    }
    if cells.is_empty() {
        return Err(format!("episodes has no row of policy {policy}"));
    }
    let scores = |episodes: &[ScoredEpisode]| episodes.iter().map(|e| e.score).collect();
    let tasks = cells.iter().map(|(task, episodes)| TaskScore {
        task: (*task).to_owned(),
        episodes: Some(episodes.len()),
        score: ConfidenceInterval::from_cells(&[scores(episodes)]),
        examples: examples(episodes),
    });
    let tasks = tasks.collect();
    let scores: Vec<Vec<f64>> = cells.iter().map(|(_, episodes)| scores(episodes)).collect();
    let means = summary.as_object().into_iter().flatten();
    let means = means.filter(|(key, _)| key.as_str() != SCORE && key.as_str() != "episodes");
    Ok(PolicyScore {
        policy: policy.to_owned(),
        episodes: scores.iter().map(Vec::len).sum(),
        score: ConfidenceInterval {
            mean,
            ..ConfidenceInterval::from_cells(&scores)
        },
        tasks,
        means: numbers(means),
    })
}

/// Returns the episodes with the lowest, the middle and the highest score, those with the lower seed
/// first among equals; each episode once.
fn examples(episodes: &[ScoredEpisode]) -> Vec<ScoredEpisode> {
    let mut sorted = episodes.to_vec();
    sorted.sort_by(|a, b| a.score.total_cmp(&b.score).then(a.seed.cmp(&b.seed)));
    let last = sorted.len().saturating_sub(1);
    let mut places = vec![0, last / 2, last];
    places.dedup();
    places
        .into_iter()
        .filter_map(|place| sorted.get(place).copied())
        .collect()
}

/// Reads a file of `lm eval --out`.
///
/// # Errors
/// Returns an error if it cannot be read or is truncated, or its origin is missing.
pub(super) fn read_lm_eval(
    path: &Path,
    id: String,
    sources: &mut Sources,
) -> Result<Evaluation, ReportError> {
    let remedy = "make it again with `sentinel lm eval --out`";
    let file: LmEvalFile = read_json(path, LM_EVAL, remedy, sources)?;
    let mut evaluation = file.sentinel.evaluation(path, id, EvaluationKind::LmEval);
    let mut signals = numbers(file.signals.iter());
    let episodes = signals.remove("episodes").unwrap_or_default() as usize;
    let tasks = file.tasks.into_iter().map(|(task, score)| TaskScore {
        task,
        episodes: None,
        score,
        examples: Vec::new(),
    });
    evaluation.policies = vec![PolicyScore {
        policy: MODEL.to_owned(),
        episodes,
        score: file.score,
        tasks: tasks.collect(),
        means: BTreeMap::new(),
    }];
    evaluation.validity = Some(file.validity);
    evaluation.signals = signals;
    Ok(evaluation)
}

/// Returns the members of an object that are numbers.
fn numbers<'a>(members: impl Iterator<Item = (&'a String, &'a Value)>) -> BTreeMap<String, f64> {
    members
        .filter_map(|(key, value)| Some((key.clone(), value.as_f64()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page reads the same cases (`web/engine/src/evaluation.rs`, `standings_tests.rs`).
    #[test]
    fn intervals_are_those_of_the_page() {
        let text = include_str!("../../../../../testdata/intervals.json");
        let vector: Value = serde_json::from_str(text).expect("JSON");
        for case in vector["cases"].as_array().expect("cases") {
            let cells: Vec<Vec<f64>> =
                serde_json::from_value(case["cells"].clone()).expect("scores");
            let rows = (0..).zip(&cells).flat_map(|(task, scores)| {
                (0..).zip(scores).map(move |(seed, score)| EpisodeRow {
                    policy: "p".to_owned(),
                    task_type: format!("t{task}"),
                    seed,
                    score: *score,
                })
            });
            let rows: Vec<EpisodeRow> = rows.collect();
            let summary = serde_json::json!({ SCORE: 0.0 });
            let found = policy_score("p", &summary, &rows).expect("a score");
            let half_width = case["half_width"].as_f64();
            assert_eq!(Some(found.score.half_width), half_width, "{}", case["what"]);
            if let [task] = &found.tasks[..] {
                assert_eq!(Some(task.score.mean), case["mean"].as_f64());
            }
        }
    }
}
