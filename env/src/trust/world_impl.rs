//! The names and tasks of the trust world, for files and the command line.

use super::Episode;
use super::model::{Action, Change, Setup, Step, TaskLayout};
use super::reward::{TERMS, forced_events};
use crate::digest::Digest;
use crate::environment::{
    AdaptiveHooks, Environment, EpisodeSpec, RewardTermInfo, Transition, World,
};
use crate::rng::Streams;
use crate::task::Task;

impl World for Episode {
    const NAME: &'static str = "trust";
    const STREAMS: &'static [Streams] = &[Streams::Reference, Streams::Independent];
    const ADAPTIVE: Option<AdaptiveHooks<Self>> = Some(AdaptiveHooks::HOOKS);
    const REWARD_TERMS: &'static [RewardTermInfo] = &TERMS;
    type Task = Task;
    type Change = Change;

    fn setup_from_spec(spec: EpisodeSpec<Self>) -> Setup {
        Setup::new(spec.task, spec.seed, spec.streams).with_rules(spec.rules)
    }

    fn episode_spec(setup: &Setup) -> EpisodeSpec<Self> {
        EpisodeSpec {
            task: setup.task,
            seed: setup.seed,
            streams: setup.streams,
            rules: setup.rules,
        }
    }

    fn max_steps(task: Task) -> u32 {
        u32::from(TaskLayout::for_task(task).budget)
    }

    fn reward_events(transition: &Transition<Step>) -> (f64, Option<f64>) {
        let Step {
            grades, terminal, ..
        } = &transition.info;
        (grades.reward, terminal.map(|end| end.reward))
    }

    fn total_reward(&self) -> f64 {
        self.tally().total_reward
    }

    fn reward_count(&self) -> f64 {
        f64::from(self.tally().reward_events)
    }

    fn term_reward(&self, term: usize, step: &Step) -> f64 {
        step.term_reward(term, self.observation())
    }

    fn reward_count_without_term(&self, term: usize) -> f64 {
        f64::from(self.tally().reward_events - forced_events(term, self.observation()))
    }

    /// Adds the action, its reward and the trust in all slots to the digest.
    fn write_digest(&self, step: &Step, digest: &mut Digest) {
        let (o, tally) = (self.observation(), self.tally());
        let action = Action::ALL
            .iter()
            .position(|a| *a == step.action)
            .unwrap_or(Action::ALL.len());
        digest.write_u64(action as u64);
        digest.write_u64(u64::from(o.step_count) << 8 | u64::from(step.adversarial));
        digest.write_f64(step.grades.reward);
        digest.write_f64(tally.total_reward);
        for trust in o.ledger.trust() {
            digest.write_f64(trust);
        }
        if let Some(end) = &step.terminal {
            digest.write_f64(end.reward);
            digest.write_f64(end.calibration);
            digest.write_f64(tally.score());
        }
    }
}
