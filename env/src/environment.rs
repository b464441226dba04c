//! The environment interface: one trait on the episode value, and small traits for features that
//! only some environments have.
//!
//! [`Environment`] is all that a batch, a policy, a tournament or a trainer needs. [`World`] adds
//! what is needed to refer to an environment on the command line and in replay files: a name, tasks
//! and rules.

use std::error::Error;
use std::fmt::{Debug, Display};

use crate::adaptive_difficulty::{DifficultyController, DifficultyProfile};
use crate::digest::Digest;
use crate::named::Named;
use crate::rng::Streams;
use crate::rules::{RuleChange, Rules, RulesError};
use crate::task::{TaskName, join_names, joined_task_names};

/// Number of episodes that [`Environment::reset_many`] starts in one call.
pub const RESET_LANES: usize = 16;

/// The result of one step, with the field names of Gymnasium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transition<I> {
    /// Reward of the action. On the last step of a world that pays a terminal reward, the terminal
    /// reward.
    pub reward: f64,
    /// `true` if the episode ended by its own rules.
    pub terminated: bool,
    /// `true` if the episode was cut off by a limit.
    pub truncated: bool,
    /// Details of the step, in the environment's own types. May contain hidden state, so it is
    /// meant for evaluators and must not be given to policies.
    pub info: I,
}

impl<I> Transition<I> {
    /// Returns `true` if the episode has ended, for either reason.
    pub const fn is_last(&self) -> bool {
        self.terminated || self.truncated
    }
}

/// An episode configuration that includes the seed.
pub trait Seeded: Copy + Debug + PartialEq + Send + Sync + 'static {
    /// Returns the seed of the configuration.
    fn seed(&self) -> u64;

    /// Returns the same configuration with another seed.
    #[must_use]
    fn with_seed(self, seed: u64) -> Self;
}

/// An episode of an environment, as a plain value: a clone continues exactly as the original does.
///
/// ```
/// use sentinel_env::cluster::{Action, ClusterEnv, Setup, Task};
/// use sentinel_env::{Environment, rng::Streams};
///
/// let mut episode = ClusterEnv::reset(&Setup::new(Task::Task1, 7, Streams::Independent));
/// let mut copy = episode.clone();
/// let transition = episode.step(Action::Tick)?;
/// assert_eq!(copy.step(Action::Tick)?.reward, transition.reward);
/// assert!(!transition.is_last() && ClusterEnv::step_count(episode.observation()) == 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Environment: Clone + Debug + Send + Sync + 'static {
    /// Everything that determines an episode, apart from the actions.
    type Setup: Seeded;
    /// An action, taken in one step.
    type Action: Copy + Debug + PartialEq + Send + Sync + 'static;
    /// The part of the state that a policy may see.
    type Observation: Debug;
    /// Details of a step beyond its reward.
    type Info: Copy + Debug + Send + Sync;
    /// The reason why a step was refused.
    type StepError: Error + Copy + PartialEq + Send + Sync;

    /// Starts an episode of `setup`.
    #[must_use]
    fn reset(setup: &Self::Setup) -> Self;

    /// Starts one episode per seed, with all other settings taken from `setup`, and overwrites
    /// `out` with them. Environments override this method if they can seed several episodes in
    /// parallel lanes faster than one after another.
    #[inline]
    fn reset_many(setup: &Self::Setup, seeds: &[u64; RESET_LANES], out: &mut [Self]) {
        for (episode, seed) in out.iter_mut().zip(seeds) {
            *episode = Self::reset(&setup.with_seed(*seed));
        }
    }

    /// Applies one action and returns the transition.
    ///
    /// # Errors
    /// Returns an error if the episode has ended or the action names something that does not exist.
    /// The episode is then unchanged.
    fn step(&mut self, action: Self::Action) -> Result<Transition<Self::Info>, Self::StepError>;

    /// Returns the current observation, the only part of the state that a policy may see.
    fn observation(&self) -> &Self::Observation;

    /// Returns the setup from which the episode was started.
    fn setup(&self) -> &Self::Setup;

    /// Returns `true` if the episode that produced `observation` has ended.
    fn is_done(observation: &Self::Observation) -> bool;

    /// Returns the number of budget steps used at `observation`. One action may use several steps,
    /// so this need not equal the number of actions.
    fn step_count(observation: &Self::Observation) -> u32;

    /// Returns the score of the episode so far, 0..=1.
    fn score(&self) -> f64;
}

/// An environment with hidden state that evaluators and privileged policies may read.
pub trait PrivilegedState: Environment {
    /// The hidden state. Policies that serve as fair baselines must not read it.
    type Hidden: Debug;

