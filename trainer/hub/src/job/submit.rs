//! The submission of a job.

use sentinel_http::Request;
use serde::Deserialize;

use super::super::{HubClient, HubError, repo};
use super::JobSpec;

/// A job that the Hub accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// The name of the job.
    pub id: String,
    /// The user or organization that pays.
    pub owner: String,
    /// The stage of the job, such as `SCHEDULING`.
    pub stage: String,
    /// The address of the job's page.
    pub url: String,
}

impl Submitted {
    /// Returns the command that follows the job's log.
    #[must_use]
    pub fn follow_command(&self) -> String {
        format!("hf jobs logs -f {}/{}", self.owner, self.id)
    }
}

#[derive(Debug, Deserialize)]
struct User {
    name: String,
}

#[derive(Debug, Deserialize)]
struct Reply {
    id: String,
    owner: User,
    status: Status,
}

#[derive(Debug, Deserialize)]
struct Status {
    stage: String,
}

/// Submits a job. A job is never submitted twice: only a request that the Hub did not process is
/// repeated.
///
/// # Errors
/// Returns an error if an option is missing, if there is no token, or if the Hub does not accept
/// the job.
pub fn submit(spec: &JobSpec, client: &HubClient) -> Result<Submitted, HubError> {
    if !spec.missing.is_empty() {
        return Err(HubError::Incomplete(spec.missing.clone()));
    }
    let token = client.token("a job")?;
    let endpoint = client.endpoint();
    let namespace = match &spec.namespace {
        Some(name) => name.clone(),
        None => {
            let url = repo::hub_url(endpoint, ["api", "whoami-v2"].into_iter())?;
            client.get_json::<User>("the token's user", &url)?.name
        }
    };
    let url = repo::hub_url(endpoint, ["api", "jobs", &namespace].into_iter())?;
    let request = Request::post(&url)?.json(&spec.body(token))?;
    let reply: Reply = client
        .send(&format!("a job of {namespace}"), &request)?
        .json()?;
    let page = ["jobs", &reply.owner.name, &reply.id];
    Ok(Submitted {
        url: repo::hub_url(endpoint, page.into_iter())?,
        id: reply.id,
        owner: reply.owner.name,
        stage: reply.status.stage,
    })
}
