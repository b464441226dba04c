//! Writes a row as one line of a replay file, and reads and validates such a line.

use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_env::strict_json::Json;
use sentinel_env::task::{TaskName, joined_task_names};
use sentinel_env::{EpisodeSpec, World, WorldName};
use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};

use super::fields::{Fields, RawRow, RowError, describe_value, excerpt};
use super::{LmTranscript, Recordable, RecordedAction, ReplayRow};
use crate::SEED_MAX;

impl<W: Recordable> RecordedAction<W> {
    /// Creates the record of an action taken at `observation`, without reasoning and with the
    /// default text of its world.
    #[must_use]
    pub fn new(observation: &W::Observation, action: W::Action) -> Self {
        let action = W::to_recorded(observation, action);
        Self {
            action,
            text: W::default_text(action).map(str::to_owned),
            reasoning: None,
        }
    }
}

impl<W: Recordable> Serialize for RecordedAction<W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in W::write_action(self.action) {
            map.serialize_entry(key, &value)?;
        }
        if let Some(key) = W::TEXT_KEY {
            map.serialize_entry(key, &self.text)?;
        }
        map.serialize_entry("reasoning", &self.reasoning)?;
        map.end()
    }
}

impl<W: Recordable> Serialize for ReplayRow<W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let origin = &self.origin;
        let mut s = serializer.serialize_struct("ReplayRow", 15)?;
        s.serialize_field("task_type", origin.task.name())?;
        s.serialize_field("seed", &origin.seed)?;
        s.serialize_field("step", &self.step)?;
        s.serialize_field("action", &self.action)?;
        s.serialize_field("scenario_id", &self.scenario_id)?;
        s.serialize_field("model_source", &self.model_source)?;
        if W::NAME != WorldName::DEFAULT.name() {
            s.serialize_field("world", W::NAME)?;
        }
        if origin.streams != Streams::Reference {
            s.serialize_field("streams", &origin.streams)?;
        }
        if origin.rules != Rules::REFERENCE {
            s.serialize_field("rules", &origin.rules)?;
        }
        if let Some(probabilities) = &self.probabilities {
            s.serialize_field("probabilities", probabilities)?;
        }
        if let Some(belief) = &self.belief {
            s.serialize_field("belief", belief)?;
        }
        if let Some(transcript) = &self.transcript {
            if let Some(prompt) = &transcript.prompt {
                s.serialize_field("prompt", prompt)?;
            }
            if let Some(completion) = &transcript.completion {
                s.serialize_field("completion", completion)?;
            }
            let flags = [
                ("repaired", transcript.repaired),
                ("fallback", transcript.fallback),
            ];
            for (name, on) in flags {
                if on {
                    s.serialize_field(name, &on)?;
                }
            }
        }
        s.end()
    }
}

impl<'de, W: Recordable> serde::Deserialize<'de> for ReplayRow<W> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawRow::deserialize(deserializer)?;
        Self::try_from(raw).map_err(serde::de::Error::custom)
    }
}

impl RawRow {
    /// Removes and returns the name of the row's world; the default world if the key is missing.
    pub(super) fn take_world(&mut self) -> Result<String, RowError> {
        let named = self.fields.take_string("world")?;
        Ok(named.unwrap_or_else(|| WorldName::DEFAULT.name().to_owned()))
    }
}

impl<W: Recordable> TryFrom<RawRow> for ReplayRow<W> {
    type Error = RowError;

    fn try_from(mut raw: RawRow) -> Result<Self, RowError> {
        let task = raw.fields.take_required_string("task_type")?;
        let world = raw.take_world()?;
        if world != W::NAME {
            let (found, played) = (excerpt(&world), W::NAME);
            return Err(RowError::OtherWorld { found, played });
        }
        Self::from_raw(raw, &task)
    }
}

impl<W: Recordable> ReplayRow<W> {
    /// Validates a row whose world is known to be `W`.
    pub(super) fn from_raw(raw: RawRow, task: &str) -> Result<Self, RowError> {
        let RawRow { mut fields, action } = raw;
        let transcript = transcript(&mut fields)?;
        let task = W::Task::parse(task).ok_or_else(|| RowError::Task {
            found: excerpt(task),
            known: joined_task_names::<W::Task>(" or "),
        })?;
        let seed = seed(fields.take("seed"))?;
        let last = W::max_steps(task) - 1;
        let step = step(fields.take("step"), task.name(), last)?;
        let action = recorded::<W>(action.ok_or(RowError::Missing("action"))?, task)?;
        Ok(Self {
            step,
            action,
            scenario_id: fields.take_required_string("scenario_id")?,
            model_source: fields.take_required_string("model_source")?,
            origin: EpisodeSpec {
                task,
                seed,
                streams: streams::<W>(&mut fields)?,
                rules: rules::<W>(&mut fields)?,
            },
            probabilities: fields
                .take("probabilities")
                .map(|value| probabilities(&value, W::ACTION_DIM))
                .transpose()?,
            belief: fields
                .take("belief")
                .map(|value| belief::<W>(&value))
                .transpose()?,
            transcript: transcript.map(Box::new),
        })
    }
}

