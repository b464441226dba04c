//! An episode behind the reference's API: one of two worlds, with the reference's payloads.

use sentinel_env::adaptive_difficulty::DifficultyController;
use sentinel_env::cluster::{self, ClusterMission, ClusterSummary, FailureModes, scheduler_prompt};
use sentinel_env::message::ParseError;
use sentinel_env::protocol::{MessageError, Protocol, Session};
use sentinel_env::rng::Streams;
use sentinel_env::trust::{self, episode_prompt, mission::Mission};
use sentinel_env::{Environment as _, Named as _, World as _, WorldName};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::envelope::Envelope;
use crate::environment::random_seed;
use crate::policy::{ActError, ActJob, ServedPolicy};
use crate::sessions::NoEntropy;
use crate::validation::{FieldError, FieldReader};

/// The world of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Trust,
    Cluster,
}

/// An episode of one of the reference's two worlds.
#[derive(Debug)]
pub enum ReferenceEpisode {
    /// An episode of trust.
    Trust(Box<trust::Session>),
    /// An episode of the cluster.
    Cluster(Box<cluster::Session>),
}

/// The reason why an episode was not started.
pub(super) enum ResetFault {
    /// Fields of a wrong type.
    Fields(Vec<FieldError>),
    /// A name that does not exist.
    Unknown(String),
    /// There is no random seed for a request without one.
    NoEntropy(NoEntropy),
}

/// The reason why an action was refused.
pub(super) enum StepFault {
    /// The request does not have the form of an action.
    Form(ParseError),
    /// The world refuses the action.
    Refused(String),
}

/// The key of the state that names every worker's behavior.
const HIDDEN_PROFILE: &str = "worker_profile_hidden";
/// The failure modes, of which one entry names every worker's behavior in this field.
const COVERAGE: &str = "ai_failure_coverage";
const HIDDEN_SIGNATURE: &str = "scenario_signature";

/// Fields of the reference's request that the cluster does not have.
const TRUST_ONLY: [&str; 3] = ["task_type", "subtask_response", "reasoning"];

/// Largest length of a word of a reset in characters.
const WORD_CHARS: usize = 64;

/// Starts the episode that the fields ask for.
pub(super) fn reset_episode(
    fields: &Map<String, Value>,
    kind: Option<Kind>,
    controller: &DifficultyController,
) -> Result<ReferenceEpisode, ResetFault> {
    let mut reader = FieldReader::new(fields, &["body"]);
    let task = reader.text("task_type", WORD_CHARS).unwrap_or("task3");
    let scenario_id = reader.text("scenario_id", WORD_CHARS).map(str::to_owned);
    let mode = reader.text("mode", WORD_CHARS).unwrap_or_default();
    let mode = mode.to_ascii_lowercase();
    let adaptive = reader.boolean("adaptive").unwrap_or(false);
    let streams = reader.choice("streams", Streams::NAMES);
    let seed = reader.seed("seed");
    reader.finish().map_err(ResetFault::Fields)?;
    let seed = match seed {
        Some(seed) => seed,
        None => random_seed().map_err(ResetFault::NoEntropy)?,
    };
    let streams = streams.and_then(Streams::parse);
    let streams = streams.unwrap_or(Streams::Reference);
    let of_cluster = task.strip_prefix("cluster_");
    let is_cluster = of_cluster.is_some()
        || ["cluster", "gpu", "gpu_cluster"].contains(&mode.as_str())
        || kind == Some(Kind::Cluster);
    let task_type = Some(of_cluster.unwrap_or(task).to_owned());
    if is_cluster {
        let request = cluster::ResetRequest {
            task_type,
            seed,
            streams,
            adaptive,
        };
        let session = cluster::Session::from_request(&request, controller);
        let session = session.map_err(|error| ResetFault::Unknown(error.to_string()))?;
        return Ok(ReferenceEpisode::Cluster(Box::new(session)));
    }
    let request = trust::ResetRequest {
        task_type,
        scenario_id,
        seed,
        streams,
        adaptive,
    };
    let session = trust::Session::from_request(&request, controller);
    let session = session.map_err(|error| ResetFault::Unknown(error.to_string()))?;
    Ok(ReferenceEpisode::Trust(Box::new(session)))
}

impl ReferenceEpisode {
    /// Returns the same episode with another session id.
    pub(super) fn with_session_id(self, id: &str) -> Self {
        match self {
            Self::Trust(session) => Self::Trust(Box::new(session.with_session_id(id.to_owned()))),
            Self::Cluster(session) => {
                Self::Cluster(Box::new(session.with_session_id(id.to_owned())))
            }
        }
    }

    pub(crate) const fn kind(&self) -> Kind {
        match self {
            Self::Trust(_) => Kind::Trust,
            Self::Cluster(_) => Kind::Cluster,
        }
    }

    /// Returns the world of the episode.
    #[must_use]
    pub const fn world(&self) -> WorldName {
        match self {
            Self::Trust(_) => WorldName::Trust,
            Self::Cluster(_) => WorldName::Cluster,
        }
    }

