//! An environment of any world, as one client uses it: reset, step, state, and what a policy would do.

use std::sync::Arc;

use sentinel_env::num::round_to;
use sentinel_env::protocol::Session;
use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_env::task::joined_task_names;
use sentinel_env::{EpisodeSpec, TaskName, World, WorldName, in_world};
use sentinel_policy::text::{PromptState, PromptStyle, TextWorld};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::options::{Limits, ServeOptions};
use crate::policy::{ActError, ActJob, ServedPolicy};
use crate::sessions::random_bits;
use crate::validation::{FieldError, check_object, parse_seed};
use crate::worlds::{Schemas, Served};

/// First seed of resets that name none, and their number: seeds for training.
const RANDOM_SEEDS: (u64, u64) = (100_000, 500_000);
/// Largest length of an episode id in characters.
const ID_CHARS: u64 = 255;

/// The choices of episodes whose reset leaves them out, and the schemas of all worlds.
#[derive(Clone, Debug)]
pub struct Defaults {
    world: WorldName,
    task: Option<String>,
    rules: Option<String>,
    streams: Option<Streams>,
    schemas: Vec<(WorldName, Schemas)>,
    limits: Limits,
    /// `true` if a policy may be asked about an episode.
    has_policy: bool,
}

impl Defaults {
    /// Creates the defaults of a server.
    ///
    /// # Errors
    /// If the task, the rules or the streams do not exist in the world.
    pub fn new(options: &ServeOptions, limits: Limits, has_policy: bool) -> Result<Self, String> {
        let schemas = WorldName::ALL.iter();
        let defaults = Self {
            world: options.world,
            task: options.task.clone(),
            rules: options.rules.clone(),
            streams: options.streams,
            schemas: schemas
                .map(|world| (*world, Schemas::for_world(*world)))
                .collect(),
            limits,
            has_policy,
        };
        defaults.start(ResetFields::default())?;
        Ok(defaults)
    }

    /// Returns the world of episodes whose reset names none.
    #[must_use]
    pub const fn world(&self) -> WorldName {
        self.world
    }

    /// Returns the schemas of a world.
    #[must_use]
    pub fn schemas(&self, world: WorldName) -> &Schemas {
        let found = self.schemas.iter().find(|(name, _)| *name == world);
        // Every world is in the list; the first one is the registry's default.
        found.map_or(&self.schemas[0].1, |(_, schemas)| schemas)
    }

    fn start(&self, fields: ResetFields) -> Result<Box<dyn Running>, String> {
        let world = match fields.world.as_deref() {
            None => self.world,
            Some(name) => WorldName::parse(name).ok_or_else(|| {
                format!(
                    "unknown world {name:?}: use {}",
                    WorldName::joined_names(" or ")
                )
            })?,
        };
        in_world!(world, W => {
            let running = RunningEpisode::<W>::start(self, world, fields)?;
            Ok(Box::new(running))
        })
    }
}

/// The rewards of an episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RewardMode {
    /// The rewards of the world.
    #[default]
    Step,
    /// 0 until the end, then the score.
    Score,
}

/// The fields of a reset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResetFields {
    seed: Option<u64>,
    episode_id: Option<String>,
    world: Option<String>,
    task: Option<String>,
    rules: Option<String>,
    streams: Option<String>,
    without_prompt: bool,
    reward: RewardMode,
    ignored: Vec<String>,
}

impl ResetFields {
    /// Reads the fields of a reset. Fields that no environment has are ignored, as the protocol asks,
    /// and the first observation lists them.
    ///
    /// # Errors
    /// Returns an error for each field of a wrong type.
    pub fn parse(data: &Map<String, Value>) -> Result<Self, Vec<FieldError>> {
        let mut fields = Self::default();
        let mut errors = Vec::new();
        for (name, value) in data {
            if value.is_null() {
                continue;
            }
            let place = match name.as_str() {
                "seed" => {
                    match parse_seed(value, &["seed"]) {
                        Ok(seed) => fields.seed = Some(seed),
                        Err(error) => errors.push(error),
                    }
                    continue;
                }
                "prompt" => {
                    match choice(name, value, &["reference", "none"]) {
                        Ok(index) => fields.without_prompt = index == 1,
                        Err(error) => errors.push(error),
                    }
                    continue;
                }
                "reward" => {
                    match choice(name, value, &["step", "score"]) {
                        Ok(0) => fields.reward = RewardMode::Step,
                        Ok(_) => fields.reward = RewardMode::Score,
                        Err(error) => errors.push(error),
                    }
                    continue;
                }
                "episode_id" => &mut fields.episode_id,
                "world" => &mut fields.world,
                "task" => &mut fields.task,
                "rules" => &mut fields.rules,
                "streams" => &mut fields.streams,
                _ => {
                    fields.ignored.push(name.chars().take(64).collect());
                    continue;
                }
            };
            let schema =
                json!({"properties": {name.as_str(): {"type": "string", "maxLength": ID_CHARS}}});
            let one = Map::from_iter([(name.clone(), value.clone())]);
            let found = check_object(&schema, &one, &[]);
            if found.is_empty() {
                *place = value.as_str().map(str::to_owned);
            }
            errors.extend(found);
        }
        if errors.is_empty() {
            Ok(fields)
        } else {
            Err(errors)
        }
    }
}

