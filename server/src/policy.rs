//! A policy that answers `/act`: what it would do in an episode that a client plays.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use sentinel_env::{Named as _, World, WorldName, in_world};
use sentinel_policy::text::{PromptState, PromptStyle, TextWorld};
use sentinel_policy::{Playable, Player, Scripted as _};
use serde_json::{Value, json};

use crate::worlds::Served;

/// A computation that returns an action as JSON, or the reason why there is none. It can take long.
pub type ActJob = Box<dyn FnOnce() -> Result<Value, String> + Send>;

/// The reason why a policy cannot be asked about an episode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActError {
    /// There is no episode yet.
    #[error("no episode: reset before asking the policy")]
    NotReset,
    /// The episode has ended.
    #[error("the episode has ended: reset before asking the policy")]
    Over,
    /// The policy plays another world.
    #[error("the policy {policy} plays world {own}, and this episode is of world {world}")]
    OtherWorld {
        /// Name of the policy.
        policy: String,
        /// The world that it plays.
        own: &'static str,
        /// The world of the episode.
        world: &'static str,
    },
}

/// A policy of a world that chooses one action at a time, also one that needs long.
pub trait Actor<W: Served>: Send + Sync {
    /// Chooses an action for the current state of an episode.
    ///
    /// # Errors
    /// Returns the reason why there is no action, such as a completion that cannot be read.
    fn act(&self, state: &PromptState<W>) -> Result<W::Action, String>;
}

/// An [`Actor`] made from a function that starts a player for an episode.
pub struct PlayerActor<F>(pub F);

impl<W: Served, F> Actor<W> for PlayerActor<F>
where
    F: Fn(&W::Setup) -> Player<W> + Send + Sync,
{
    fn act(&self, state: &PromptState<W>) -> Result<W::Action, String> {
        let mut player = (self.0)(state.episode().setup());
        state.replay_to(&mut player);
        player
            .act(state.episode())
            .ok_or_else(|| "the episode has ended".to_owned())
    }
}

/// The policy of a server.
pub struct ServedPolicy {
    name: String,
    world: WorldName,
    status: Value,
    /// A `Box<dyn Actor<W>>` of the policy's world.
    actor: Box<dyn Any + Send + Sync>,
}

impl fmt::Debug for ServedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ServedPolicy");
        shown
            .field("name", &self.name)
            .field("world", &self.world)
            .finish_non_exhaustive()
    }
}

impl ServedPolicy {
    /// Creates a policy of a world. `kind` and `details` are what `/policy/model_status` tells.
    #[must_use]
    pub fn new<W: Served>(
        world: WorldName,
        name: &str,
        kind: &str,
        details: Value,
        actor: Box<dyn Actor<W>>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            world,
            status: json!({"policy": name, "world": world.name(), "kind": kind, "details": details}),
            actor: Box::new(actor),
        }
    }

    /// Returns the scripted policy of a world with this name, or `None` if there is none.
    ///
    /// # Errors
    /// If the policy reads hidden state, which no client may learn from its actions.
    pub fn scripted(world: WorldName, name: &str) -> Option<Result<Self, String>> {
        in_world!(world, W => Self::scripted_in::<W>(world, name))
    }

    fn scripted_in<W: Served>(world: WorldName, name: &str) -> Option<Result<Self, String>> {
        let policy = <W as Playable>::PolicyName::parse(name)?;
        if policy.is_privileged() {
            let reason = format!("policy {name} reads hidden state, which its actions would tell");
            return Some(Err(reason));
        }
        let actor = PlayerActor(move |setup: &W::Setup| policy.start(setup));
        Some(Ok(Self::new::<W>(
            world,
            name,
            "scripted",
            Value::Null,
            Box::new(actor),
        )))
    }

    /// Returns the name of the policy.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the world that the policy plays.
    #[must_use]
    pub const fn world(&self) -> WorldName {
        self.world
    }

    /// Returns the reply of `/policy/model_status`.
    #[must_use]
    pub const fn status(&self) -> &Value {
        &self.status
    }

    /// Returns the computation of the action after `actions` in an episode of `setup`.
    ///
    /// # Errors
    /// If the policy plays another world.
    pub fn job<W: Served>(
        self: &Arc<Self>,
        setup: W::Setup,
        actions: Vec<W::Action>,
    ) -> Result<ActJob, ActError> {
        if self.actor.downcast_ref::<Box<dyn Actor<W>>>().is_none() {
            return Err(ActError::OtherWorld {
                policy: self.name.clone(),
                own: self.world.name(),
                world: <W as World>::NAME,
            });
        }
        let policy = Arc::clone(self);
        Ok(Box::new(move || {
            let state = replay_actions::<W>(&setup, &actions)?;
            let actor = policy.actor.downcast_ref::<Box<dyn Actor<W>>>();
            let actor = actor.ok_or("the policy plays another world")?;
            let action = actor.act(&state)?;
            let observation = state.observation();
            let text = W::format_action(PromptStyle::Compact, observation, action);
            serde_json::from_str(&text).map_err(|error| format!("the action is not JSON: {error}"))
        }))
    }
}

/// Plays `actions` from the start of an episode, for a policy that is asked about its current state.
///
/// # Errors
/// Returns the refusal of the first action that does not fit.
fn replay_actions<W: TextWorld + World>(
    setup: &W::Setup,
    actions: &[W::Action],
) -> Result<PromptState<W>, String> {
    let mut state = PromptState::<W>::new(setup);
    for action in actions {
        state.step(*action).map_err(|error| error.to_string())?;
    }
    Ok(state)
}
