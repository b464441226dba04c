//! `sentinel lm postsave`: inference with the saved artifacts of a run in a fresh process.

use std::path::Path;
use std::time::Instant;

use sentinel_base::provenance::Provenance;
use sentinel_base::{Error, SeedRange};
use sentinel_env::rng::Streams;
use sentinel_env::{EpisodeSpec, Named as _, TaskName as _, World, in_world};
use sentinel_evidence::artifact::{Artifact, ArtifactKind};
use sentinel_evidence::json_file::{self, report_error};
use sentinel_evidence::postsave::{
    Attempt, ModelSource, POSTSAVE_REPORT, PostSaveReport, SampleRow,
};
use sentinel_evidence::run_paths::{RunPathArgs, RunPaths};
use sentinel_language::agent::{Generation, LanguageAgent as _, LoadedModel};
use sentinel_language::training::RunError;
use sentinel_play::corpus::validation_seeds;
use sentinel_play::rollout::{GenerationRequest, RolloutError, TextAgent};
use sentinel_policy::nn::NetworkWorld;
use sentinel_policy::text::{InvalidActionPolicy, PromptState, PromptStyle, TextWorld};

use super::artifact_episode_args::{ArtifactEpisodeArgs, ArtifactEpisodes};
use super::logprob_check;

/// The largest number of samples in one episode, so that several episodes are sampled.
const STEPS_PER_EPISODE: u32 = 4;

/// Options of `sentinel lm postsave`.
#[derive(Clone, Debug, PartialEq, clap::Args)]
pub struct PostSaveArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub paths: RunPathArgs,
    /// Number of prompts to complete
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub samples: usize,
    /// Answer with a script of the world if no artifact can be loaded; the gate refuses the report
    #[arg(long)]
    pub allow_fallback: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub play: ArtifactEpisodeArgs,
}

/// Completes prompts with the first artifact of the run that can be loaded, and writes the report.
///
/// # Errors
/// If no artifact can be loaded, an option is invalid, or the report cannot be written.
pub fn postsave(args: &PostSaveArgs) -> Result<PostSaveReport, RunError> {
    if args.samples == 0 {
        return Err(RunError::option("samples", "at least 1"));
    }
    let paths = args.paths.paths()?;
    let play = args.play.resolve(&paths)?;
    let mut attempts = Vec::new();
    let mut loaded = None;
    for kind in ArtifactKind::ALL {
        match play.load(&paths, kind) {
            Ok(found) => {
                loaded = Some(found);
                break;
            }
            Err(error) => attempts.push(Attempt {
                artifact: kind,
                error: error.to_string(),
            }),
        }
    }
    let command = format!(
        "sentinel lm postsave{} --samples {}",
        paths.options(),
        args.samples
    );
    let mut report = match loaded {
        Some((artifact, model)) => answered(&paths, &play, &artifact, &model, args.samples)?,
        None if args.allow_fallback => scripted(&play, &attempts, args.samples)?,
        None => return Err(nothing_loaded(&paths.checkpoints, &attempts).into()),
    };
    report.attempts = attempts;
    report.provenance.command = Some(command);
    json_file::write_json(&paths.report(POSTSAVE_REPORT), &report)?;
    Ok(report)
}

/// Creates the error for a run without an artifact that can be loaded.
fn nothing_loaded(checkpoints: &Path, attempts: &[Attempt]) -> Error {
    let reasons: Vec<String> = attempts
        .iter()
        .map(|one| format!("{}: {}", one.artifact, one.error))
        .collect();
    let reason = format!("no artifact can be loaded ({})", reasons.join("; "));
    let remedy = "train the run with `sentinel sweep`, or name its folder with --run or \
                  --checkpoints-dir";
    report_error(checkpoints, reason, remedy)
}

/// Completes prompts with an artifact, and compares its log-probabilities.
fn answered(
    paths: &RunPaths,
    play: &ArtifactEpisodes,
    artifact: &Artifact,
    model: &LoadedModel,
    samples: usize,
) -> Result<PostSaveReport, RunError> {
    let mut agent = model.agent().with_recorded_generations();
    let rows = in_world!(play.episode.world, W => {
        let rows = agent.run(|agent| Ok(sample::<W, _>(play, samples, agent)))?;
        rows?
    });
    let generations: Vec<Generation> = std::mem::take(&mut agent.generations);
    let mut provenance = Provenance::new();
    provenance.add_fallbacks(model.provenance.fallbacks.iter().cloned());
    provenance.inputs.clone_from(&model.provenance.inputs);
    let mut report = PostSaveReport::new(artifact.kind.into(), rows, provenance);
    report.artifact_path.clone_from(&artifact.path);
    report.artifact = artifact.digests()?;
    report.logprob_difference = logprob_check::compare(paths, play, artifact, model, &generations)?;
    Ok(report)
}

