//! Errors of the algorithms.

use sentinel_options::SeedRange;
use sentinel_options::tasks::TasksError;
use sentinel_policy::nn::ModelError;
use sentinel_rl::RlError;
use sentinel_tensor::DeviceReadError;
use sentinel_tensor::device::DeviceError;

/// The reason why an update cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An option with an invalid value.
    #[error("option {option} should be {allowed}")]
    Option {
        /// The name of the option.
        option: &'static str,
        /// The allowed values, in words.
        allowed: &'static str,
    },
    /// Two ranges of seeds overlap.
    #[error("{one} {a} and {other} {b} overlap: the ranges must be disjoint, change one of them")]
    Seeds {
        /// The name of the first range.
        one: &'static str,
        /// The seeds of the first range.
        a: SeedRange,
        /// The name of the second range.
        other: &'static str,
        /// The seeds of the second range.
        b: SeedRange,
    },
    /// The configuration is for another environment.
    #[error("the configuration is for world {found}, and this is {wanted}")]
    World {
        /// The environment of the configuration.
        found: String,
        /// The environment that is trained on.
        wanted: &'static str,
    },
    /// Rules that the world does not know.
    #[error("option rules: {0}")]
    Rules(String),
    /// Tasks that the world does not know.
    #[error(transparent)]
    Tasks(#[from] TasksError),
    /// A teacher that the world does not have.
    #[error("unknown teacher {name:?}: use one of {}", known.join(", "))]
    Teacher {
        /// The name that was given.
        name: String,
        /// The names of the policies that exist.
        known: Vec<String>,
    },
    /// A term that the reward of the world does not have.
    #[error(
        "option without_reward_term: world {world} has no term {name:?} to leave out; it has {}",
        list_or_none(known)
    )]
    RewardTerm {
        /// The name that was given.
        name: String,
        /// The name of the world.
        world: &'static str,
        /// The names of the terms that can be left out.
        known: Vec<&'static str>,
    },
    /// A teacher whose actions the network cannot represent.
    #[error(
        "teacher {0}: none of its actions can be expressed by the network (Network::encode_action): choose another teacher"
    )]
    NoLabels(String),
    /// A world whose hidden states cannot be sampled from public evidence, which look-ahead needs.
    #[error(
        "world {world} cannot sample hidden states from public evidence (Learn::action_comparison), \
         which look-ahead needs: use sentinel train"
    )]
    NoHiddenStates {
        /// The name of the world.
        world: &'static str,
    },
    /// An option of the loss, or an input of it.
    #[error(transparent)]
    Loss(#[from] RlError),
    /// A model that this build cannot run.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A device that is not available.
    #[error(transparent)]
    NoDevice(#[from] DeviceError),
    /// The device returned no numbers for a tensor.
    #[error(transparent)]
    Device(#[from] DeviceReadError),
    /// A saved state of training that belongs to another network.
    #[error("the saved state belongs to another network")]
    State,
    /// A loss or gradient is infinite or not a number.
    #[error("the {0} is not finite")]
    NotFinite(&'static str),
    /// A loss or gradient that is not finite, with the information that reproduces it.
    #[error(
        "update {update}: {source}; it played seeds {}..{} of each task",
        seeds.start, seeds.end
    )]
    Diverged {
        /// The number of the update.
        update: usize,
        /// The value that was not finite.
        source: Box<Error>,
        /// The range of seeds that the update played.
        seeds: std::ops::Range<u64>,
    },
}

/// Returns names for an error, or a word for none.
fn list_or_none(names: &[&str]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    }
}
