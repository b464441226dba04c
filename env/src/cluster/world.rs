//! This world, for code that serves all worlds.

use super::{
    Action, ActionMessage, ActionType, Change, Episode, Fingerprints, Hidden, MessageError,
    Observation, ResetRequest, Rules, Session, Setup, Size, Step, StepError, StepResult, Task,
    UnknownTask,
};
use crate::controller::{Controller, DifficultyProfile};
use crate::digest::Digest;
use crate::protocol::Protocol;
use crate::rng::Streams;
use crate::world::{Origin, World};

/// The cluster world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClusterWorld;

impl World for ClusterWorld {
    const NAME: &'static str = "cluster";
    const STREAMS: &'static [Streams] = &[Streams::Reference, Streams::Independent];
    type Task = Task;
    type Change = Change;
    type Setup = Setup;
    type Episode = Episode;
    type Action = Action;
    type Observation = Observation;
    type Hidden = Hidden;
    type Step = Step;
    type StepError = StepError;
    const KINDS: usize = ActionType::ALL.len();
    type PerAction = [f64; Self::KINDS];
    type Fingerprints = Fingerprints;

    fn setup(task: Task, seed: u64, streams: Streams, rules: Rules) -> Setup {
        Setup::new(task, seed, streams).under(rules)
    }

    fn seeded(setup: &Setup, seed: u64) -> Setup {
        Setup { seed, ..*setup }
    }

    fn at_difficulty(setup: &Setup, profile: DifficultyProfile) -> Setup {
        Setup { profile, ..*setup }
    }

    fn origin(setup: &Setup) -> Origin<Self> {
        Origin {
            task: setup.task,
            seed: setup.seed,
            streams: setup.streams,
            rules: setup.rules,
        }
    }

    fn max_steps(task: Task) -> u8 {
        Size::of(task).max_steps
    }

    fn reset(setup: &Setup) -> Episode {
        Episode::reset(setup)
    }

    #[inline]
    fn step(episode: &mut Episode, action: Action) -> Result<Step, StepError> {
        episode.step(action)
    }

    #[inline]
    fn observation(episode: &Episode) -> &Observation {
        episode.observation()
    }

    fn hidden(episode: &Episode) -> &Hidden {
        episode.hidden()
    }

    fn setup_of(episode: &Episode) -> &Setup {
        episode.setup()
    }

    #[inline]
    fn is_done(observation: &Observation) -> bool {
        observation.done()
    }

    fn steps_used(observation: &Observation) -> u8 {
        observation.step_count
    }

    fn actions_taken(episode: &Episode) -> u16 {
        // Every action takes one step.
        u16::from(episode.observation().step_count)
    }

    fn score(episode: &Episode) -> f64 {
        episode.tally().score()
    }

    fn report_to(episode: &Episode, controller: &mut Controller) {
        let counters = &episode.observation().counters;
        controller.update(counters.detections, counters.attempts);
    }

    #[inline]
    fn reward(step: &Step) -> f64 {
        step.grades.reward
    }

    #[inline]
    fn terminal(step: &Step) -> Option<f64> {
        step.terminal.map(|end| end.reward)
    }

    fn fingerprint(prints: &mut Fingerprints, episode: &Episode, step: &Step) {
        prints.push(episode, step);
    }

    fn digest(prints: &Fingerprints) -> Digest {
        prints.digest()
    }

    fn trail(prints: &Fingerprints) -> &[u32] {
        prints.trail()
    }
}

impl Protocol for ClusterWorld {
    type Session = Session;
    type Request = ResetRequest;
    type ResetError = UnknownTask;
    type Message = ActionMessage;
    type MessageError = MessageError;
    type Reply = StepResult;
    const NOT_RESET: MessageError = MessageError::NotReset;

    fn open(setup: &Setup) -> Session {
        Session::new(setup)
    }

    fn start(request: &ResetRequest, controller: &Controller) -> Result<Session, UnknownTask> {
        Session::reset(request, controller)
    }

    fn act(session: &mut Session, action: Action) -> Result<Step, StepError> {
        session.act(action)
    }

    fn send(
        session: &mut Session,
        message: &ActionMessage,
        controller: &mut Controller,
    ) -> Result<StepResult, MessageError> {
        session.step(message, controller)
    }

    fn reply(session: &Session) -> StepResult {
        session.result()
    }

    fn episode(session: &Session) -> &Episode {
        session.episode()
    }

    fn last_step(session: &Session) -> Option<&Step> {
        session.steps().last()
    }
}
