//! An environment of any world, as one client uses it: reset, step, state, and what a policy would do.

mod outcome;
mod reset;
mod running;

pub(crate) use reset::random_seed;

use std::sync::Arc;

use sentinel_env::WorldName;
use serde_json::{Map, Value, json};

pub use outcome::{Failure, Transport};
pub use reset::{Defaults, ResetFields};
use running::{Running, start};

use crate::policy::{ActError, ActJob, ServedPolicy};

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
        let running = start(&self.defaults, fields, &self.session_id);
        self.running = Some(running.map_err(Failure::Execution)?);
        Ok(())
    }

    /// Applies the text of an action, as the client sent it. What it means is decided by the world.
    ///
    /// # Errors
    /// Before the first reset, after the end of the episode, or if the world refuses the action. Nothing
    /// changes then.
    pub fn step(&mut self, action: &str) -> Result<(), Failure> {
        let not_reset = || Failure::Execution("no episode: reset before the first step".to_owned());
        self.running.as_mut().ok_or_else(not_reset)?.step(action)
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
            .map_or(self.defaults.world(), |running| running.world())
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
