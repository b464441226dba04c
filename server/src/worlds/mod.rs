//! The parts of the server that each world implements, and its schemas.

mod cluster;
mod polyguard;
mod trust;

use sentinel_env::protocol::{Protocol, Session};
use sentinel_env::{World as _, WorldName, in_world};
use sentinel_policy::text::TextWorld;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// A world that the server offers.
pub trait Served: TextWorld + Protocol<Message: Send> {
    /// The task of episodes whose reset names none.
    const DEFAULT_TASK: &'static str;
    /// The description of the world, for `/metadata`.
    const DESCRIPTION: &'static str;
    /// The relation of the score to the rewards of the steps, in one sentence.
    const SCORE_RULE: &'static str = "The score is the mean of all reward events, and the last step pays the terminal reward \
                                      in place of its own, so the sum of the step rewards is not the score";
    /// The JSON object with the schemas of the world: `action`, the properties of `observation`, and
    /// which of these are `optional`.
    const SCHEMAS: &'static str;

    /// Builds the observation for an agent: no hidden state, and no id, because ids are derived from
    /// the seed.
    fn agent_observation(session: &Session<Self>) -> impl Serialize;
}

/// The schemas of a world, as `/schema` answers.
#[derive(Clone, Debug)]
pub struct Schemas {
    /// The schema of an action, with the optional `metadata` that every action may have.
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
        // The texts are part of the program, and a test parses them.
        let mut own: Map<String, Value> = serde_json::from_str(W::SCHEMAS).unwrap_or_default();
        let mut action = own.remove("action").unwrap_or_default();
        if let Some(properties) = action.get_mut("properties").and_then(Value::as_object_mut) {
            let metadata = json!({
                "type": "object",
                "description": "Data for the client's own use; ignored",
                "additionalProperties": true,
            });
            properties.insert("metadata".to_owned(), metadata);
        }
        let optional = own.remove("optional").unwrap_or_default();
        let optional: Vec<String> = serde_json::from_value(optional).unwrap_or_default();
        let own: Map<String, Value> = match own.remove("observation") {
            Some(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        let observation =
            |title: &str, reward: Value| observation::<W>(&own, &optional, title, reward);
        let first = json!({"type": "null", "description": "No reward before the first action"});
        let either = json!({
            "anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "null"}],
            "description": "Reward of the last action, 0 to 1; null before the first action",
        });
        Self {
            action,
            observation: observation("Observation", either),
            state: state_schema(),
            reset_observation: observation("ResetObservation", first),
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

fn observation<W: Served>(
    own: &Map<String, Value>,
    optional: &[String],
    title: &str,
    reward: Value,
) -> Value {
    let mut properties = Map::new();
    let mut add = |name: &str, schema: Value| properties.insert(name.to_owned(), schema);
    add(
        "done",
        json!({"type": "boolean", "description": "True once the episode has ended"}),
    );
    add("reward", reward);
    add(
        "metadata",
        json!({
            "type": "object", "additionalProperties": true,
            "description": "At the reset: what is played, and the budgets of the session. At the end: \
                            the score and the digest of the episode",
        }),
    );
    add(
        "world",
        json!({"type": "string", "const": W::NAME, "description": "Name of the world"}),
    );
    add(
        "prompt",
        json!({
            "type": "string",
            "description": "The observation as a prompt for a language model, with the form of the \
                            answer; left out if the reset asks for prompt=none",
        }),
    );
    let mut required = vec!["done", "reward", "metadata", "world"];
    for (name, schema) in own {
        add(name, schema.clone());
        if !optional.contains(name) {
            required.push(name);
        }
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("{}{title}", W::NAME),
        "description": W::DESCRIPTION,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn state_schema() -> Value {
    let maybe = |kind: &str, about: &str| json!({"anyOf": [{"type": kind}, {"type": "null"}], "default": null, "description": about});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "State",
        "description": "The episode as its client sees it. The seed tells everything: keep it from agents",
        "type": "object",
        "properties": {
            "episode_id": maybe("string", "Id given at the reset, else one derived from the episode"),
            "step_count": {"type": "integer", "minimum": 0, "description": "Actions since the reset"},
            "session_id": {"type": "string", "description": "Id of the session, for /act"},
            "world": maybe("string", "Name of the world"),
            "task": maybe("string", "Name of the task"),
            "seed": maybe("integer", "Seed of the episode"),
            "streams": maybe("string", "How the random streams are seeded"),
            "rules": maybe("string", "Rules in force"),
            "budget_used": maybe("integer", "Steps of the budget that were used; an action may use several"),
            "max_steps": maybe("integer", "Step budget"),
            "done": {"type": "boolean", "description": "True once the episode has ended"},
            "score": maybe("number", "Score of the episode, once it has ended"),
            "digest": maybe("string", "Digest of the trajectory: its size and hash"),
        },
        "required": ["episode_id", "step_count"],
        "additionalProperties": true,
    })
}

fn reset_schema<W: Served>() -> Value {
    let streams: Vec<&str> = W::STREAMS.iter().map(|streams| streams.name()).collect();
    json!({
        "title": "ResetRequest",
        "type": "object",
        "properties": {
            "seed": {"type": "integer", "minimum": 0, "description": "Seed; a random training seed if left out"},
            "episode_id": {"type": "string", "maxLength": 255, "description": "Id that the state shows"},
            "world": {"type": "string", "enum": WorldName::ALL, "description": "Name of the world"},
            "task": {"type": "string", "description": "Name of a task of the world"},
            "rules": {"type": "string", "description": "Rules, such as hardened"},
            "streams": {"type": "string", "enum": streams, "description": "How the random streams are seeded"},
            "prompt": {"type": "string", "enum": ["reference", "none"], "description": "Prompt in the observation"},
            "reward": {"type": "string", "enum": ["step", "score"], "description":
                "step: the world's rewards; score: 0 until the end, then the score, so that the sum is the score"},
        },
        "additionalProperties": true,
    })
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
