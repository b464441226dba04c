//! The trait of worlds whose actions can be stored in a replay file.

use sentinel_env::World;
use serde_json::Value;

use super::fields::{Fields, RowError};
use super::{Diagnostic, EpisodeRows};

/// A world whose actions can be written to a replay file and read back.
pub trait Recordable: World {
    /// Number of kinds of action that a policy weighs: the length of the probabilities in a row.
    const ACTION_DIM: usize;
    /// Shape `[variables, classes]` of a policy's belief, if policies of the world have one.
    const BELIEF_SHAPE: Option<[usize; 2]> = None;
    /// Key of the free text that belongs to an action, if actions of the world have one.
    const TEXT_KEY: Option<&'static str> = None;

    /// Returns an identifier of the sampled scenario. It differs if a recording comes from another
    /// build or stream mode.
    fn scenario_id(&self) -> String;

    /// Returns the action that a replay takes at a step without a row.
    fn fallback(observation: &Self::Observation) -> Self::Action;

    /// Returns the form of an action that a file stores. It must have the same effect at
    /// `observation`. Worlds override it if actions have details that no file stores.
    fn to_recorded(_observation: &Self::Observation, action: Self::Action) -> Self::Action {
        action
    }

    /// Returns the keys and values of an action in a file, in order.
    fn write_action(action: Self::Action) -> Vec<(&'static str, Value)>;

    /// Reads an action as written by [`Recordable::write_action`], and the text under
    /// [`Recordable::TEXT_KEY`] if the action needs it.
    ///
    /// # Errors
    /// If the keys are not a valid action of the world.
    fn read_action(fields: &mut Fields) -> Result<Self::Action, RowError>;

    /// Checks that everything an action refers to exists in a task.
    ///
    /// # Errors
    /// If the task lacks something that the action refers to.
    fn check_action(_action: Self::Action, _task: Self::Task) -> Result<(), RowError> {
        Ok(())
    }

    /// Returns the free text to store with an action of a policy that generates no text.
    fn default_text(_action: Self::Action) -> Option<&'static str> {
        None
    }

    /// Checks the prompts and completions of an episode's rows against the replayed episode. Worlds
    /// with a text interface override it with
    /// [`check_transcripts`](crate::text::check_transcripts).
    fn check_transcripts(_rows: &EpisodeRows<Self>, _setup: &Self::Setup) -> Vec<Diagnostic> {
        Vec::new()
    }
}
