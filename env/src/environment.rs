//! The environment interface: one trait on the episode value, and small traits for what only some
//! environments have.
//!
//! [`Environment`] is all that a batch, a policy, a tournament or a trainer needs. [`World`] adds what
//! a named world of the command line and of replay files has: a name, tasks and rules.

use std::error::Error;
use std::fmt::{Debug, Display};

use crate::controller::{Controller, DifficultyProfile};
use crate::digest::Digest;
use crate::rng::Streams;
use crate::rules::{RuleChange, Rules};
use crate::task::TaskName;

/// Number of episodes that [`Environment::reset_many`] starts at once.
pub const RESET_LANES: usize = 16;

/// What one step returns, in Gymnasium's words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transition<I> {
    /// Reward of the action. On the last step of a world that pays one, the terminal reward.
    pub reward: f64,
    /// Whether the episode ended by its own rules.
    pub terminated: bool,
    /// Whether the episode was cut off by a limit.
    pub truncated: bool,
    /// What the step did, in the environment's own terms. May hold hidden facts: for evaluators,
    /// never for policies.
    pub info: I,
}

impl<I> Transition<I> {
    /// Returns whether the episode has ended, for either reason.
    pub const fn is_last(&self) -> bool {
        self.terminated || self.truncated
    }
}

/// Configuration of an episode that contains its seed.
pub trait Seeded: Copy + Debug + PartialEq + Send + Sync + 'static {
    /// Returns the seed.
    fn seed(&self) -> u64;

    /// Returns the same configuration with another seed.
    #[must_use]
    fn with_seed(self, seed: u64) -> Self;
}

/// An episode of an environment, as a plain value: a clone continues exactly as the original does.
pub trait Environment: Clone + Debug + Send + Sync + 'static {
    /// Everything that decides an episode besides the actions.
    type Setup: Seeded;
    /// What an agent does in one step.
    type Action: Copy + Debug + PartialEq + Send + Sync + 'static;
    /// What a policy may see.
    type Observation: Debug;
    /// What a step did, beyond its reward.
    type Info: Copy + Debug + Send + Sync;
    /// Why a step was refused.
    type StepError: Error + Copy + PartialEq + Send + Sync;

    /// Starts an episode.
    #[must_use]
    fn reset(setup: &Self::Setup) -> Self;

    /// Starts one episode per seed, each otherwise as `setup` says, and writes them over `out`.
    /// Environments override it where seeding side by side is faster than one after another.
    #[inline]
    fn reset_many(setup: &Self::Setup, seeds: &[u64; RESET_LANES], out: &mut [Self]) {
        for (episode, seed) in out.iter_mut().zip(seeds) {
            *episode = Self::reset(&setup.with_seed(*seed));
        }
    }

    /// Takes one action.
    ///
    /// # Errors
    /// After the end, or when the action names something that does not exist. The episode is
    /// unchanged then.
    fn step(&mut self, action: Self::Action) -> Result<Transition<Self::Info>, Self::StepError>;

    /// Returns what a policy may see.
    fn observation(&self) -> &Self::Observation;

    /// Returns what the episode was made from.
    fn setup(&self) -> &Self::Setup;

    /// Returns whether the episode that shows `observation` has ended.
    fn is_done(observation: &Self::Observation) -> bool;

    /// Returns the steps of the budget used at `observation`, which need not be the number of actions.
    fn step_count(observation: &Self::Observation) -> u32;

    /// Returns the score of the episode so far, in `[0, 1]`.
    fn score(&self) -> f64;
}

/// An environment with hidden state that evaluators and privileged policies may read.
pub trait PrivilegedState: Environment {
    /// What no policy that is a fair baseline may see.
    type Hidden: Debug;

    /// Returns the hidden state.
    fn hidden(&self) -> &Self::Hidden;
}

/// An environment whose difficulty follows how well earlier episodes went.
pub trait AdaptiveDifficulty: Environment {
    /// Returns the same setup at another difficulty.
    fn with_difficulty(setup: &Self::Setup, profile: DifficultyProfile) -> Self::Setup;

    /// Tells the controller how this ended episode went.
    fn report_to(&self, controller: &mut Controller);
}

