//! The cluster world, for code that serves all worlds.

use sentinel_env::cluster::{
    Action, ActionMessage, ActionType, ClusterWorld, Episode, Observation, Size, StepError, Task,
};
use sentinel_env::digest::Digest;
use sentinel_env::slot::Slot;
use serde_json::{Value, json};

use super::{PolicyName, Trust};
use crate::play::{Cycle, Policy};
use crate::replay::{Fields, RowError};
use crate::world::{AnyAction, Constant, Playable, Roles, Routine, WorldName, scripted};

scripted!(PolicyName, ClusterWorld);

impl Playable for ClusterWorld {
    const WORLD: WorldName = WorldName::Cluster;
    const ROLES: Roles = Roles {
        random: "random",
        heuristic: "trust",
        planner: "planner",
        oracle: "oracle",
    };
    type PolicyName = PolicyName;

    /// Each kind of action, always, with the worker left out or S0; and two kinds in turn. Jobs and
    /// GPUs are left to the environment's rules.
    fn constants() -> Vec<Constant<Self>> {
        let mut all = Vec::new();
        for kind in ActionType::ALL {
            for worker in [None, Some(Slot::ALL[0])] {
                // Ticks name nobody.
                if kind != ActionType::Tick || worker.is_none() {
                    let action = action(kind, worker);
                    let cycle = Cycle::new(action, Vec::new());
                    let worker = worker.map_or(String::new(), |slot| format!("_{slot}"));
                    let name = format!("always_{}{worker}", kind.name());
                    all.push(Constant {
                        name,
                        routine: Routine::Cycle(cycle),
                    });
                }
            }
        }
        for second in [ActionType::Verify, ActionType::RequestInfo] {
            let cycle = Cycle::new(
                action(ActionType::Allocate, None),
                vec![action(second, None)],
            );
            let name = format!("allocate_{}_in_turn", second.name());
            all.push(Constant {
                name,
                routine: Routine::Cycle(cycle),
            });
        }
        all
    }

    /// Made from what was drawn at reset; a hash, because who is who must not stand in a file.
    fn scenario_id(episode: &Episode) -> String {
        let (o, hidden) = (episode.observation(), episode.hidden());
        let mut digest = Digest::default();
        for job in o.jobs.rows() {
            digest.bytes(&[job.memory, job.steps, job.deadline, job.owner]);
        }
        digest.bytes(&hidden.assignment.0.map(|behaviour| behaviour as u8));
        format!(
            "CLU-{}-{:08x}",
            o.task.name().to_uppercase(),
            digest.hash as u32
        )
    }

    fn fallback(observation: &Observation) -> Action {
        Trust.choose(observation)
    }

    fn widen(action: Action) -> AnyAction {
        AnyAction::Cluster(action)
    }

    fn narrow(action: AnyAction) -> Option<Action> {
        match action {
            AnyAction::Cluster(action) => Some(action),
            AnyAction::Trust(_) | AnyAction::Polyguard(_) => None,
        }
    }

    fn keys(action: Action, _answer: Option<&str>) -> Vec<(&'static str, Value)> {
        let message = ActionMessage::from(action);
        vec![
            ("action_type", json!(action.action_type().name())),
            ("job_id", json!(message.job_id)),
            ("gpu_id", json!(message.gpu_id)),
            ("worker_id", json!(message.worker_id)),
            ("force_flag", json!(message.force_flag.unwrap_or(false))),
        ]
    }

    fn read(fields: &mut Fields, task: Task) -> Result<(Action, Option<String>), RowError> {
        let message = ActionMessage {
            action_type: Some(fields.required("action_type")?),
            job_id: fields.short_text("job_id")?,
            gpu_id: fields.short_text("gpu_id")?,
            worker_id: fields.short_text("worker_id")?,
            specialist_id: fields.short_text("specialist_id")?,
            force_flag: fields.flag("force_flag")?,
            session_id: None,
        };
        let action = message.parse().map_err(RowError::action)?;
        let Size { jobs, gpus, .. } = Size::of(task);
        if let Some(job) = action.job().filter(|job| job.0 >= jobs) {
            return Err(RowError::action(StepError::UnknownJob { job, jobs }));
        }
        if let Some(gpu) = action.gpu().filter(|gpu| gpu.0 >= gpus) {
            return Err(RowError::action(StepError::UnknownGpu { gpu, gpus }));
        }
        Ok((action, None))
    }
}

/// An action that leaves job and GPU to the environment.
const fn action(kind: ActionType, worker: Option<Slot>) -> Action {
    match kind {
        ActionType::Allocate => Action::Allocate {
            job: None,
            gpu: None,
            worker,
        },
        ActionType::Preempt => Action::Preempt { job: None, worker },
        ActionType::RequestInfo => Action::RequestInfo { job: None, worker },
        ActionType::Verify => Action::Verify {
            job: None,
            worker,
            force_flag: false,
        },
        ActionType::Tick => Action::Tick,
    }
}
