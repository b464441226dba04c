//! What every world has in common, for code that serves all of them: batches, players, replays.

use std::error::Error;
use std::fmt::{Debug, Display};

use crate::controller::{Controller, DifficultyProfile};
use crate::digest::Digest;
use crate::rng::Streams;
use crate::rules::{Change, Rules};
use crate::task::TaskName;

/// Episodes that a [`crate::Batch`] starts in one go.
pub const AHEAD: usize = 8;

/// A world: from a setup to an episode, from actions to steps. Implemented by a type without
/// content that names the world, such as [`crate::trust::TrustWorld`].
pub trait World: Copy + Debug + Default + PartialEq + Send + Sync + 'static {
    /// The word used in files and on the command line.
    const NAME: &'static str;
    /// The ways of seeding that it knows, its own default first; never empty.
    const STREAMS: &'static [Streams];
    /// Its tasks.
    type Task: TaskName;
    /// The changes to the reference's rules that there are.
    type Change: Change + Debug + Send + Sync;
    /// What an episode is made from.
    type Setup: Copy + Debug + PartialEq + Send + Sync;
    /// An episode, a plain value.
    type Episode: Clone + Debug + Send + Sync;
    /// What an agent does in one step.
    type Action: Copy + Debug + PartialEq + Display + Send + Sync;
    /// What a policy may see.
    type Observation: Debug;
    /// What only an oracle may see.
    type Hidden: Debug;
    /// What one step did.
    type Step: Copy + Debug + Send + Sync;
    /// Why a step was refused; the episode is as it was.
    type StepError: Error + Copy + PartialEq + Send + Sync;
    /// How many kinds of action a policy weighs.
    const KINDS: usize;
    /// A number for each of them.
    type PerAction: Copy + Debug + PartialEq + AsRef<[f64]> + for<'a> TryFrom<&'a [f64]>;
    /// The digest of a trajectory with a mark after each step.
    type Fingerprints: Clone + Debug + Default + Send + Sync;

    /// A setup at default difficulty.
    fn setup(
        task: Self::Task,
        seed: u64,
        streams: Streams,
        rules: Rules<Self::Change>,
    ) -> Self::Setup;
    /// The same setup with another seed.
    fn seeded(setup: &Self::Setup, seed: u64) -> Self::Setup;
    /// The same setup at another difficulty.
    fn at_difficulty(setup: &Self::Setup, profile: DifficultyProfile) -> Self::Setup;
    /// Task, seed, streams and rules of a setup.
    fn origin(setup: &Self::Setup) -> Origin<Self>;
    /// Steps that an episode of the task can last.
    fn max_steps(task: Self::Task) -> u8;

    /// `usual` where the world knows this way of seeding, else its own default.
    #[must_use]
    fn streams_or_default(usual: Streams) -> Streams {
        let known = Self::STREAMS;
        let own = known.first().copied().unwrap_or(usual);
        if known.contains(&usual) { usual } else { own }
    }

    /// Starts an episode.
    fn reset(setup: &Self::Setup) -> Self::Episode;
    /// Starts episodes of one setup and several seeds; `out` holds episodes that are replaced. A
    /// world overrides it where seeding side by side is faster than one after the other.
    #[inline]
    fn reset_all(setup: &Self::Setup, seeds: &[u64; AHEAD], out: &mut [Self::Episode]) {
        for (episode, seed) in out.iter_mut().zip(seeds) {
            *episode = Self::reset(&Self::seeded(setup, *seed));
        }
    }
    /// Takes one action.
    ///
    /// # Errors
    /// After the end, or when the action names what the task lacks; nothing changes then.
    fn step(
        episode: &mut Self::Episode,
        action: Self::Action,
    ) -> Result<Self::Step, Self::StepError>;

    /// What a policy may see.
    fn observation(episode: &Self::Episode) -> &Self::Observation;
    /// What only an oracle may see.
    fn hidden(episode: &Self::Episode) -> &Self::Hidden;
    /// What the episode was made from.
    fn setup_of(episode: &Self::Episode) -> &Self::Setup;
    /// Whether the episode has ended.
    fn is_done(observation: &Self::Observation) -> bool;
    /// Steps used so far, which is not always the number of actions.
    fn steps_used(observation: &Self::Observation) -> u8;
    /// Actions taken so far.
    fn actions_taken(episode: &Self::Episode) -> u16;
    /// Score of the episode so far, 0..1.
    fn score(episode: &Self::Episode) -> f64;
    /// Tells a difficulty controller how an ended episode went: attacks caught, and attacks met.
    fn report_to(episode: &Self::Episode, controller: &mut Controller);
    /// Reward of the step itself.
    fn reward(step: &Self::Step) -> f64;
    /// Terminal reward, when the step ended the episode.
    fn terminal(step: &Self::Step) -> Option<f64>;

    /// Takes the step that `episode` just took into the digest.
    fn fingerprint(prints: &mut Self::Fingerprints, episode: &Self::Episode, step: &Self::Step);
    /// Size and hash of all steps taken in.
    fn digest(prints: &Self::Fingerprints) -> Digest;
    /// The low 32 bits of the running hash after each step.
    fn trail(prints: &Self::Fingerprints) -> &[u32];
}

/// Where an episode comes from, apart from its difficulty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<W: World> {
    /// The task.
    pub task: W::Task,
    /// The seed.
    pub seed: u64,
    /// How the streams are seeded.
    pub streams: Streams,
    /// What differs from the reference's rules.
    pub rules: Rules<W::Change>,
}
