//! Episodes and players behind interfaces that do not depend on the world.
//!
//! The two refer to each other: an episode starts players, and a player chooses for an episode.

use std::any::Any;

use pyo3::prelude::*;
use sentinel_env::{Seeded, Session, Transition};
use sentinel_policy::nn::{Network, Observe};
use sentinel_policy::replay::{Replay, ReplayRow, to_lines};

use crate::follower::Follower;
use crate::policy::PyPolicy;
use crate::space_encoding::{
    ObserverOf, PythonWorld, check_values, decode, encode, observation_size, write_mask,
};
use crate::spec::{ended, value_error};

/// The reward of a step, and whether the episode was terminated or truncated.
pub(super) type StepResult = (f64, bool, bool);

/// A step as it was asked for, from which it can be taken again.
#[derive(Clone)]
enum Step {
    /// The numbers of an action.
    Values(Vec<u16>),
    /// The text of a JSON message.
    Message(String),
    /// The choice of a player. The session has the action.
    Player,
}

/// A step in a pickle: its numbers, or a text with `true` if the text is a row of a replay, which a
/// step of a player becomes.
pub(super) type StepState = (Vec<u16>, Option<String>, bool);

/// An episode of any world.
pub(super) trait AnyEpisode: Any + Send + Sync {
    fn boxed_clone(&self) -> Box<dyn AnyEpisode>;
    fn state(&self) -> PyResult<Vec<StepState>>;
    /// Takes the steps of a state again.
    fn restore(&mut self, steps: &[StepState]) -> PyResult<()>;
    fn as_any(&self) -> &dyn Any;
    fn world(&self) -> &'static str;
    fn step(&mut self, values: &[i64]) -> PyResult<StepResult>;
    fn step_json(&mut self, text: &str) -> PyResult<StepResult>;
    fn done(&self) -> bool;
    fn seed(&self) -> u64;
    fn task(&self) -> &'static str;
    fn step_count(&self) -> u32;
    fn max_steps(&self) -> u32;
    fn action_count(&self) -> usize;
    fn score(&self) -> f64;
    fn digest(&self) -> String;
    fn observation_size(&self) -> usize;
    fn action_sizes(&self) -> &[usize];
    fn write_observation(&self, out: &mut [f32]);
    fn write_mask(&self, out: &mut [bool]);
    fn payload(&self) -> PyResult<String>;
    fn replay(&self, name: &str) -> PyResult<String>;
    /// Starts a player that has chosen after each of the given numbers of actions.
    fn player(&self, policy: &PyPolicy, choices: &[usize]) -> PyResult<Box<dyn AnyPlayer>>;
    /// Takes the action that a player of this episode chose.
    fn step_player(&mut self, player: &mut dyn AnyPlayer) -> PyResult<StepResult>;
}

/// A player of any world.
pub(super) trait AnyPlayer: Send {
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn choose(&mut self, episode: &dyn AnyEpisode) -> PyResult<(Option<Vec<i64>>, String)>;
    fn probabilities(&self) -> Option<Vec<f64>>;
    fn belief(&self) -> Option<Vec<Vec<f64>>>;
    /// Returns the numbers of actions after which the player has chosen.
    fn choices(&self) -> Vec<usize>;
}

/// An episode of one world.
pub(super) struct EpisodeOf<W: PythonWorld> {
    session: Session<W>,
    observer: ObserverOf<W>,
    /// One entry for each action of the session.
    steps: Vec<Step>,
    sizes: Vec<usize>,
}

impl<W: PythonWorld> EpisodeOf<W> {
    pub(super) fn new(setup: &W::Setup) -> Self {
        let session = Session::<W>::new(setup);
        let mut observer = W::Net::default().observer();
        observer.observe(session.episode().observation());
        Self {
            sizes: session.episode().action_sizes(),
            session,
            observer,
            steps: Vec::new(),
        }
    }

    fn observation(&self) -> &W::Observation {
        self.session.episode().observation()
    }

    fn check_running(&self) -> PyResult<()> {
        if W::is_done(self.observation()) {
            return Err(ended());
        }
        Ok(())
    }

    fn act(&mut self, action: W::Action, step: Step) -> PyResult<StepResult> {
        let transition = self.session.act(action).map_err(value_error)?;
        Ok(self.after(&transition, step))
    }

    /// Notes a step that the session has taken.
    fn after(&mut self, transition: &Transition<W::Info>, step: Step) -> StepResult {
        self.observer.observe(self.session.episode().observation());
        self.steps.push(step);
        (
            transition.reward,
            transition.terminated,
            transition.truncated,
        )
    }

    fn step_values(&mut self, values: Vec<u16>) -> PyResult<StepResult> {
        let action = decode::<W>(&values, self.observation());
        self.act(action, Step::Values(values))
    }

    /// Returns the rows of a replay, one for each action.
    fn rows(&self, name: &str) -> PyResult<Vec<ReplayRow<W>>> {
        let mut past = W::reset(self.session.episode().setup());
        let mut rows = Vec::with_capacity(self.steps.len());
        for action in self.session.actions() {
            rows.push(ReplayRow::new(&past, *action, name));
            past.step(*action).map_err(value_error)?;
        }
        Ok(rows)
    }
}

impl<W: PythonWorld> AnyEpisode for EpisodeOf<W> {
    fn boxed_clone(&self) -> Box<dyn AnyEpisode> {
        Box::new(Self {
            session: self.session.clone(),
            observer: self.observer.clone(),
            steps: self.steps.clone(),
            sizes: self.sizes.clone(),
        })
    }

