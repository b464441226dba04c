//! The active model in the commands that play: in place of a model that is not named, or for
//! `--model active`.

use std::path::Path;

use anyhow::{Result, bail};
use clap::ArgMatches;
use clap::parser::ValueSource;
use sentinel_base::provenance::Provenance;
use sentinel_base::{EpisodeArgs, EvalPolicy};
use sentinel_env::{TaskName as _, WorldName};
use sentinel_evidence::active_model::{ActiveModel, MANIFEST_FILE, manifest_path};
use sentinel_evidence::run_paths::CHECKPOINTS_DIR;
use sentinel_language::ablate::AblateConfig;
use sentinel_language::agent::{EvalArgs, GenerationArgs};
use sentinel_language::record::{RecordConfig, play_language_model};
use sentinel_play::eval::{EvalConfig, Evaluated, Plan, TrainedSource};
use sentinel_policy::replay::{AnyReplay, Replay};
use sentinel_policy::text::TextWorld;
use sentinel_trainer::sweep::find_active_model::{
    check_trained_world, find_active_model, generation_args, is_active, require_active_model,
};

use super::output::note;
use super::progress_bar::EpisodeBar;

/// Prints to standard error which model plays, so that the output stays that of the command.
fn announce(model: &ActiveModel) {
    note(&model.describe());
}

fn names_active(model: &Path) -> bool {
    is_active(&model.to_string_lossy())
}

/// Refuses an endpoint without the name of a model, for which the active one would be taken.
fn refuse_endpoint(generation: &GenerationArgs) -> Result<()> {
    if generation.endpoint.is_some() {
        bail!("--endpoint needs the name that the model has there: add --model NAME");
    }
    Ok(())
}

/// Returns the options of `sentinel record` with the active model, if they name no player.
pub(super) fn resolve_record(config: &RecordConfig) -> Result<RecordConfig> {
    let mut config = config.clone();
    let wanted = match &config.model {
        Some(model) => names_active(model),
        None => config.policy.is_none(),
    };
    if wanted {
        refuse_endpoint(&config.generation)?;
        let model = require_active_model(config.episode.world)?;
        announce(&model);
        config.generation = generation_args(&model, &config.generation)?;
        config.prompt = config.prompt.or(model.prompt);
        config.reader = config.reader.or(model.reader);
        config.model = Some(model.artifact.model.into());
    }
    Ok(config)
}

/// Returns the options of `sentinel lm eval` with the active model, if they name it, and its
/// provenance. Its prompt and reader do not replace those that are typed.
pub(super) fn resolve_lm_eval(
    config: &EvalArgs,
    matches: &ArgMatches,
) -> Result<(EvalArgs, Option<Provenance>)> {
    let mut config = config.clone();
    if !is_active(&config.model) {
        return Ok((config, None));
    }
    refuse_endpoint(&config.generation)?;
    let model = require_active_model(config.episode.world)?;
    announce(&model);
    config.generation = generation_args(&model, &config.generation)?;
    let is_typed = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
    if !is_typed("prompt") {
        config.prompts.prompt = model.prompt.unwrap_or_default();
    }
    if !is_typed("reader") {
        config.prompts.reader = model.reader.unwrap_or_default();
    }
    config.model = model.artifact.model;
    Ok((config, Some(of_manifest()?)))
}

/// Returns the options of `sentinel ablate` with the active model, if they name it, or name none
/// and the active model plays that world.
pub(super) fn resolve_ablate(config: &AblateConfig) -> Result<AblateConfig> {
    let mut config = config.clone();
    let found = match &config.model {
        Some(model) if is_active(model) => Some(require_active_model(WorldName::Polyguard)?),
        Some(_) => None,
        None => find_active_model()?
            .filter(|model| check_trained_world(model, WorldName::Polyguard).is_ok()),
    };
    if let Some(model) = found {
        announce(&model);
        config.generation = generation_args(&model, &config.generation)?;
        config.prompt = config.prompt.or(model.prompt);
        config.model = Some(model.artifact.model);
    }
    Ok(config)
}

/// Returns the provenance of a result of the active model: the digest of its manifest.
fn of_manifest() -> Result<Provenance> {
    let mut provenance = Provenance::new();
    provenance.add_file(MANIFEST_FILE, &manifest_path(Path::new(CHECKPOINTS_DIR)))?;
    Ok(provenance)
}

/// Loads the source of policy `trained`: the model or replay that is named, else the active model,
/// which then plays the episodes, else the default replay.
pub(super) fn load_trained<W: Evaluated + TextWorld>(
    config: &EvalConfig,
    plan: &Plan<'_, W>,
) -> Result<Option<TrainedSource<W>>> {
    let named = config.model.as_deref().is_some_and(names_active);
    let unnamed = config.model.is_none() && config.replay.is_none();
    if !plan.policies.contains(&EvalPolicy::Trained) || !(named || unnamed) {
        return Ok(plan.load_trained()?);
    }
    let world = config.episode.world;
    let found = if named {
        Some(require_active_model(world)?)
    } else {
        find_active_model()?
    };
    let Some(model) = found else {
        return Ok(plan.load_trained()?);
    };
    check_trained_world(&model, world)?;
    if config.adaptive || config.adversary_threshold.is_some() {
        bail!(
            "the active model is a language model, whose episodes are played before the evaluation: leave out \
             --adaptive and --adversary-threshold, or name a replay with --replay"
        );
    }
    announce(&model);
    let tasks: Vec<&str> = plan.tasks.iter().map(|task| task.name()).collect();
    let record = RecordConfig {
        policy: None,
        model: Some(model.artifact.model.clone().into()),
        prompt: model.prompt,
        reader: model.reader,
        out: manifest_path(Path::new(CHECKPOINTS_DIR)),
        force: false,
        manifest: None,
        episode: EpisodeArgs {
            rules: config.episode.rules.clone(),
            task: Some(tasks.join(",")),
            seeds: Some(config.seed_range()),
            streams: Some(plan.streams),
            ..EpisodeArgs::new(world)
        },
        generation: generation_args(&model, &GenerationArgs::default())?,
    };
    let bar = EpisodeBar::new(Some(record.episodes()?));
    let rows = play_language_model::<W>(&record, model.artifact.model.as_ref(), &|| bar.step())?;
    drop(bar);
    let replay = Replay::from_rows(rows);
    let mut provenance = Provenance::from_replays(std::iter::once(&replay as &dyn AnyReplay));
    provenance.add_fallbacks(model.provenance.fallbacks.iter().cloned());
    provenance.inputs.extend(of_manifest()?.inputs);
    provenance.inputs.extend(model.digests.clone());
    Ok(Some(TrainedSource::Replay {
        path: record.out,
        replay,
        provenance,
    }))
}
