//! The names and tasks of the cluster world, for files and the command line.

use super::Episode;
use super::model::{Change, Setup, Size, Step};
use super::reward::TERMS;
use crate::digest::Digest;
use crate::environment::{
    AdaptiveHooks, Environment, EpisodeSpec, PrivilegedState, RewardTermInfo, Transition, World,
};
use crate::rng::Streams;
use crate::task::Task;

impl World for Episode {
    const NAME: &'static str = "cluster";
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
        u32::from(Size::for_task(task).max_steps)
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

    /// Adds the action, its reward, the states of jobs and GPUs, the trust in all workers and the
    /// true progress of all jobs to the digest.
    fn write_digest(&self, step: &Step, digest: &mut Digest) {
        let (o, hidden, tally) = (self.observation(), self.hidden(), self.tally());
        let attack = step.attack.map_or(0, |attack| attack.kind as u64 + 1);
        digest.write_u64(u64::from(step.action.signature()));
        digest.write_u64(attack << 16 | u64::from(o.step_count) << 8 | u64::from(step.success));
        digest.write_bytes(&o.jobs.counts());
        digest.write_bytes(&hidden.pool.counts());
        digest.write_f64(step.grades.reward);
        digest.write_f64(tally.total_reward);
        for trust in o.ledger.trust() {
            digest.write_f64(trust);
        }
        for actual in &hidden.progress[..o.jobs.rows().len()] {
            digest.write_f64(*actual);
        }
        if let Some(end) = &step.terminal {
            digest.write_f64(end.reward);
            digest.write_f64(tally.score());
            digest.write_f64(hidden.peek_failures());
            digest.write_f64(hidden.peek_attacks());
        }
    }
}