/// Returns the index of the word that `value` is.
fn choice(name: &str, value: &Value, words: &[&str]) -> Result<usize, FieldError> {
    let found = value
        .as_str()
        .and_then(|text| words.iter().position(|word| *word == text));
    found.ok_or_else(|| {
        let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let msg = format!("Input should be {}", words.join(" or "));
        FieldError::new("literal_error", &[name], msg, value)
    })
}

/// The reason why a reset or a step was refused. Nothing changes then.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The message does not have the form of the schema.
    Invalid(Vec<FieldError>),
    /// The environment refused, with its reason.
    Execution(String),
}

/// The transport of a reply, on which its form depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// `metadata` is left out if it is empty.
    Socket,
    /// `metadata` is `null` if it is empty.
    Http,
}

/// An environment of any world, before its first reset or with an episode.
pub struct AnyEnvironment {
    defaults: Arc<Defaults>,
    session_id: String,
    running: Option<Box<dyn Running>>,
}

impl std::fmt::Debug for AnyEnvironment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnyEnvironment")
            .field("session_id", &self.session_id)
            .finish_non_exhaustive()
    }
}

impl AnyEnvironment {
    /// Creates an environment without an episode, for the session with this id.
    #[must_use]
    pub fn new(defaults: &Arc<Defaults>, session_id: &str) -> Self {
        Self {
            defaults: Arc::clone(defaults),
            session_id: session_id.to_owned(),
            running: None,
        }
    }

    /// Starts an episode, replacing a running one.
    ///
    /// # Errors
    /// If a field has a wrong type or names something that does not exist. A running episode continues.
    pub fn reset(&mut self, data: &Map<String, Value>) -> Result<(), Failure> {
        let fields = ResetFields::parse(data).map_err(Failure::Invalid)?;
        self.running = Some(self.defaults.start(fields).map_err(Failure::Execution)?);
        Ok(())
    }

    /// Applies an action.
    ///
    /// # Errors
    /// Before the first reset, after the end of the episode, or if the action is not valid.
    pub fn step(&mut self, action: Map<String, Value>) -> Result<(), Failure> {
        let not_reset = || Failure::Execution("no episode: reset before the first step".to_owned());
        let running = self.running.as_mut().ok_or_else(not_reset)?;
        let schemas = self.defaults.schemas(running.world());
        let errors = check_object(&schemas.action, &action, &[]);
        if !errors.is_empty() {
            return Err(Failure::Invalid(errors));
        }
        running.step(action)
    }

    /// Appends the reply to the last reset or step as JSON; nothing before the first reset.
    pub fn write_reply(&self, transport: Transport, out: &mut Vec<u8>) {
        if let Some(running) = &self.running {
            running.write_reply(transport, out);
        }
    }

    /// Returns the state: only ids and zero before the first reset.
    #[must_use]
    pub fn state(&self) -> Value {
        let mut state = match &self.running {
            Some(running) => running.state(),
            None => json!({"episode_id": null, "step_count": 0, "done": false}),
        };
        state["session_id"] = self.session_id.as_str().into();
        state
    }

    /// Returns the world of the episode, or the default one before the first reset.
    #[must_use]
    pub fn world(&self) -> WorldName {
        self.running
            .as_ref()
            .map_or(self.defaults.world, |running| running.world())
    }

    /// Returns `true` if there is an episode and it has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.running
            .as_ref()
            .is_some_and(|running| running.is_done())
    }

    /// Returns the computation of what a policy would do now. It can take long and holds no lock.
    ///
    /// # Errors
    /// Before the first reset, after the end, or if the policy plays another world.
    pub fn act(&self, policy: &Arc<ServedPolicy>) -> Result<ActJob, ActError> {
        match &self.running {
            Some(running) => running.act(policy),
            None => Err(ActError::NotReset),
        }
    }
}