    /// Returns the hidden state of the episode.
    fn hidden(&self) -> &Self::Hidden;
}

/// An environment whose difficulty depends on the results of earlier episodes.
pub trait AdaptiveDifficulty: Environment {
    /// Returns the same setup with the difficulty of `profile`.
    fn with_difficulty(setup: &Self::Setup, profile: DifficultyProfile) -> Self::Setup;

    /// Reports the result of this ended episode to the controller.
    fn report_to(&self, controller: &mut DifficultyController);
}

/// The functions of [`AdaptiveDifficulty`] as a value, for code that handles all worlds.
#[derive(Clone, Copy, Debug)]
pub struct AdaptiveHooks<E: Environment> {
    /// The function [`AdaptiveDifficulty::with_difficulty`] of `E`.
    pub with_difficulty: fn(&E::Setup, DifficultyProfile) -> E::Setup,
    /// The function [`AdaptiveDifficulty::report_to`] of `E`.
    pub report_to: fn(&E, &mut DifficultyController),
}

impl<E: AdaptiveDifficulty> AdaptiveHooks<E> {
    /// The two functions of `E`.
    pub const HOOKS: Self = Self {
        with_difficulty: E::with_difficulty,
        report_to: E::report_to,
    };
}

/// An environment with a name, tasks and rules, so that files and the command line can refer to its
/// episodes.
pub trait World: Environment<Action: Display> {
    /// Name of the world in files and on the command line.
    const NAME: &'static str;
    /// The stream modes that the world supports, default first; never empty.
    const STREAMS: &'static [Streams] = &[Streams::Independent];
    /// The functions for adaptive difficulty, or `None` if the world does not support it.
    const ADAPTIVE: Option<AdaptiveHooks<Self>> = None;
    /// The terms of the reward that training can leave out.
    const REWARD_TERMS: &'static [RewardTermInfo] = &[];
    /// The type of the world's tasks.
    type Task: TaskName;
    /// The changes to the world's published rules that can be switched on.
    type Change: RuleChange;

    /// Returns the setup of the episode that `spec` identifies, at default difficulty.
    fn setup_from_spec(spec: EpisodeSpec<Self>) -> Self::Setup;

    /// Returns the task, seed, streams and rules of a setup.
    fn episode_spec(setup: &Self::Setup) -> EpisodeSpec<Self>;

    /// Returns the step budget of an episode of the task at default difficulty.
    fn max_steps(task: Self::Task) -> u32;

    /// Adds the step just taken to a digest: the action, its results, and the state it led to.
    fn write_digest(&self, info: &Self::Info, digest: &mut Digest);

    /// Returns the reward events of a step: the reward of the action itself, and the terminal
    /// reward if the step ended the episode and the world pays both.
    #[must_use]
    fn reward_events(transition: &Transition<Self::Info>) -> (f64, Option<f64>) {
        (transition.reward, None)
    }

    /// Returns the sum of the reward events so far. By default it is computed from the score as their
    /// mean.
    #[must_use]
    fn total_reward(&self) -> f64 {
        self.score() * self.reward_count()
    }

    /// Returns the number of reward events so far. By default there is one per step.
    #[must_use]
    fn reward_count(&self) -> f64 {
        f64::from(Self::step_count(self.observation()))
    }

    /// Returns the amount that the term [`World::REWARD_TERMS`]`[term]` added to
    /// [`World::total_reward`] in the step just taken, including the end of the episode; negative for a
    /// penalty. It is the difference from the reward that the same step would have without the term.
    #[must_use]
    fn term_reward(&self, _term: usize, _info: &Self::Info) -> f64 {
        0.0
    }

    /// Returns [`World::reward_count`] without the term [`World::REWARD_TERMS`]`[term]`.
    #[must_use]
    fn reward_count_without_term(&self, _term: usize) -> f64 {
        self.reward_count()
    }

    /// Returns [`Environment::score`] without the term [`World::REWARD_TERMS`]`[term]`; `term_total` is
    /// the sum of [`World::term_reward`] over the steps so far. By default it is the mean of the reward
    /// events that are left.
    #[must_use]
    fn score_without_term(&self, term: usize, term_total: f64) -> f64 {
        (self.total_reward() - term_total) / self.reward_count_without_term(term).max(1.0)
    }

