//! The names and tasks of the cluster world, for files and the command line.

use super::Episode;
use super::model::{Change, Setup, Size, Step};
use crate::digest::Digest;
use crate::environment::{Adaptive, Environment, Origin, PrivilegedState, Transition, World};
use crate::rng::Streams;
use crate::task::Task;

impl World for Episode {
    const NAME: &'static str = "cluster";
    const STREAMS: &'static [Streams] = &[Streams::Reference, Streams::Independent];
    const ADAPTIVE: Option<Adaptive<Self>> = Some(Adaptive::HOOKS);
    type Task = Task;
    type Change = Change;

    fn from_origin(origin: Origin<Self>) -> Setup {
        Setup::new(origin.task, origin.seed, origin.streams).with_rules(origin.rules)
    }

    fn origin(setup: &Setup) -> Origin<Self> {
        Origin {
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

    /// Adds the action, its reward, the states of jobs and GPUs, the trust in all workers and the
    /// true progress of all jobs to the digest.
    fn write_digest(&self, step: &Step, digest: &mut Digest) {
        let (o, hidden, tally) = (self.observation(), self.hidden(), self.tally());
        let attack = step.attack.map_or(0, |attack| attack.kind as u64 + 1);
        digest.int(u64::from(step.action.signature()));
        digest.int(attack << 16 | u64::from(o.step_count) << 8 | u64::from(step.success));
        digest.bytes(&o.jobs.counts());
        digest.bytes(&hidden.pool.counts());
        digest.float(step.grades.reward);
        digest.float(tally.total_reward);
        for trust in o.ledger.trust() {
            digest.float(trust);
        }
        for actual in &hidden.progress[..o.jobs.rows().len()] {
            digest.float(*actual);
        }
        if let Some(end) = &step.terminal {
            digest.float(end.reward);
            digest.float(tally.score());
            digest.float(hidden.peek_failures());
            digest.float(hidden.peek_attacks());
        }
    }
}