    /// Returns `true` if the episode has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        match self {
            Self::Trust(session) => trust::TrustEnv::is_done(session.episode().observation()),
            Self::Cluster(session) => cluster::ClusterEnv::is_done(session.episode().observation()),
        }
    }

    /// Returns the session of the cluster, if it is one.
    pub(super) fn cluster(&self) -> Option<&cluster::Session> {
        match self {
            Self::Trust(_) => None,
            Self::Cluster(session) => Some(session),
        }
    }

    /// Applies the action of a request. The reference's request has the fields of both worlds: in the
    /// cluster those of trust are left out where they are null, and trust ignores those of the cluster.
    pub(super) fn step(
        &mut self,
        request: &Envelope<'_>,
        controller: &mut DifficultyController,
    ) -> Result<(), StepFault> {
        match self {
            Self::Trust(session) => apply(session, request, &[], controller),
            Self::Cluster(session) => apply(session, request, &TRUST_ONLY, controller),
        }
    }

    /// Returns the reply to the last reset or step, with mission and prompt until the end.
    pub(super) fn reply(&self, reveal: bool) -> Value {
        let mut reply = match self {
            Self::Trust(session) => to_json(&session.reply()),
            Self::Cluster(session) => to_json(&session.reply()),
        };
        for part in ["observation", "info"] {
            self.hide(&mut reply[part], reveal);
        }
        if !self.is_done() {
            let info = &mut reply["info"];
            match self {
                Self::Trust(session) => {
                    let episode = session.episode();
                    info["mission"] = to_json(Mission::for_task(episode.observation().task));
                    info["orchestrator_prompt"] = episode_prompt(episode).into();
                    info["environment_mode"] = "abstract".into();
                }
                Self::Cluster(session) => {
                    let observation = session.episode().observation();
                    info["mission"] = to_json(&ClusterMission::SHARED);
                    info["orchestrator_prompt"] = scheduler_prompt(observation).into();
                    info["environment_mode"] = "cluster".into();
                }
            }
        }
        reply
    }

    /// Returns the state of the episode.
    pub(super) fn state(&self, reveal: bool) -> Value {
        let mut state = match self {
            Self::Trust(session) => to_json(&session.state()),
            Self::Cluster(session) => to_json(&session.state()),
        };
        self.hide(&mut state, reveal);
        state
    }

    /// Returns the short form of the state.
    pub(super) fn stream(&self, reveal: bool) -> Value {
        let mut stream = match self {
            Self::Trust(session) => to_json(&session.stream()),
            Self::Cluster(session) => to_json(&session.stream()),
        };
        self.hide(&mut stream, reveal);
        stream
    }

    /// Returns the report, which holds hidden state.
    pub(super) fn reward_report(&self) -> Value {
        match self {
            Self::Trust(session) => to_json(&session.reward_report()),
            Self::Cluster(session) => to_json(&session.reward_report()),
        }
    }

    /// Returns the computation of what a policy would do now.
    pub(crate) fn act(&self, policy: &std::sync::Arc<ServedPolicy>) -> Result<ActJob, ActError> {
        if self.is_done() {
            return Err(ActError::Over);
        }
        match self {
            Self::Trust(session) => {
                let actions = session.steps().iter().map(|step| step.action).collect();
                policy.job::<trust::TrustEnv>(*session.episode().setup(), actions)
            }
            Self::Cluster(session) => {
                let actions = session.steps().iter().map(|step| step.action).collect();
                policy.job::<cluster::ClusterEnv>(*session.episode().setup(), actions)
            }
        }
    }

    /// Returns the failure modes of a cluster episode.
    pub(super) fn coverage(&self, reveal: bool) -> Value {
        let Self::Cluster(session) = self else {
            return Value::Null;
        };
        let mut wrapped = json!({COVERAGE: FailureModes::from_episode(session.episode())});
        self.hide(&mut wrapped, reveal);
        wrapped[COVERAGE].take()
    }

    /// Removes hidden state from an object of a reply, before the end: the workers' behaviors, and sums
    /// over the true pool, in whose place are those over the pool as it is shown.
    fn hide(&self, object: &mut Value, reveal: bool) {
        let Self::Cluster(session) = self else {
            return;
        };
        if reveal || self.is_done() {
            return;
        }
        let Some(fields) = object.as_object_mut() else {
            return;
        };
        fields.remove(HIDDEN_PROFILE);
        if let Some(modes) = fields.get_mut(COVERAGE).and_then(Value::as_object_mut) {
            for mode in modes.values_mut().filter_map(Value::as_object_mut) {
                mode.remove(HIDDEN_SIGNATURE);
            }
        }
        if let Some(summary) = fields.get_mut("cluster") {
            *summary = to_json(&ClusterSummary::from_observation(
                session.episode().observation(),
            ));
        }
    }
}

/// Returns a payload as JSON. Payloads have only texts as keys, so that this cannot fail.
pub(super) fn to_json(payload: &impl Serialize) -> Value {
    serde_json::to_value(payload).unwrap_or_default()
}

/// Returns the step budget of a task, for documents.
pub(super) fn max_steps(kind: Kind, task: sentinel_env::Task) -> u32 {
    match kind {
        Kind::Trust => trust::TrustEnv::max_steps(task),
        Kind::Cluster => cluster::ClusterEnv::max_steps(task),
    }
}

/// Applies the action of a request; fields in `others` are left out where they are null.
fn apply<W: Protocol>(
    session: &mut Session<W>,
    request: &Envelope<'_>,
    others: &[&str],
    controller: &mut W::Curriculum,
) -> Result<(), StepFault> {
    let mut dropped = Vec::new();
    let action = request.text_without(|name, text| {
        // The second of two equal fields is for the world to refuse.
        let is_dropped =
            text == "null" && others.contains(&name) && !dropped.contains(&name.to_owned());
        if is_dropped {
            dropped.push(name.to_owned());
        }
        is_dropped
    });
    match session.apply_json(&action, controller) {
        Ok(_) => Ok(()),
        Err(MessageError::Parse(error)) => Err(StepFault::Form(error)),
        Err(error) => Err(StepFault::Refused(error.to_string())),
    }
}
