//! The command line of `sentinel serve`.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, anyhow, bail};
use sentinel_base::Error;
use sentinel_env::{Named as _, WorldName, in_world};
use sentinel_evidence::active_model::ActiveModel;
use sentinel_language::agent::{
    GenerationArgs, LoadedModel, ModelEngine, ModelEngineOptions, ModelKind, detect_model_kind,
};
use sentinel_play::compact_model::load_model;
use sentinel_policy::nn::{NetworkWorld, TrainedPolicy};
use sentinel_policy::text::{
    InvalidActionPolicy, ParserStrictness, PromptState, PromptStyle, TextWorld,
};
use sentinel_policy::{Playable, Player};
use sentinel_server::policy::{Actor, PlayerActor, ServedPolicy};
use sentinel_server::worlds::Served;
use sentinel_server::{ServeOptions, Server};
use sentinel_trainer::sweep::find_active_model::{
    check_trained_world, find_active_model, generation_args, is_active, require_active_model,
};
use serde_json::json;
use tracing_subscriber::EnvFilter;

use super::interrupt::StopSignals;
use super::output::{print, warn};

/// The variable with the token, which keeps it out of the list of processes.
const TOKEN: &str = "SENTINEL_TOKEN";

/// Runs `sentinel serve`, which prints its address and serves until it is stopped.
pub(crate) fn serve(options: &ServeOptions) -> Result<()> {
    let mut options = options.clone();
    if options.token.is_none() {
        options.token = std::env::var(TOKEN).ok();
    }
    start_log(options.log_json);
    let policy = load_policy(&options)?;
    let engine = load_engine(&options)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Error::Output)?;
    runtime.block_on(async {
        let mut server = Server::bind(options, policy).await?;
        if let Some(engine) = engine {
            server = server.with_engine(Arc::new(engine));
        }
        // Signals are caught before the address tells anyone that the server is there.
        let mut signals = StopSignals::catch()?;
        let stopped = async move {
            let _ = signals.next().await;
        };
        print(&format!("http://{}\n", server.address()))?;
        tracing::info!(address = %server.address(), "serving");
        if !server.run(stopped).await {
            bail!("some connections did not end within the grace time: see --grace");
        }
        Ok(())
    })
}

/// Writes the log to standard error; the variable `RUST_LOG` selects what, by default from `info` on.
fn start_log(json: bool) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // It fails only if there is a log already, which then stays.
    let _ = if json {
        log.json().try_init()
    } else {
        log.try_init()
    };
}

/// Loads the language model that completes prompts under `/v1/`, if the options name one.
fn load_engine(options: &ServeOptions) -> Result<Option<ModelEngine>> {
    let Some(model) = &options.model else {
        return Ok(None);
    };
    let limits = ModelEngineOptions {
        name: options.served_model_name.clone(),
        adapter_root: options.adapter_root.clone(),
        max_adapters: options.max_adapters as usize,
    };
    let engine = ModelEngine::load(model, limits)?;
    for warning in &engine.warnings {
        warn(warning);
    }
    Ok(Some(engine))
}

/// Returns the policy that the options name, else the active model, if it plays the server's world.
fn load_policy(options: &ServeOptions) -> Result<Option<ServedPolicy>> {
    let world = options.world;
    let kwargs = options.chat_template_kwargs.as_deref();
    let parsed = kwargs.map(str::parse).transpose();
    let generation = GenerationArgs {
        chat_template_kwargs: parsed
            .map_err(|reason: String| anyhow!("--chat-template-kwargs: {reason}"))?,
        ..GenerationArgs::default()
    };
    let Some(name) = &options.policy else {
        let active = find_active_model()?;
        return match active.filter(|model| check_trained_world(model, world).is_ok()) {
            Some(model) => active_policy(world, &model, &generation).map(Some),
            None => Ok(None),
        };
    };
    if is_active(name) {
        return active_policy(world, &require_active_model(world)?, &generation).map(Some);
    }
    if let Some(scripted) = ServedPolicy::scripted(world, name) {
        refuse_language_model_options(&generation, name)?;
        return match scripted {
            Ok(policy) => Ok(Some(policy)),
            Err(reason) => bail!("--policy: {reason}"),
        };
    }
    if !Path::new(name).exists() {
        let known = in_world!(world, W => <W as Playable>::PolicyName::joined_names());
        bail!("--policy {name}: no policy of world {world} ({known}), and no folder of a model");
    }
    let policy = in_world!(world, W => model_policy::<W>(world, name, &generation))?;
    Ok(Some(policy))
}

