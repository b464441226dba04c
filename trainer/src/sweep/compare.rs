//! `sentinel lm compare`: greedy play of the SFT and the GRPO artifact on the same seeds.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use sentinel_base::provenance::Provenance;
use sentinel_base::{Error, Progress, SeedRange};
use sentinel_env::rng::Streams;
use sentinel_env::{EpisodeSpec, TaskName as _, in_world};
use sentinel_evidence::artifact::{ArtifactKind, BASE_DIR};
use sentinel_evidence::improvement::{
    IMPROVEMENT_REPORT, ImprovementReport, SEEDS, TaskScores, check_seeds,
};
use sentinel_evidence::json_file;
use sentinel_evidence::run_paths::{RunPathArgs, RunPaths};
use sentinel_language::agent::{LanguageAgent as _, LoadedModel};
use sentinel_language::training::RunError;
use sentinel_play::corpus::validation_seeds;
use sentinel_play::rollout::{RolloutError, rollout_summaries};
use sentinel_policy::nn::NetworkWorld;
use sentinel_policy::text::{PromptState, TextWorld};
use serde_json::Value;

use super::artifact_episode_args::{ArtifactEpisodeArgs, ArtifactEpisodes};

/// Options of `sentinel lm compare`.
#[derive(Clone, Debug, PartialEq, clap::Args)]
pub struct ImprovementArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub paths: RunPathArgs,
    /// Seeds of each task: validation seeds, or training seeds that the run did not use
    #[arg(long, value_name = "A..B", default_value_t = SEEDS)]
    pub seeds: SeedRange,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub play: ArtifactEpisodeArgs,
}

/// Plays the merged SFT model and the GRPO adapter on the same seeds, and writes the report. Once `stop`
/// is set, it ends without one.
///
/// # Errors
/// If an artifact cannot be loaded, a seed is a test seed or was used in training, the report
/// cannot be written, or `stop` was set before the end.
pub fn improvement(
    args: &ImprovementArgs,
    stop: &AtomicBool,
    progress: Progress<'_>,
) -> Result<ImprovementReport, RunError> {
    let paths = args.paths.paths()?;
    let play = args.play.resolve(&paths)?;
    check_seeds(args.seeds, &used_seeds(&paths, &play)?)?;
    let mut provenance = Provenance::new();
    let mut scores = Vec::new();
    let mut artifacts = Vec::new();
    for (kind, what) in [
        (ArtifactKind::Merged, "baseline"),
        (ArtifactKind::GrpoAdapter, "candidate"),
    ] {
        RolloutError::check_stop(stop)?;
        let (artifact, model) = play.load(&paths, kind)?;
        provenance.add_fallbacks(model.provenance.fallbacks.iter().cloned());
        let inputs = model.provenance.inputs.iter();
        let inputs = inputs.map(|(name, digest)| (format!("{name} of the {what}"), digest.clone()));
        provenance.inputs.extend(inputs);
        artifacts.push(artifact.digests()?);
        scores.push(in_world!(play.episode.world, W => {
            scores_of::<W>(&play, args.seeds, &model, stop, progress)?
        }));
    }
    let [baseline, candidate] = scores.as_slice() else {
        return Err(RunError::option("seeds", "played by two models"));
    };
    let tasks: Vec<TaskScores> = (baseline.iter().zip(candidate))
        .map(|((task, baseline), (_, candidate))| TaskScores {
            task: task.clone(),
            baseline: baseline.clone(),
            candidate: candidate.clone(),
        })
        .collect();
    let command = format!(
        "sentinel lm compare{} --seeds {}",
        paths.options(),
        args.seeds
    );
    provenance.command = Some(command);
    let mut report = ImprovementReport::new(&tasks, args.seeds, provenance);
    report.world = play.episode.world.name().to_owned();
    report.rules.clone_from(&play.episode.rules);
    report.candidate_artifact = artifacts.pop().unwrap_or_default();
    report.baseline_artifact = artifacts.pop().unwrap_or_default();
    json_file::write_json(&paths.report(IMPROVEMENT_REPORT), &report)?;
    Ok(report)
}

/// Plays the seeds of each task greedily; returns the scores by task.
fn scores_of<W: TextWorld + NetworkWorld>(
    play: &ArtifactEpisodes,
    seeds: SeedRange,
    model: &LoadedModel,
    stop: &AtomicBool,
    progress: Progress<'_>,
) -> Result<Vec<(String, Vec<f64>)>, RunError> {
    let rules = play.episode.rules::<W>()?;
    let streams = play.episode.streams_or::<W>(Streams::Independent)?;
    let mut agent = model.agent().with_stop(stop);
    let mut all = Vec::new();
    for task in play.episode.tasks_or::<W>(None)? {
        let start = |seed| {
            let origin = EpisodeSpec::<W> {
                task,
                seed,
                streams,
                rules,
            };
            PromptState::<W>::new(&origin.setup())
        };
        let starts = seeds.range().map(start).collect();
        let played =
            agent.run(|agent| rollout_summaries(starts, play.rollout_config, agent, progress))?;
        let scores = played.iter().map(|episode| episode.score).collect();
        all.push((task.name().to_owned(), scores));
    }
    Ok(all)
}

/// Returns the seeds on which the models of a run were trained or chosen.
fn used_seeds(paths: &RunPaths, play: &ArtifactEpisodes) -> Result<Vec<SeedRange>, Error> {
    let mut used = Vec::new();
    let Some(training) = &play.training else {
        return Ok(used);
    };
    used.extend(training.seeds().ok());
    if training.run.eval_steps > 0 {
        let start = validation_seeds().range().start;
        let count = (training.run.eval_episodes as u64).max(1);
        used.push(SeedRange::new(start, start + count));
    }
    for folder in [ArtifactKind::SftAdapter.name(), BASE_DIR] {
        let path = paths.checkpoints.join(folder).join("training_options.json");
        if path.is_file() {
            let options: Value =
                json_file::read_json(&path, "train it again with `sentinel lm sft`")?;
            let data = options.get("data").and_then(Value::as_str);
            used.extend(data.and_then(|data| corpus_seeds(Path::new(data))));
        }
    }
    Ok(used)
}

/// Returns the range of the seeds in a corpus; `None` if it was deleted or names none.
fn corpus_seeds(corpus: &Path) -> Option<SeedRange> {
    let text = std::fs::read_to_string(corpus).ok()?;
    let seeds = text.lines().filter_map(|line| {
        let row: Value = serde_json::from_str(line).ok()?;
        row.get("seed")?.as_u64()
    });
    let (least, most) = seeds.fold((u64::MAX, 0), |(a, b), seed| (a.min(seed), b.max(seed)));
    (least <= most).then(|| SeedRange::new(least, most.saturating_add(1)))
}
