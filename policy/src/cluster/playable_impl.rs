//! The cluster world's implementations of the traits that all worlds share.

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use sentinel_env::cluster::{
    Action, ActionMessage, ActionType, ClusterEnv, Observation, Setup, Size, StepError, Task,
};
use sentinel_env::digest::Digest;
use sentinel_env::slot::{SLOTS, Slot};
use serde_json::{Value, json};

use super::{PolicyName, Trust};
use crate::playable::{Playable, Roles, scripted};
use crate::policy::{ConstantPolicy, CyclicPolicy, Policy, Routine};
use crate::replay::{Diagnostic, EpisodeRows, Fields, Recordable, RowError};
use crate::text::check_transcripts;

scripted!(PolicyName, ClusterEnv);

impl Recordable for ClusterEnv {
    const ACTION_DIM: usize = ActionType::ALL.len();
    const BELIEF_SHAPE: Option<[usize; 2]> = Some([SLOTS; 2]);

    /// Returns an identifier computed from the sampled jobs and assignment. It is a hash, because a
    /// file must not reveal the hidden assignment.
    fn scenario_id(&self) -> String {
        let (o, hidden) = (self.observation(), self.hidden());
        let mut digest = Digest::default();
        for job in o.jobs.rows() {
            digest.write_bytes(&[job.memory, job.steps, job.deadline, job.owner]);
        }
        digest.write_bytes(&hidden.assignment.0.map(|behavior| behavior as u8));
        format!(
            "CLU-{}-{:08x}",
            o.task.name().to_uppercase(),
            digest.hash as u32
        )
    }

    fn fallback(observation: &Observation) -> Action {
        Trust.choose(observation)
    }

    fn write_action(action: Action) -> Vec<(&'static str, Value)> {
        let message = ActionMessage::from(action);
        vec![
            ("action_type", json!(action.action_type().name())),
            ("job_id", json!(message.job_id)),
            ("gpu_id", json!(message.gpu_id)),
            ("worker_id", json!(message.worker_id)),
            ("force_flag", json!(message.force_flag.unwrap_or(false))),
        ]
    }

    fn read_action(fields: &mut Fields) -> Result<Action, RowError> {
        let message = ActionMessage {
            action_type: Some(fields.take_required_word("action_type")?),
            job_id: fields.take_word("job_id")?,
            gpu_id: fields.take_word("gpu_id")?,
            worker_id: fields.take_word("worker_id")?,
            specialist_id: fields.take_word("specialist_id")?,
            force_flag: fields.take_bool("force_flag")?,
            session_id: None,
        };
        message.parse().map_err(RowError::invalid_action)
    }

    fn check_action(action: Action, task: Task) -> Result<(), RowError> {
        let Size { jobs, gpus, .. } = Size::for_task(task);
        if let Some(job) = action.job().filter(|job| job.0 >= jobs) {
            return Err(RowError::invalid_action(StepError::UnknownJob {
                job,
                jobs,
            }));
        }
        if let Some(gpu) = action.gpu().filter(|gpu| gpu.0 >= gpus) {
            return Err(RowError::invalid_action(StepError::UnknownGpu {
                gpu,
                gpus,
            }));
        }
        Ok(())
    }

    fn check_transcripts(rows: &EpisodeRows<Self>, setup: &Setup) -> Vec<Diagnostic> {
        check_transcripts(rows, setup)
    }
}

impl Playable for ClusterEnv {
    const ROLES: Roles = Roles {
        random: "random",
        heuristic: "trust",
        planner: "planner",
        oracle: "oracle",
    };
    type PolicyName = PolicyName;

    /// Returns the constant policies: each kind of action repeated, without a worker and with
    /// worker `S0`, and allocation alternating with another kind. The environment chooses jobs and
    /// GPUs.
    fn constants() -> Vec<ConstantPolicy<Self>> {
        let mut all = Vec::new();
        for kind in ActionType::ALL {
            for worker in [None, Some(Slot::ALL[0])] {
                // A tick does not name a worker.
                if kind != ActionType::Tick || worker.is_none() {
                    let action = action(kind, worker);
                    let cycle = CyclicPolicy::new(action, Vec::new());
                    let worker = worker.map_or(String::new(), |slot| format!("_{slot}"));
                    let name = format!("always_{}{worker}", kind.name());
                    all.push(ConstantPolicy {
                        name,
                        routine: Routine::Cycle(cycle),
                    });
                }
            }
        }
        for second in [ActionType::Verify, ActionType::RequestInfo] {
            let cycle = CyclicPolicy::new(
                action(ActionType::Allocate, None),
                vec![action(second, None)],
            );
            let name = format!("allocate_{}_in_turn", second.name());
            all.push(ConstantPolicy {
                name,
                routine: Routine::Cycle(cycle),
            });
        }
        all
    }
}

/// Returns an action of the given kind that leaves the choice of job and GPU to the environment.
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
