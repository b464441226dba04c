//! The parts of the server that each world implements, and its schemas.

mod cluster;
mod polyguard;
mod trust;

pub(crate) use cluster::ClusterAction;
pub(crate) use polyguard::PolyguardAction;
pub(crate) use trust::TrustAction;

use schemars::generate::Contract;
use schemars::transform::{RecursiveTransform, Transform as _};
use schemars::{JsonSchema, Schema};
use sentinel_env::protocol::{Protocol, Session};
use sentinel_env::rng::Streams;
use sentinel_env::{World as _, WorldName, in_world};
use sentinel_policy::SEED_MAX;
use sentinel_policy::text::TextWorld;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::schema::inline_schema;

/// A world that the server offers.
pub trait Served: TextWorld + Protocol<Message: Send> {
    /// The task of episodes whose reset names none.
    const DEFAULT_TASK: &'static str;
    /// The description of the world, for `/metadata`.
    const DESCRIPTION: &'static str;
    /// The relation of the score to the rewards of the steps, in one sentence.
    const SCORE_RULE: &'static str = "The score is the mean of all reward events, and the last step pays the terminal reward \
                                      in place of its own, so the sum of the step rewards is not the score";
    /// Fields of the payload that an agent's observation never has.
    const WITHHELD: &'static [&'static str];

    /// The fields of an action, for the schema.
    type ActionFields: JsonSchema;
    /// The observation as JSON.
    type Payload: Serialize + JsonSchema;

    /// Builds the observation for an agent: no hidden state, and no id, because ids are derived from
    /// the seed.
    fn agent_observation(session: &Session<Self>) -> Self::Payload;
}

/// The schemas of a world, as `/schema` answers.
#[derive(Clone, Debug)]
pub struct Schemas {
    /// The schema of an action. It is open: the rules of the world judge an action that does not fit.
    pub action: Value,
    /// The schema of an observation.
    pub observation: Value,
    /// The schema of the state.
    pub state: Value,
    /// The schema of the first observation of an episode.
    pub reset_observation: Value,
    /// The schema of the fields of a reset.
    pub reset: Value,
}

impl Schemas {
    /// Builds the schemas of a world.
    #[must_use]
    pub fn for_world(world: WorldName) -> Self {
        in_world!(world, W => Self::new::<W>())
    }

    fn new<W: Served>() -> Self {
        Self {
            action: inline_schema::<W::ActionFields>(Contract::Deserialize).to_value(),
            observation: observation::<W>("Observation"),
            state: inline_schema::<StateFields>(Contract::Serialize).to_value(),
            reset_observation: reset_observation::<W>(),
            reset: reset_schema::<W>(),
        }
    }

    /// Returns the reply of `/schema`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "action": self.action,
            "observation": self.observation,
            "state": self.state,
            "reset_observation": self.reset_observation,
        })
    }
}

/// Closes the objects of a schema: they have no other properties than those that it names.
fn close(schema: &mut Schema) {
    if schema.get("properties").is_some() {
        schema
            .ensure_object()
            .entry("additionalProperties")
            .or_insert(false.into());
    }
}

/// An observation: the fields that all worlds share, and the world's own.
#[derive(JsonSchema)]
#[schemars(rename = "{P}OfAgent")]
#[allow(dead_code, reason = "only its schema is used")]
pub(crate) struct WorldObservation<P> {
    /// At the reset: what is played, and the budgets of the session. At the end: the score and the digest
    /// of the episode.
    metadata: Map<String, Value>,
    /// Name of the world.
    world: WorldName,
    /// The observation as a prompt for a language model, with the form of the answer; left out if the reset
    /// asks for prompt=none.
    #[schemars(with = "String", skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    #[schemars(flatten)]
    payload: P,
}

/// An observation with its reward, as OpenEnv describes it.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct RewardedObservation<P> {
    /// True once the episode has ended.
    done: bool,
    /// Reward of the last action, 0 to 1; null before the first action.
    #[schemars(range(min = 0, max = 1))]
    reward: Option<f64>,
    #[schemars(flatten)]
    observation: WorldObservation<P>,
}