/// An episode of any world.
trait Running: Send {
    fn world(&self) -> WorldName;
    fn is_done(&self) -> bool;
    fn step(&mut self, action: Map<String, Value>) -> Result<(), Failure>;
    fn write_reply(&self, transport: Transport, out: &mut Vec<u8>);
    fn state(&self) -> Value;
    fn act(&self, policy: &Arc<ServedPolicy>) -> Result<ActJob, ActError>;
}

struct RunningEpisode<W: Served> {
    world: WorldName,
    session: Session<W>,
    memory: W::Memory,
    /// The actions so far, if a policy may be asked.
    actions: Option<Vec<W::Action>>,
    episode_id: String,
    without_prompt: bool,
    reward_mode: RewardMode,
    reward: Option<f64>,
    /// Empty but after the reset and after the last step.
    metadata: Map<String, Value>,
}

#[derive(Serialize)]
struct ReplyData<'a, P> {
    observation: ObservationData<'a, P>,
    reward: Option<f64>,
    done: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Option<&'a Map<String, Value>>>,
}

#[derive(Serialize)]
struct ObservationData<'a, P> {
    metadata: &'a Map<String, Value>,
    world: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    #[serde(flatten)]
    payload: P,
}

impl<W: Served> RunningEpisode<W> {
    fn start(defaults: &Defaults, world: WorldName, fields: ResetFields) -> Result<Self, String> {
        let spec = episode_spec::<W>(defaults, world, &fields)?;
        let session = Session::<W>::new(&spec.setup());
        let mut memory = W::Memory::default();
        W::update_memory(&mut memory, session.episode().observation());
        let episode_id = fields.episode_id.clone();
        Ok(Self {
            world,
            metadata: reset_metadata::<W>(defaults, &spec, &fields),
            memory,
            actions: defaults.has_policy.then(Vec::new),
            episode_id: episode_id.unwrap_or_else(|| session.episode_id().to_owned()),
            without_prompt: fields.without_prompt,
            reward_mode: fields.reward,
            reward: None,
            session,
        })
    }

    fn end_metadata(&self) -> Map<String, Value> {
        let mut metadata = Map::new();
        metadata.insert("score".to_owned(), self.session.episode().score().into());
        metadata.insert("steps".to_owned(), self.session.steps().len().into());
        let digest = self.session.digest().digest();
        metadata.insert("digest".to_owned(), digest.to_string().into());
        metadata
    }
}

fn episode_spec<W: Served>(
    defaults: &Defaults,
    world: WorldName,
    fields: &ResetFields,
) -> Result<EpisodeSpec<W>, String> {
    // The server's defaults are those of its own world.
    let own = world == defaults.world;
    let task = fields
        .task
        .as_deref()
        .or(defaults.task.as_deref().filter(|_| own));
    let task = task.unwrap_or(W::DEFAULT_TASK);
    let task = <W::Task as TaskName>::parse(task).ok_or_else(|| {
        let known = joined_task_names::<W::Task>(" or ");
        format!("unknown task {task:?} of world {}: use {known}", W::NAME)
    })?;
    let rules = match fields
        .rules
        .as_deref()
        .or(defaults.rules.as_deref().filter(|_| own))
    {
        None => Rules::REFERENCE,
        Some(text) => Rules::<W::Change>::parse(text).map_err(|error| error.to_string())?,
    };
    let streams = match fields.streams.as_deref() {
        None => defaults.streams.filter(|_| own),
        Some(name) => {
            let known = <Streams as sentinel_env::Named>::joined_names();
            let unknown = || format!("unknown streams {name:?}: use {known}");
            Some(Streams::parse(name).ok_or_else(unknown)?)
        }
    };
    let streams = streams.unwrap_or_else(|| W::streams_or_default(Streams::Independent));
    if !W::STREAMS.contains(&streams) {
        let known: Vec<&str> = W::STREAMS.iter().map(|streams| streams.name()).collect();
        let known = known.join(" or ");
        return Err(format!(
            "world {} has no streams {streams}: use {known}",
            W::NAME
        ));
    }
    let random = || RANDOM_SEEDS.0 + random_bits() % RANDOM_SEEDS.1;
    Ok(EpisodeSpec {
        task,
        seed: fields.seed.unwrap_or_else(random),
        streams,
        rules,
    })
}