/// Removes and returns the transcript; `None` if all of its keys are missing or hold the default.
fn transcript(fields: &mut Fields) -> Result<Option<LmTranscript>, RowError> {
    let transcript = LmTranscript {
        prompt: fields.take_string("prompt")?,
        completion: fields.take_string("completion")?,
        repaired: fields.take_bool("repaired")?.unwrap_or(false),
        fallback: fields.take_bool("fallback")?.unwrap_or(false),
    };
    Ok(Some(transcript).filter(|transcript| *transcript != LmTranscript::default()))
}

/// Removes and returns the stream mode, which the world must support. Without the key it is the
/// reference mode.
fn streams<W: World>(fields: &mut Fields) -> Result<Streams, RowError> {
    let word = fields.take_string("streams")?;
    let streams = match &word {
        None => Streams::Reference,
        Some(word) => Streams::parse(word).ok_or_else(|| RowError::Streams(excerpt(word)))?,
    };
    if W::STREAMS.contains(&streams) {
        return Ok(streams);
    }
    let known: Vec<&str> = W::STREAMS.iter().map(|mode| mode.name()).collect();
    Err(RowError::ForeignStreams {
        streams,
        named: word.is_some(),
        world: W::NAME,
        known: known.join(" or "),
    })
}

/// Removes and returns the rules. Without the key they are the reference rules.
fn rules<W: World>(fields: &mut Fields) -> Result<Rules<W::Change>, RowError> {
    let Some(text) = fields.take_string("rules")? else {
        return Ok(Rules::REFERENCE);
    };
    Rules::parse(&text).map_err(|e| RowError::Rules(e.to_string()))
}

fn recorded<W: Recordable>(
    mut fields: Fields,
    task: W::Task,
) -> Result<RecordedAction<W>, RowError> {
    let text = W::TEXT_KEY.and_then(|key| fields.peek_string(key));
    let action = W::read_action(&mut fields)?;
    W::check_action(action, task)?;
    Ok(RecordedAction {
        action,
        text,
        reasoning: fields.take_string("reasoning")?,
    })
}

fn seed(value: Option<Json>) -> Result<u64, RowError> {
    let value = value.ok_or(RowError::Missing("seed"))?;
    let seed = value.as_u64().filter(|seed| *seed <= SEED_MAX);
    seed.ok_or_else(|| RowError::Seed(describe_value(&value)))
}

/// Validates a step, which must be an integer from 0 to `last`.
fn step(value: Option<Json>, task: &'static str, last: u32) -> Result<u32, RowError> {
    let value = value.ok_or(RowError::Missing("step"))?;
    let step = value.as_u64().and_then(|step| u32::try_from(step).ok());
    step.filter(|step| *step <= last)
        .ok_or_else(|| RowError::Step {
            found: describe_value(&value),
            task,
            last,
        })
}

fn probabilities(value: &Json, count: usize) -> Result<Vec<f64>, RowError> {
    let numbers = numbers(value).filter(|numbers| numbers.len() == count);
    let wrong = || RowError::Numbers(format!("probabilities must be a list of {count} numbers"));
    numbers.ok_or_else(wrong)
}

fn belief<W: Recordable>(value: &Json) -> Result<Vec<Vec<f64>>, RowError> {
    let Some([count, classes]) = W::BELIEF_SHAPE else {
        let none = format!("world {} has no belief: leave out the numbers", W::NAME);
        return Err(RowError::Numbers(none));
    };
    let row = |row: &Json| numbers(row).filter(|row| row.len() == classes);
    let rows: Option<Vec<Vec<f64>>> = value
        .as_array()
        .and_then(|rows| rows.iter().map(row).collect());
    let wrong = || {
        let shape = format!("belief must be {count} lists of {classes} numbers");
        RowError::Numbers(shape)
    };
    rows.filter(|rows| rows.len() == count).ok_or_else(wrong)
}

/// Returns a list of numbers in `[0, 1]`; `None` if the value is anything else.
fn numbers(value: &Json) -> Option<Vec<f64>> {
    let list = value.as_array()?.iter();
    list.map(|v| v.as_f64().filter(|x| (0.0..=1.0).contains(x)))
        .collect()
}
