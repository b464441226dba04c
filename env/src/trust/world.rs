//! This world, for code that serves all worlds.

use super::{
    Action, ActionMessage, Adversary, Change, Episode, EpisodeOver, Fingerprints, Hidden,
    Observation, ResetError, ResetRequest, Rules, Session, Setup, Step, StepError, StepResult,
    Task,
};
use crate::controller::{Controller, DifficultyProfile};
use crate::digest::Digest;
use crate::protocol::Protocol;
use crate::rng::Streams;
use crate::world::{AHEAD, Origin, World};

/// The trust world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrustWorld;

impl World for TrustWorld {
    const NAME: &'static str = "trust";
    const STREAMS: &'static [Streams] = &[Streams::Reference, Streams::Independent];
    type Task = Task;
    type Change = Change;
    type Setup = Setup;
    type Episode = Episode;
    type Action = Action;
    type Observation = Observation;
    type Hidden = Hidden;
    type Step = Step;
    type StepError = EpisodeOver;
    const KINDS: usize = Action::ALL.len();
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
        task.base_budget()
    }

    fn reset(setup: &Setup) -> Episode {
        Episode::reset(setup)
    }

    fn reset_all(setup: &Setup, seeds: &[u64; AHEAD], out: &mut [Episode]) {
        let profile = &setup.profile;
        let adversary = Adversary {
            threshold: profile.adversarial_threshold,
            benign_confidence: profile.adversary_benign_confidence,
            poison_confidence: profile.adversary_poison_confidence,
        };
        let hidden = Hidden::from_seeds(*seeds, setup.streams, adversary);
        for ((episode, seed), (variant, hidden)) in out.iter_mut().zip(seeds).zip(hidden) {
            *episode = Episode::start(&Self::seeded(setup, *seed), variant, hidden);
        }
    }

    #[inline]
    fn step(episode: &mut Episode, action: Action) -> Result<Step, EpisodeOver> {
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
        episode.tally().actions
    }

    fn score(episode: &Episode) -> f64 {
        episode.tally().score()
    }

    fn report_to(episode: &Episode, controller: &mut Controller) {
        episode.report_to(controller);
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

impl Protocol for TrustWorld {
    type Session = Session;
    type Request = ResetRequest;
    type ResetError = ResetError;
    type Message = ActionMessage;
    type MessageError = StepError;
    type Reply = StepResult;
    const NOT_RESET: StepError = StepError::NotReset;

    fn open(setup: &Setup) -> Session {
        Session::new(setup)
    }

    fn start(request: &ResetRequest, controller: &Controller) -> Result<Session, ResetError> {
        Session::reset(request, controller)
    }

    fn act(session: &mut Session, action: Action) -> Result<Step, EpisodeOver> {
        session.act(action)
    }

    fn send(
        session: &mut Session,
        message: &ActionMessage,
        controller: &mut Controller,
    ) -> Result<StepResult, StepError> {
        session.step(message, controller)
    }

    fn reply(session: &Session) -> StepResult {
        session.result()
    }

    fn episode(session: &Session) -> &Episode {
        session.episode()
    }

    fn last_step(session: &Session) -> Option<&Step> {
        session.last_step()
    }
}