    /// Returns `preferred` if the world supports it, else the world's default.
    #[must_use]
    fn streams_or_default(preferred: Streams) -> Streams {
        const {
            assert!(
                !Self::STREAMS.is_empty(),
                "a world must support at least one stream mode"
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

/// A term of a world's reward that training can leave out, to show what the policy then becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RewardTermInfo {
    /// Name on the command line and in files.
    pub name: &'static str,
    /// Label of the term in menus.
    pub label: &'static str,
    /// One sentence about what the term rewards.
    pub meaning: &'static str,
}

/// The identity of an episode, apart from its difficulty: the part that files and the command line
/// state.
pub struct EpisodeSpec<W: World> {
    /// The task of the episode.
    pub task: W::Task,
    /// The seed of the episode.
    pub seed: u64,
    /// The mode in which the random streams are seeded.
    pub streams: Streams,
    /// The rules in force, as changes to the published rules.
    pub rules: Rules<W::Change>,
}

impl<W: World> EpisodeSpec<W> {
    /// Creates the spec of an episode with independent streams under the published rules.
    #[must_use]
    pub const fn new(task: W::Task, seed: u64) -> Self {
        Self {
            task,
            seed,
            streams: Streams::Independent,
            rules: Rules::REFERENCE,
        }
    }

    /// Parses the names of an episode. Without a task it is the first one of the world, without
    /// streams the independent ones if the world has them, and without rules the published ones.
    ///
    /// # Errors
    /// Returns an error with the names that are known.
    pub fn from_names(names: EpisodeNames<'_>, seed: u64) -> Result<Self, EpisodeNameError> {
        let task = match names.task {
            None => W::Task::ALL[0],
            Some(name) => W::Task::parse(name).ok_or_else(|| EpisodeNameError::UnknownTask {
                name: name.to_owned(),
                world: W::NAME,
                known: joined_task_names::<W::Task>(" or "),
            })?,
        };
        let rules = match names.rules {
            None => Rules::REFERENCE,
            Some(text) => Rules::parse(text)?,
        };
        let streams = match names.streams {
            None => W::streams_or_default(Streams::Independent),
            Some(name) => Streams::parse(name)
                .ok_or_else(|| EpisodeNameError::UnknownStreams(name.to_owned()))?,
        };
        if !W::STREAMS.contains(&streams) {
            let known: Vec<&str> = W::STREAMS.iter().map(|known| known.name()).collect();
            return Err(EpisodeNameError::OtherStreams {
                streams,
                world: W::NAME,
                known: known.join(" or "),
            });
        }
        Ok(Self {
            task,
            seed,
            streams,
            rules,
        })
    }

    /// Returns the setup of the episode.
    #[must_use]
    pub fn setup(self) -> W::Setup {
        W::setup_from_spec(self)
    }
}

/// The names of an episode, as a request or a caller in another language states them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EpisodeNames<'a> {
    /// Name of the task.
    pub task: Option<&'a str>,
    /// Name of the stream mode.
    pub streams: Option<&'a str>,
    /// Named rule set with single changes.
    pub rules: Option<&'a str>,
}

/// A name that identifies no episode of a world.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EpisodeNameError {
    /// The world has no such task.
    #[error("unknown task {name:?} of world {world}: use {known}")]
    UnknownTask {
        /// The name.
        name: String,
        /// Name of the world.
        world: &'static str,
        /// The tasks of the world.
        known: String,
    },
    /// There is no such stream mode.
    #[error("unknown streams {0:?}: use {known}", known = join_names(Streams::NAMES, " or "))]
    UnknownStreams(String),
    /// The world does not support the stream mode.
    #[error("world {world} has no streams {streams}: use {known}")]
    OtherStreams {
        /// The stream mode.
        streams: Streams,
        /// Name of the world.
        world: &'static str,
        /// The stream modes of the world.
        known: String,
    },
    /// The rules cannot be parsed.
    #[error(transparent)]
    Rules(#[from] RulesError),
}

/// Lets a world use its spec as the complete setup.
impl<W: World> Seeded for EpisodeSpec<W> {
    fn seed(&self) -> u64 {
        self.seed
    }

    fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }
}

// Implemented by hand because derives would require the same traits of `W`.
impl<W: World> Clone for EpisodeSpec<W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W: World> Copy for EpisodeSpec<W> {}

impl<W: World> PartialEq for EpisodeSpec<W> {
    fn eq(&self, other: &Self) -> bool {
        (self.task, self.seed, self.streams, self.rules)
            == (other.task, other.seed, other.streams, other.rules)
    }
}

impl<W: World> Eq for EpisodeSpec<W> {}

impl<W: World> Debug for EpisodeSpec<W> {
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

impl<W: World> EpisodeSpec<W> {
    fn order(&self) -> (Rules<W::Change>, u8, W::Task, u64) {
        (self.rules, self.streams as u8, self.task, self.seed)
    }
}

/// Orders by rules, streams, task and seed, in this sequence.
impl<W: World> Ord for EpisodeSpec<W> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

impl<W: World> PartialOrd for EpisodeSpec<W> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
