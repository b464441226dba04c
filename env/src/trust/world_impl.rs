//! The names and tasks of the trust world, for files and the command line.

use super::Episode;
use super::model::{Action, Change, Layout, Setup, Step};
use crate::digest::Digest;
use crate::environment::{Adaptive, Environment, Origin, Transition, World};
use crate::rng::Streams;
use crate::task::Task;

impl World for Episode {
    const NAME: &'static str = "trust";
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
        u32::from(Layout::for_task(task).budget)
    }

    fn reward_events(transition: &Transition<Step>) -> (f64, Option<f64>) {
        let Step {
            grades, terminal, ..
        } = &transition.info;
        (grades.reward, terminal.map(|end| end.reward))
    }

    /// Adds the action, its reward and the trust in all slots to the digest.
    fn write_digest(&self, step: &Step, digest: &mut Digest) {
        let (o, tally) = (self.observation(), self.tally());
        let action = Action::ALL
            .iter()
            .position(|a| *a == step.action)
            .unwrap_or(Action::ALL.len());
        digest.int(action as u64);
        digest.int(u64::from(o.step_count) << 8 | u64::from(step.adversarial));
        digest.float(step.grades.reward);
        digest.float(tally.total_reward);
        for trust in o.ledger.trust() {
            digest.float(trust);
        }
        if let Some(end) = &step.terminal {
            digest.float(end.reward);
            digest.float(end.calibration);
            digest.float(tally.score());
        }
    }
}