fn reset_metadata<W: Served>(
    defaults: &Defaults,
    spec: &EpisodeSpec<W>,
    fields: &ResetFields,
) -> Map<String, Value> {
    let limits = &defaults.limits;
    let is_score = fields.reward == RewardMode::Score;
    let rule = if is_score {
        "The reward is 0 until the end and the score on the last step"
    } else {
        W::SCORE_RULE
    };
    let mut metadata = json!({
        "task": spec.task.name(),
        "streams": spec.streams.name(),
        "rules": spec.rules.to_string(),
        "max_steps": W::max_steps(spec.task),
        "reward_sum_is_score": is_score,
        "score_rule": rule,
        "budgets": {
            "idle_timeout_s": limits.idle_timeout.as_secs_f64(),
            "max_age_s": limits.max_age.as_secs_f64(),
            "ping_deadline_s": limits.ping_deadline.as_secs_f64(),
            "max_message_bytes": limits.max_message,
            "messages_per_s": limits.rate,
        },
        "schema": format!("/schema?world={}", W::NAME),
    });
    if !fields.ignored.is_empty() {
        metadata["ignored"] = fields.ignored.clone().into();
    }
    match metadata {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

impl<W: Served> Running for RunningEpisode<W> {
    fn world(&self) -> WorldName {
        self.world
    }

    fn is_done(&self) -> bool {
        W::is_done(self.session.episode().observation())
    }

    fn step(&mut self, mut action: Map<String, Value>) -> Result<(), Failure> {
        action.remove("metadata");
        // A field that is null counts as left out, in every world.
        action.retain(|_, value| !value.is_null());
        let action = Value::Object(action);
        let message: W::Message = serde_json::from_value(action.clone()).map_err(|error| {
            let msg = format!("Value error, {error}");
            Failure::Invalid(vec![FieldError::new("value_error", &[], msg, &action)])
        })?;
        let parsed = match &self.actions {
            Some(_) => self.session.episode().parse_message(&message).ok(),
            None => None,
        };
        let transition = self
            .session
            .apply(&message, &mut W::Curriculum::default())
            .map_err(|error| Failure::Execution(error.to_string()))?;
        if let (Some(actions), Some((action, _))) = (&mut self.actions, parsed) {
            actions.push(action);
        }
        W::update_memory(&mut self.memory, self.session.episode().observation());
        let last = transition.is_last();
        self.reward = Some(match self.reward_mode {
            RewardMode::Step => round_to(transition.reward, 4),
            RewardMode::Score if last => self.session.episode().score(),
            RewardMode::Score => 0.0,
        });
        self.metadata = if last {
            self.end_metadata()
        } else {
            Map::new()
        };
        Ok(())
    }

    fn write_reply(&self, transport: Transport, out: &mut Vec<u8>) {
        let some = Some(&self.metadata).filter(|metadata| !metadata.is_empty());
        let prompt = || W::prompt(PromptStyle::Reference, &self.memory, self.session.episode());
        let data = ReplyData {
            observation: ObservationData {
                metadata: &self.metadata,
                world: W::NAME,
                prompt: (!self.without_prompt).then(prompt),
                payload: W::agent_observation(&self.session),
            },
            reward: self.reward,
            done: self.is_done(),
            metadata: match transport {
                Transport::Socket => some.map(Some),
                Transport::Http => Some(some),
            },
        };
        // Writing to memory cannot fail, and every key is a text.
        let _ = serde_json::to_writer(out, &data);
    }

    fn state(&self) -> Value {
        let episode = self.session.episode();
        let spec = W::episode_spec(episode.setup());
        let done = self.is_done();
        json!({
            "episode_id": self.episode_id,
            "step_count": self.session.steps().len(),
            "world": W::NAME,
            "task": spec.task.name(),
            "seed": spec.seed,
            "streams": spec.streams.name(),
            "rules": spec.rules.to_string(),
            "budget_used": W::step_count(episode.observation()),
            "max_steps": W::max_steps(spec.task),
            "done": done,
            "score": done.then(|| episode.score()),
            "digest": self.session.digest().digest().to_string(),
        })
    }

    fn act(&self, policy: &Arc<ServedPolicy>) -> Result<ActJob, ActError> {
        if self.is_done() {
            return Err(ActError::Over);
        }
        let setup = *self.session.episode().setup();
        let actions = self.actions.clone().unwrap_or_default();
        policy.job::<W>(setup, actions)
    }
}

/// Plays `actions` from the start of an episode, for a policy that is asked about its current state.
///
/// # Errors
/// Returns the refusal of the first action that does not fit.
pub(crate) fn replay_actions<W: TextWorld + World>(
    setup: &W::Setup,
    actions: &[W::Action],
) -> Result<PromptState<W>, String> {
    let mut state = PromptState::<W>::new(setup);
    for action in actions {
        state.step(*action).map_err(|error| error.to_string())?;
    }
    Ok(state)
}