    fn state(&self) -> PyResult<Vec<StepState>> {
        let rows = self.rows("")?;
        let pairs = self.steps.iter().zip(&rows);
        let state = pairs.map(|(step, row)| match step {
            Step::Values(values) => Ok((values.clone(), None, false)),
            Step::Message(text) => Ok((Vec::new(), Some(text.clone()), false)),
            Step::Player => to_lines([row])
                .map(|line| (Vec::new(), Some(line), true))
                .map_err(value_error),
        });
        state.collect()
    }

    fn restore(&mut self, steps: &[StepState]) -> PyResult<()> {
        for (values, text, is_row) in steps {
            match text {
                None => {
                    let values: Vec<i64> = values.iter().map(|value| i64::from(*value)).collect();
                    self.step(&values)?;
                }
                Some(text) if *is_row => {
                    self.check_running()?;
                    let replay = Replay::<W>::parse(text);
                    let row = replay.iter().next();
                    let row = row.ok_or_else(|| value_error("the state has an unreadable row"))?;
                    self.act(row.row.action.action, Step::Player)?;
                }
                Some(text) => {
                    self.step_json(text)?;
                }
            }
        }
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn world(&self) -> &'static str {
        W::NAME
    }

    fn step(&mut self, values: &[i64]) -> PyResult<StepResult> {
        self.check_running()?;
        let mut checked = vec![0; self.sizes.len()];
        if values.len() != checked.len() {
            let (needed, found) = (checked.len(), values.len());
            return Err(value_error(format!(
                "an action has {needed} numbers, not {found}"
            )));
        }
        check_values::<W>(values, &self.sizes, &mut checked).map_err(value_error)?;
        self.step_values(checked)
    }

    fn step_json(&mut self, text: &str) -> PyResult<StepResult> {
        self.check_running()?;
        let transition = (self.session)
            .apply_json(text, &mut W::Curriculum::default())
            .map_err(value_error)?;
        Ok(self.after(&transition, Step::Message(text.to_owned())))
    }

    fn done(&self) -> bool {
        W::is_done(self.observation())
    }

    fn seed(&self) -> u64 {
        self.session.episode().setup().seed()
    }

    fn task(&self) -> &'static str {
        use sentinel_env::TaskName as _;
        W::episode_spec(self.session.episode().setup()).task.name()
    }

    fn step_count(&self) -> u32 {
        W::step_count(self.observation())
    }

    fn max_steps(&self) -> u32 {
        W::max_steps(W::episode_spec(self.session.episode().setup()).task)
    }

    fn action_count(&self) -> usize {
        self.steps.len()
    }

    fn score(&self) -> f64 {
        self.session.episode().score()
    }

    fn digest(&self) -> String {
        self.session.digest().digest().to_string()
    }

    fn observation_size(&self) -> usize {
        observation_size::<W>()
    }

    fn action_sizes(&self) -> &[usize] {
        &self.sizes
    }

    fn write_observation(&self, out: &mut [f32]) {
        W::write_features(&self.observer.features(self.observation()), out);
    }

    fn write_mask(&self, out: &mut [bool]) {
        let mut all = vec![false; <W::Net as Network>::LOGITS];
        write_mask::<W>(self.observation(), &self.sizes, &mut all, out);
    }

    fn payload(&self) -> PyResult<String> {
        serde_json::to_string(&self.session.reply()).map_err(value_error)
    }

    fn replay(&self, name: &str) -> PyResult<String> {
        to_lines(&self.rows(name)?).map_err(value_error)
    }

    fn player(&self, policy: &PyPolicy, choices: &[usize]) -> PyResult<Box<dyn AnyPlayer>> {
        let (setup, actions) = (self.session.episode().setup(), self.session.actions());
        let mut follower = Follower::<W>::new(policy, setup)?;
        for at in choices {
            let before = actions.get(..*at).ok_or_else(other_episode)?;
            follower.choose(setup, before)?;
        }
        Ok(Box::new(follower))
    }

    fn step_player(&mut self, player: &mut dyn AnyPlayer) -> PyResult<StepResult> {
        self.check_running()?;
        let follower: &mut Follower<W> =
            player.as_any_mut().downcast_mut().ok_or_else(other_world)?;
        let setup = self.session.episode().setup();
        let action = follower.choose(setup, self.session.actions())?;
        self.act(action, Step::Player)
    }
}

impl<W: PythonWorld> AnyPlayer for Follower<W> {
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn choose(&mut self, episode: &dyn AnyEpisode) -> PyResult<(Option<Vec<i64>>, String)> {
        let episode: &EpisodeOf<W> = episode.as_any().downcast_ref().ok_or_else(other_world)?;
        episode.check_running()?;
        let session = &episode.session;
        let action = Self::choose(self, session.episode().setup(), session.actions())?;
        let values = encode::<W>(action, episode.observation());
        Ok((values, action.to_string()))
    }

    fn probabilities(&self) -> Option<Vec<f64>> {
        self.player().probabilities()
    }

    fn belief(&self) -> Option<Vec<Vec<f64>>> {
        self.player().belief()
    }

    fn choices(&self) -> Vec<usize> {
        Self::choices(self).to_vec()
    }
}

fn other_episode() -> PyErr {
    value_error("the player belongs to another episode: make a new one")
}

fn other_world() -> PyErr {
    value_error("the player and the episode are of different worlds")
}