/// Refuses options of language models where another policy plays.
fn refuse_language_model_options(generation: &GenerationArgs, policy: &str) -> Result<()> {
    match generation.given().next() {
        Some((option, _)) => bail!("--{option} is for language models, which {policy} is not"),
        None => Ok(()),
    }
}

fn active_policy(
    world: WorldName,
    model: &ActiveModel,
    generation: &GenerationArgs,
) -> Result<ServedPolicy> {
    tracing::info!("{}", model.describe());
    let generation = generation_args(model, generation)?;
    let style = model.prompt.unwrap_or_default();
    let reader = model.reader.unwrap_or_default();
    in_world!(world, W => {
        language_policy::<W>(world, &model.artifact.model, &generation, style, reader, Some(model))
    })
}

/// Loads a compact model or a language model.
fn model_policy<W: Served + NetworkWorld>(
    world: WorldName,
    name: &str,
    generation: &GenerationArgs,
) -> Result<ServedPolicy> {
    if detect_model_kind(Path::new(name))? == ModelKind::Language {
        let (style, reader) = (PromptStyle::default(), ParserStrictness::default());
        return language_policy::<W>(world, name, generation, style, reader, None);
    }
    refuse_language_model_options(generation, name)?;
    let model = Arc::new(load_model::<W::Net>(Path::new(name))?);
    let details = json!({"folder": name, "model": model.config.name, "rules": model.config.rules});
    let shown = model.config.name.clone();
    let start = move |_: &W::Setup| -> Player<W> {
        Player::Public(Box::new(TrainedPolicy::new(Arc::clone(&model))))
    };
    let actor = Box::new(PlayerActor(start));
    Ok(ServedPolicy::new::<W>(
        world, &shown, "compact", details, actor,
    ))
}

/// Loads a language model, the active one or another.
fn language_policy<W: Served>(
    world: WorldName,
    folder: &str,
    generation: &GenerationArgs,
    style: PromptStyle,
    reader: ParserStrictness,
    active: Option<&ActiveModel>,
) -> Result<ServedPolicy> {
    let model = LoadedModel::load(folder, generation)?;
    for warning in &model.warnings {
        warn(warning);
    }
    let name = model.name.clone();
    let details = json!({
        "folder": folder,
        "adapter": generation.adapter,
        "prompt": style,
        "fallback": model.provenance.is_fallback(),
        "active": active.map(|model| json!({
            "label": model.label, "run_id": model.run_id, "accepted": model.gate.accepted, "status": model.describe(),
        })),
    });
    let actor = LanguageActor {
        model: Mutex::new(model),
        style,
        reader,
    };
    Ok(ServedPolicy::new::<W>(
        world,
        &name,
        "language",
        details,
        Box::new(actor),
    ))
}

/// A language model that answers prompts, one at a time.
struct LanguageActor {
    model: Mutex<LoadedModel>,
    style: PromptStyle,
    reader: ParserStrictness,
}

impl<W: Served> Actor<W> for LanguageActor {
    fn act(&self, state: &PromptState<W>) -> Result<W::Action, String> {
        let prompt = state.prompt(self.style);
        let model = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        let completion = model
            .agent()
            .complete(&prompt)
            .map_err(|error| error.to_string())?;
        parse_completion::<W>(self.reader, &completion, state)
    }
}

/// Returns the action of a completion. One that cannot be read is an action only where the rules of
/// the world say so.
fn parse_completion<W: TextWorld>(
    reader: ParserStrictness,
    completion: &str,
    state: &PromptState<W>,
) -> Result<W::Action, String> {
    let error = match W::parse_action(reader, completion, state.observation()) {
        Ok(parsed) => return Ok(parsed.action),
        Err(error) => error,
    };
    match W::invalid_action_policy(completion, state.observation()) {
        InvalidActionPolicy::Step(action) => Ok(action),
        InvalidActionPolicy::EndSample => Err(format!("the completion names no action: {error}")),
    }
}