fn observation<W: Served>(title: &str) -> Value {
    let mut schema = inline_schema::<RewardedObservation<W::Payload>>(Contract::Serialize);
    RecursiveTransform(close).transform(&mut schema);
    schema.insert("title".to_owned(), format!("{}{title}", W::NAME).into());
    schema.insert("description".to_owned(), W::DESCRIPTION.into());
    let mut schema = schema.to_value();
    if let Some(fields) = schema["properties"].as_object_mut() {
        fields.retain(|name, _| !W::WITHHELD.contains(&name.as_str()));
    }
    let about = schema["properties"]["world"]["description"].take();
    schema["properties"]["world"] =
        json!({"type": "string", "const": W::NAME, "description": about});
    schema
}

fn reset_observation<W: Served>() -> Value {
    let mut schema = observation::<W>("ResetObservation");
    schema["properties"]["reward"] =
        json!({"type": "null", "description": "No reward before the first action."});
    schema
}

/// The episode as its client sees it. The seed tells everything: keep it from agents.
#[derive(JsonSchema)]
#[schemars(rename = "State", extend("additionalProperties" = true))]
#[allow(dead_code, reason = "only its schema is used")]
pub(crate) struct StateFields {
    /// Id given at the reset, else one derived from the episode.
    episode_id: Option<String>,
    /// Actions since the reset.
    step_count: u64,
    /// Id of the session, for /act.
    session_id: String,
    /// True once the episode has ended.
    done: bool,
    #[schemars(flatten)]
    episode: Option<EpisodeState>,
}

/// The fields of the state that there are after a reset.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct EpisodeState {
    /// Name of the world.
    world: String,
    /// Name of the task.
    task: String,
    /// Seed of the episode.
    seed: u64,
    /// Mode in which the random streams are seeded.
    streams: String,
    /// Name of the rules in force.
    rules: String,
    /// Steps of the budget that were used; an action may use several.
    budget_used: u64,
    /// Step budget of the episode.
    max_steps: u64,
    /// Score of the episode, once it has ended.
    score: Option<f64>,
    /// Digest of the trajectory: its size and hash.
    digest: String,
}

/// The fields of a reset. Fields that no environment has are ignored.
#[derive(JsonSchema)]
#[schemars(rename = "ResetRequest", extend("additionalProperties" = true))]
#[allow(dead_code, reason = "only its schema is used")]
pub(crate) struct ResetRequest {
    /// Seed, also as the text of an integer; a random training seed if left out.
    #[schemars(range(min = 0, max = SEED_MAX))]
    seed: Option<u64>,
    /// Id that the state shows.
    #[schemars(length(max = 255))]
    episode_id: Option<String>,
    /// Name of the world.
    world: Option<WorldName>,
    /// Name of a task of the world; 1 to 3 for task1 to task3.
    #[schemars(extend("type" = ["string", "integer", "null"]))]
    task: Option<String>,
    /// Rules, such as hardened.
    rules: Option<String>,
    /// Mode in which the random streams are seeded.
    streams: Option<Streams>,
    /// Prompt in the observation.
    #[schemars(extend("enum" = ["reference", "none", null]))]
    prompt: Option<String>,
    /// step: the world's rewards; score: 0 until the end, then the score, so that the sum is the score.
    #[schemars(extend("enum" = ["step", "score", null]))]
    reward: Option<String>,
}

fn reset_schema<W: Served>() -> Value {
    let mut schema = inline_schema::<ResetRequest>(Contract::Deserialize).to_value();
    let names = W::STREAMS.iter().map(|streams| Some(streams.name()));
    schema["properties"]["streams"]["enum"] = names.chain([None]).collect();
    schema
}

/// Returns the description of a world.
#[must_use]
pub fn description(world: WorldName) -> &'static str {
    in_world!(world, W => W::DESCRIPTION)
}

/// Returns the text of `/metadata` about all worlds: what they are, and how the score is made.
#[must_use]
pub fn readme() -> String {
    let mut text = String::from(
        "# Sentinel\n\nWorlds for agent oversight. A reset takes the fields world, task, rules, streams, seed, \
         prompt and reward; the observation holds a prompt for a language model.\n",
    );
    for world in WorldName::ALL {
        let (name, rule) = in_world!(*world, W => (W::NAME, W::SCORE_RULE));
        text.push_str(&format!(
            "\n## {name}\n\n{}. {rule}.\n",
            description(*world)
        ));
    }
    text.push_str(
        "\nWith reward=score, the rewards of an episode sum to its score in every world.\n",
    );
    text
}