/// Answers with the heuristic of the world, and marks the report as a fallback.
fn scripted(
    play: &ArtifactEpisodes,
    attempts: &[Attempt],
    samples: usize,
) -> Result<PostSaveReport, RunError> {
    let rows = in_world!(play.episode.world, W => scripted_rows::<W>(play, samples))?;
    let mut provenance = Provenance::new();
    let tried: Vec<&str> = attempts.iter().map(|one| one.artifact.name()).collect();
    provenance.add_fallback(
        "postsave",
        format!(
            "a script answers in place of {}, which could not be loaded",
            tried.join(", ")
        ),
    );
    Ok(PostSaveReport::new(
        ModelSource::FallbackPolicy,
        rows,
        provenance,
    ))
}

fn scripted_rows<W: TextWorld + NetworkWorld>(
    play: &ArtifactEpisodes,
    samples: usize,
) -> Result<Vec<SampleRow>, RunError> {
    let missing = RunError::option("allow-fallback", "left out in a world without a heuristic");
    let mut script = Heuristic::<W> {
        policy: W::PolicyName::parse(W::ROLES.heuristic).ok_or(missing)?,
        style: play.rollout_config.style,
    };
    sample::<W, _>(play, samples, &mut script)
}

/// The heuristic of a world as a generator of completions.
struct Heuristic<W: TextWorld> {
    policy: W::PolicyName,
    style: PromptStyle,
}

impl<W: TextWorld> TextAgent<W> for Heuristic<W> {
    fn generate(&mut self, _: &[String], requests: &[GenerationRequest<'_, W>]) -> Vec<String> {
        let complete = |request: &GenerationRequest<'_, W>| {
            let state = request.prompt_state;
            let action = state.player(self.policy).act(state.episode())?;
            Some(W::format_action(self.style, state.observation(), action))
        };
        requests.iter().filter_map(complete).collect()
    }
}

/// Completes prompts one by one, so that each has a latency of its own: the tasks in turn, a few
/// steps of each episode, on validation seeds.
fn sample<W, G>(
    play: &ArtifactEpisodes,
    samples: usize,
    generator: &mut G,
) -> Result<Vec<SampleRow>, RunError>
where
    W: TextWorld + NetworkWorld,
    G: TextAgent<W>,
{
    let rules = play.episode.rules::<W>()?;
    let streams = play.episode.streams_or::<W>(Streams::Independent)?;
    let tasks = play.episode.tasks_or::<W>(None)?;
    let seeds: SeedRange = validation_seeds();
    let mut rows = Vec::with_capacity(samples);
    for (index, seed) in seeds.range().enumerate() {
        let task = tasks[index % tasks.len()];
        let origin = EpisodeSpec::<W> {
            task,
            seed,
            streams,
            rules,
        };
        let mut state = PromptState::<W>::new(&origin.setup());
        for _ in 0..STEPS_PER_EPISODE {
            if state.done() || rows.len() == samples {
                break;
            }
            let (row, goes_on) = complete(play, &mut state, index, generator)?;
            rows.push(SampleRow {
                task: task.name().to_owned(),
                seed,
                ..row
            });
            if !goes_on {
                break;
            }
        }
        if rows.len() == samples {
            return Ok(rows);
        }
    }
    Err(RunError::option(
        "samples",
        "no more than the validation seeds give",
    ))
}

/// Completes the prompt of a state and applies the action. The second value is `false` if the
/// completion ended the episode.
fn complete<W, G>(
    play: &ArtifactEpisodes,
    state: &mut PromptState<W>,
    episode: usize,
    generator: &mut G,
) -> Result<(SampleRow, bool), RunError>
where
    W: TextWorld + NetworkWorld,
    G: TextAgent<W>,
{
    let config = play.rollout_config;
    let prompt = state.prompt(config.style);
    let start = Instant::now();
    let request = GenerationRequest {
        episode,
        prompt_state: state,
        style: config.style,
    };
    let found = generator.generate(std::slice::from_ref(&prompt), &[request]);
    let latency_ms = start.elapsed().as_secs_f64() * 1e3;
    let [completion] = <[String; 1]>::try_from(found).map_err(|found| RolloutError::Count {
        prompts: 1,
        completions: found.len(),
    })?;
    let observation = state.observation();
    let step = W::step_count(observation);
    let parsed = W::parse_action(config.reader, &completion, observation);
    let action = match &parsed {
        Ok(parsed) => Some(parsed.action),
        Err(_) => match W::invalid_action_policy(&completion, observation) {
            InvalidActionPolicy::Step(action) => Some(action),
            InvalidActionPolicy::EndSample => None,
        },
    };
    let taken = action.and_then(|action| Some((action, state.step(action).ok()?)));
    let (action, reward) = match &taken {
        Some((action, step)) => (
            Some(action.to_string()),
            <W as World>::reward_events(step).0,
        ),
        None => (None, config.invalid.value()),
    };
    let row = SampleRow {
        world: W::NAME.to_owned(),
        task: String::new(),
        seed: 0,
        step,
        prompt,
        completion,
        valid: parsed.is_ok() && taken.is_some(),
        action,
        reward,
        latency_ms,
    };
    Ok((row, taken.is_some()))
}
