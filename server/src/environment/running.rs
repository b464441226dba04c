//! An episode that runs, of any world.

use std::sync::Arc;

use sentinel_env::message::ParseError;
use sentinel_env::num::round_to;
use sentinel_env::protocol::{MessageError, MessageErrorOf, Session};
use sentinel_env::{TaskName, WorldName, in_world};
use sentinel_policy::text::PromptStyle;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::outcome::{Failure, Transport};
use super::reset::{Defaults, ResetFields, RewardMode, episode_spec, reset_metadata};

use crate::policy::{ActError, ActJob, ServedPolicy};
use crate::validation::FieldError;
use crate::worlds::Served;

/// An episode of any world.
pub(super) trait Running: Send {
    fn world(&self) -> WorldName;
    fn is_done(&self) -> bool;
    fn step(&mut self, action: &str) -> Result<(), Failure>;
    fn write_reply(&self, transport: Transport, out: &mut Vec<u8>);
    fn state(&self) -> Value;
    fn act(&self, policy: &Arc<ServedPolicy>) -> Result<ActJob, ActError>;
}

/// Starts the episode that the fields ask for, in the session with this id.
pub(super) fn start(
    defaults: &Defaults,
    fields: ResetFields,
    session_id: &str,
) -> Result<Box<dyn Running>, String> {
    let world = defaults.world_of(&fields)?;
    in_world!(world, W => {
        let running = RunningEpisode::<W>::start(defaults, world, fields, session_id)?;
        Ok(Box::new(running))
    })
}

/// An episode of one world.
pub(super) struct RunningEpisode<W: Served> {
    world: WorldName,
    session: Session<W>,
    memory: W::Memory,
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
    fn start(
        defaults: &Defaults,
        world: WorldName,
        fields: ResetFields,
        session_id: &str,
    ) -> Result<Self, String> {
        let spec = episode_spec::<W>(defaults, world, &fields)?;
        let session = Session::<W>::new(&spec.setup());
        let session = session.with_session_id(session_id.to_owned());
        let mut memory = W::Memory::default();
        W::update_memory(&mut memory, session.episode().observation());
        let episode_id = fields.episode_id.clone();
        Ok(Self {
            world,
            metadata: reset_metadata::<W>(defaults, &spec, &fields),
            memory,
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

impl<W: Served> Running for RunningEpisode<W> {
    fn world(&self) -> WorldName {
        self.world
    }

    fn is_done(&self) -> bool {
        W::is_done(self.session.episode().observation())
    }

    fn step(&mut self, action: &str) -> Result<(), Failure> {
        let applied = self
            .session
            .apply_json(action, &mut W::Curriculum::default());
        let transition = applied.map_err(|error| failure::<W>(error, action))?;
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
        policy.job::<W>(setup, self.session.actions().to_vec())
    }
}

/// Returns the error of a refused action: what is no action of the world has the wrong form, and all
/// else is a refusal of the environment.
fn failure<W: Served>(error: MessageErrorOf<W>, action: &str) -> Failure {
    let reason = match error {
        MessageError::Parse(ParseError::NotJson(reason)) => return Failure::NotJson(reason),
        MessageError::Parse(ParseError::Form(reason)) => reason,
        MessageError::Action(error) => error.to_string(),
        refused => return Failure::Execution(refused.to_string()),
    };
    Failure::Invalid(vec![FieldError::not_an_action(&[], &reason, action)])
}
