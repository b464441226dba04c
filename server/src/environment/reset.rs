//! The start of an episode: the fields of a reset, the server's defaults, and what they identify.

use sentinel_env::rng::Streams;
use sentinel_env::{EpisodeNames, EpisodeSpec, TaskName, WorldName, in_world};
use serde_json::{Map, Value, json};

use crate::options::{Limits, ServeOptions};
use crate::sessions::{NoEntropy, random_bits};
use crate::validation::{FieldError, FieldReader};
use crate::worlds::{Schemas, Served};

/// First seed of resets that name none, and their number: seeds for training.
const RANDOM_SEEDS: (u64, u64) = (100_000, 500_000);
/// Most names of ignored fields that the first observation lists.
const IGNORED_MAX: usize = 32;
/// Largest length of an episode id in characters.
const ID_CHARS: usize = 255;
/// The names of the fields of a reset.
const RESET_FIELDS: [&str; 8] = [
    "seed",
    "episode_id",
    "world",
    "task",
    "rules",
    "streams",
    "prompt",
    "reward",
];

/// The choices of episodes whose reset leaves them out, and the schemas of all worlds.
#[derive(Clone, Debug)]
pub struct Defaults {
    world: WorldName,
    task: Option<String>,
    rules: Option<String>,
    streams: Option<Streams>,
    schemas: Vec<(WorldName, Schemas)>,
    limits: Limits,
}

impl Defaults {
    /// Creates the defaults of a server.
    ///
    /// # Errors
    /// If the task, the rules or the streams do not exist in the world.
    pub fn new(options: &ServeOptions, limits: Limits) -> Result<Self, String> {
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
        };
        in_world!(defaults.world, W => {
            episode_spec::<W>(&defaults, defaults.world, &ResetFields::default())?;
        });
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

    /// Returns the world that the fields ask for.
    pub(super) fn world_of(&self, fields: &ResetFields) -> Result<WorldName, String> {
        let Some(name) = fields.world.as_deref() else {
            return Ok(self.world);
        };
        WorldName::parse(name).ok_or_else(|| {
            format!(
                "unknown world {name:?}: use {}",
                WorldName::joined_names(" or ")
            )
        })
    }
}

/// The rewards of an episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RewardMode {
    /// The rewards of the world.
    #[default]
    Step,
    /// 0 until the end, then the score.
    Score,
}

/// The fields of a reset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResetFields {
    pub(super) seed: Option<u64>,
    pub(super) episode_id: Option<String>,
    world: Option<String>,
    task: Option<String>,
    rules: Option<String>,
    streams: Option<String>,
    pub(super) without_prompt: bool,
    pub(super) reward: RewardMode,
    ignored: Vec<String>,
}

impl ResetFields {
    /// Reads the fields of a reset. Fields that no environment has are ignored, as the protocol asks,
    /// and the first observation lists them.
    ///
    /// # Errors
    /// Returns an error for each field of a wrong type.
    pub fn parse(data: &Map<String, Value>) -> Result<Self, Vec<FieldError>> {
        let mut reader = FieldReader::new(data, &[]);
        let text = |found: Option<&str>| found.map(str::to_owned);
        let task = match data.get("task") {
            Some(number) if number.is_u64() => Some(format!("task{number}")),
            _ => text(reader.text("task", ID_CHARS)),
        };
        let fields = Self {
            seed: reader.seed("seed"),
            episode_id: text(reader.text("episode_id", ID_CHARS)),
            world: text(reader.text("world", ID_CHARS)),
            task,
            rules: text(reader.text("rules", ID_CHARS)),
            streams: text(reader.text("streams", ID_CHARS)),
            without_prompt: reader.choice("prompt", &["reference", "none"]) == Some("none"),
            reward: match reader.choice("reward", &["step", "score"]) {
                Some("score") => RewardMode::Score,
                _ => RewardMode::Step,
            },
            ignored: ignored_fields(data),
        };
        reader.finish().map(|()| fields)
    }
}

/// Returns the beginnings of the names of fields that no reset has.
fn ignored_fields(data: &Map<String, Value>) -> Vec<String> {
    let others = data
        .iter()
        .filter(|(name, value)| !value.is_null() && !RESET_FIELDS.contains(&name.as_str()));
    let names = others.map(|(name, _)| name.chars().take(64).collect());
    names.take(IGNORED_MAX).collect()
}

/// Returns the episode that a reset identifies.
pub(super) fn episode_spec<W: Served>(
    defaults: &Defaults,
    world: WorldName,
    fields: &ResetFields,
) -> Result<EpisodeSpec<W>, String> {
    // The server's defaults are those of its own world.
    let own = world == defaults.world;
    fn or_own<'a>(
        given: &'a Option<String>,
        default: &'a Option<String>,
        own: bool,
    ) -> Option<&'a str> {
        given.as_deref().or(default.as_deref().filter(|_| own))
    }
    let streams = defaults.streams.filter(|_| own).map(Streams::name);
    let names = EpisodeNames {
        task: Some(or_own(&fields.task, &defaults.task, own).unwrap_or(W::DEFAULT_TASK)),
        streams: fields.streams.as_deref().or(streams),
        rules: or_own(&fields.rules, &defaults.rules, own),
    };
    let seed = match fields.seed {
        Some(seed) => seed,
        None => random_seed().map_err(|error| error.to_string())?,
    };
    EpisodeSpec::from_names(names, seed).map_err(|error| error.to_string())
}

/// Returns a random seed for training.
///
/// # Errors
/// If the operating system gives no random numbers.
pub(crate) fn random_seed() -> Result<u64, NoEntropy> {
    let (first, count) = RANDOM_SEEDS;
    Ok(first + random_bits()? % count)
}

/// Returns the metadata of the first observation.
pub(super) fn reset_metadata<W: Served>(
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