/// The functions of [`AdaptiveDifficulty`] as a value, for code that serves all worlds.
#[derive(Clone, Copy, Debug)]
pub struct Adaptive<E: Environment> {
    /// [`AdaptiveDifficulty::with_difficulty`].
    pub with_difficulty: fn(&E::Setup, DifficultyProfile) -> E::Setup,
    /// [`AdaptiveDifficulty::report_to`].
    pub report_to: fn(&E, &mut Controller),
}

impl<E: AdaptiveDifficulty> Adaptive<E> {
    /// The functions of `E`.
    pub const HOOKS: Self = Self {
        with_difficulty: E::with_difficulty,
        report_to: E::report_to,
    };
}

/// An environment with a name, tasks and rules, so that files and the command line can name its
/// episodes.
pub trait World: Environment<Action: Display> {
    /// The name used in files and on the command line.
    const NAME: &'static str;
    /// The ways of seeding that the world supports, its default first; never empty.
    const STREAMS: &'static [Streams] = &[Streams::Independent];
    /// Adaptive difficulty, where the world has it.
    const ADAPTIVE: Option<Adaptive<Self>> = None;
    /// Its tasks.
    type Task: TaskName;
    /// The changes to its published rules that can be switched on.
    type Change: RuleChange;

    /// Returns the setup of the episode that `origin` names, at default difficulty.
    fn from_origin(origin: Origin<Self>) -> Self::Setup;

    /// Returns the task, seed, streams and rules of a setup.
    fn origin(setup: &Self::Setup) -> Origin<Self>;

    /// Returns the largest number of steps that an episode of the task can last.
    fn max_steps(task: Self::Task) -> u32;

    /// Writes the step just taken into a digest: the action, what it brought, and the state it led to.
    fn write_digest(&self, info: &Self::Info, digest: &mut Digest);

    /// Returns the reward events of a step: that of the action itself, and the terminal one where the
    /// step ended the episode and the world pays both.
    #[must_use]
    fn reward_events(transition: &Transition<Self::Info>) -> (f64, Option<f64>) {
        (transition.reward, None)
    }

    /// Returns `preferred` where the world supports it, else the world's default.
    #[must_use]
    fn streams_or_default(preferred: Streams) -> Streams {
        const {
            assert!(
                !Self::STREAMS.is_empty(),
                "a world supports some way of seeding"
            );
        };
        let known = Self::STREAMS;
        if known.contains(&preferred) {
            preferred
        } else {
            known[0]
        }
    }
}

/// The identity of an episode, apart from its difficulty: what a file or a command line says of it.
pub struct Origin<W: World> {
    /// The task.
    pub task: W::Task,
    /// The seed.
    pub seed: u64,
    /// How the random streams are seeded.
    pub streams: Streams,
    /// What differs from the published rules.
    pub rules: Rules<W::Change>,
}

impl<W: World> Origin<W> {
    /// An episode with independent streams under the published rules.
    #[must_use]
    pub const fn new(task: W::Task, seed: u64) -> Self {
        Self {
            task,
            seed,
            streams: Streams::Independent,
            rules: Rules::REFERENCE,
        }
    }

    /// Returns the setup of the episode.
    #[must_use]
    pub fn setup(self) -> W::Setup {
        W::from_origin(self)
    }
}

/// An origin can be the whole setup of a world.
impl<W: World> Seeded for Origin<W> {
    fn seed(&self) -> u64 {
        self.seed
    }

    fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }
}

// Derives would ask the same of `W`.
impl<W: World> Clone for Origin<W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W: World> Copy for Origin<W> {}

impl<W: World> PartialEq for Origin<W> {
    fn eq(&self, other: &Self) -> bool {
        (self.task, self.seed, self.streams, self.rules)
            == (other.task, other.seed, other.streams, other.rules)
    }
}

impl<W: World> Eq for Origin<W> {}

impl<W: World> Debug for Origin<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Origin")
            .field("world", &W::NAME)
            .field("task", &self.task)
            .field("seed", &self.seed)
            .field("streams", &self.streams)
            .field("rules", &self.rules)
            .finish()
    }
}

impl<W: World> Origin<W> {
    fn order(&self) -> (Rules<W::Change>, u8, W::Task, u64) {
        (self.rules, self.streams as u8, self.task, self.seed)
    }
}

/// By rules, streams, task and seed.
impl<W: World> Ord for Origin<W> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

impl<W: World> PartialOrd for Origin<W> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
