//! Parts of actions that the page suggests where the rules ask for all of them.

use sentinel_env::cluster::{Action, Change, GpuId, Observation};

/// Returns the action with the most urgent job, the working GPU with the most free memory as shown, and
/// the worker that the environment's own rule prefers, as far as the rules ask for them and the action
/// leaves them out.
pub(super) fn complete(o: &Observation, action: Action) -> Action {
    if !o.rules.has(Change::Choices) {
        return action;
    }
    let running = || o.jobs.most_urgent_running();
    match action {
        Action::Allocate { job, gpu, worker } => Action::Allocate {
            job: job.or_else(|| o.jobs.next_queued()),
            gpu: gpu.or_else(|| roomiest(o)),
            worker: worker.or_else(|| Some(o.calibrated_worker(&o.ledger.rounded_trust().0))),
        },
        Action::Verify {
            job,
            worker,
            force_flag,
        } => Action::Verify {
            job: job.or_else(running),
            worker,
            force_flag,
        },
        Action::RequestInfo { job, worker } => Action::RequestInfo {
            job: job.or_else(running),
            worker,
        },
        // Which job should lose its GPU is a decision that has no sensible default.
        Action::Preempt { .. } | Action::Tick => action,
    }
}

/// Returns the GPU with the most free memory as shown among those that accept jobs, the first on ties.
fn roomiest(o: &Observation) -> Option<GpuId> {
    let all = (0..).map(GpuId).zip(o.gpus());
    let accepting = all.filter(|(id, _)| o.appears_operational(*id));
    let best = accepting.max_by_key(|(id, gpu)| (gpu.free, std::cmp::Reverse(id.0)));
    best.map(|(id, _)| id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::warning::warning;
    use sentinel_env::Environment;
    use sentinel_env::cluster::{Episode, JobId, Rules, Setup, Task};
    use sentinel_env::rng::Streams;

    const ALLOCATE: Action = Action::Allocate {
        job: None,
        gpu: None,
        worker: None,
    };

    /// Plays with suggestions alone: each is an action that the rules accept, and named parts stay.
    #[test]
    fn suggestions_are_accepted() {
        let setup = Setup::new(Task::Task3, 5, Streams::Independent).with_rules(Rules::HARDENED);
        let mut episode = Episode::reset(&setup);
        let mut placed = 0;
        while !episode.observation().done() {
            let o = *episode.observation();
            let mut action = complete(&o, ALLOCATE);
            if o.jobs.next_queued().is_none() {
                action = Action::Tick;
            }
            assert_eq!(warning(&o, action), "");
            let job = Some(JobId(3));
            let named = Action::Verify {
                job,
                worker: None,
                force_flag: true,
            };
            assert_eq!(complete(&o, named), named);
            placed += u32::from(action != Action::Tick);
            episode.step(action).expect("a step");
        }
        assert!(placed >= 30, "{placed}");
    }

    #[test]
    fn the_reference_rules_choose_themselves() {
        let setup = Setup::new(Task::Task1, 5, Streams::Independent);
        let episode = Episode::reset(&setup);
        assert_eq!(complete(episode.observation(), ALLOCATE), ALLOCATE);
    }
}
