//! Contents for git LFS: the Hub says where to send each, and which ones it has already.

use std::collections::BTreeMap;
use std::path::Path;

use sentinel_http::{Content, HttpError, Request};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::config::{Progress, UploadEvent};
use crate::error::go_on;
use crate::{HubClient, HubError, Repo};

/// The content type of git LFS.
const JSON: &str = "application/vnd.git-lfs+json";
/// The largest number of objects of one question.
const BATCH: usize = 256;
/// The key of an upload's headers with the size of a part.
const CHUNK: &str = "chunk_size";

/// A content to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Object<'a> {
    /// The name in the repository, for messages.
    pub(super) name: &'a str,
    pub(super) path: &'a Path,
    pub(super) size: u64,
    /// The SHA-256 in hexadecimal digits.
    pub(super) oid: &'a str,
}

/// An answer about a list of objects.
#[derive(Debug, Deserialize)]
struct Batch {
    objects: Vec<Instruction>,
}

/// The Hub's instruction for one object.
#[derive(Debug, Deserialize)]
struct Instruction {
    oid: String,
    /// `None` if the Hub has the content already.
    actions: Option<Actions>,
    error: Option<Refusal>,
}

#[derive(Debug, Deserialize)]
struct Actions {
    upload: Option<Action>,
    verify: Option<Action>,
}

#[derive(Debug, Deserialize)]
struct Action {
    href: String,
    #[serde(default)]
    header: Option<BTreeMap<String, Value>>,
}

#[derive(Debug, Deserialize)]
struct Refusal {
    code: i64,
    message: String,
}

/// A part that was sent.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    part_number: usize,
    etag: String,
}

/// Sends the contents that the Hub does not have, and returns the number of bytes sent.
pub(super) fn send(
    client: &HubClient,
    repo: &Repo,
    revision: &str,
    objects: &[Object<'_>],
    progress: Progress<'_>,
) -> Result<u64, HubError> {
    // Equal contents are one object.
    let by_oid: BTreeMap<&str, &Object<'_>> = objects.iter().map(|o| (o.oid, o)).collect();
    let unique: Vec<&&Object<'_>> = by_oid.values().collect();
    let url = repo.lfs_url(client.endpoint())?;
    let mut sent = 0;
    for chunk in unique.chunks(BATCH) {
        let list: Vec<Value> = (chunk.iter())
            .map(|object| json!({"oid": object.oid, "size": object.size}))
            .collect();
        let body = json!({
            "operation": "upload",
            "transfers": ["basic", "multipart"],
            "objects": list,
            "hash_algo": "sha256",
            "ref": {"name": revision},
        });
        let content =
            Content::Bytes(serde_json::to_vec(&body).map_err(sentinel_base::Error::from)?);
        let request = (Request::post(&url)?.header("accept", JSON))
            .content(JSON, content)
            .repeatable();
        let what = format!("an upload to {repo}");
        let answer = client.send(&what, &request)?;
        let batch: Batch = answer.json()?;
        for instruction in batch.objects {
            let Some(object) = by_oid.get(instruction.oid.as_str()) else {
                let reason = format!("it names the unknown object {}", instruction.oid);
                return Err(answer.json_error(reason).into());
            };
            if let Some(Refusal { code, message }) = instruction.error {
                let reason = format!("{} was refused ({code}): {message}", object.name);
                return Err(answer.json_error(reason).into());
            }
            let actions = instruction.actions;
            let Some(upload) = actions.as_ref().and_then(|actions| actions.upload.as_ref()) else {
                go_on(progress(&UploadEvent::Present { path: object.name }))?;
                continue;
            };
            let (path, size) = (object.name, object.size);
            go_on(progress(&UploadEvent::Sending { path, size }))?;
            send_object(client, object, upload)?;
            if let Some(verify) = actions.as_ref().and_then(|actions| actions.verify.as_ref()) {
                check_arrival(client, object, verify)?;
            }
            sent += object.size;
        }
    }
    Ok(sent)
}

/// Sends one content, whole or in parts.
fn send_object(client: &HubClient, object: &Object<'_>, upload: &Action) -> Result<(), HubError> {
    let none = BTreeMap::new();
    let header = upload.header.as_ref().unwrap_or(&none);
    let what = object.name;
    let piece = |offset: u64, length: u64| Content::File {
        path: object.path.to_owned(),
        offset,
        length,
    };
    let put = |url: &str, offset: u64, length: u64| -> Result<Request, HubError> {
        // The addresses are signed: the token is not for them.
        let request = Request::put(url)?.without_token();
        Ok(request.content("application/octet-stream", piece(offset, length)))
    };
    let Some(size) = header.get(CHUNK) else {
        let mut request = put(&upload.href, 0, object.size)?;
        for (name, value) in header {
            if let Some(value) = value.as_str() {
                request = request.header(name, value);
            }
        }
        client.transfer(what, request, object.size)?;
        return Ok(());
    };
    let urls = part_urls(header);
    let size = size
        .as_str()
        .and_then(|text| text.parse().ok())
        .or(size.as_u64());
    let malformed = |reason: String| HttpError::Json {
        url: "the Hub's instruction for an upload in parts".to_owned(),
        reason,
    };
    let size: u64 = size
        .filter(|size| *size > 0)
        .ok_or_else(|| malformed(format!("{CHUNK} is not a number of bytes")))?;
    if urls.len() as u64 != object.size.div_ceil(size) {
        let (bytes, parts) = (object.size, urls.len());
        let reason = format!("{bytes} bytes do not fit into {parts} parts of {size} bytes");
        return Err(malformed(reason).into());
    }
    let mut parts = Vec::new();
    for (index, url) in urls.into_iter().enumerate() {
        let offset = index as u64 * size;
        let length = size.min(object.size - offset);
        let answer = client.transfer(what, put(url, offset, length)?, length)?;
        let etag = answer.header("etag").filter(|etag| !etag.is_empty());
        parts.push(Part {
            part_number: index + 1,
            etag: etag
                .ok_or_else(|| answer.json_error("the answer has no etag"))?
                .to_owned(),
        });
    }
    let body = json!({"oid": object.oid, "parts": parts});
    let content = Content::Bytes(serde_json::to_vec(&body).map_err(sentinel_base::Error::from)?);
    let done = (Request::post(&upload.href)?.header("accept", JSON))
        .content(JSON, content)
        .without_token()
        .repeatable();
    client.send(what, &done)?;
    Ok(())
}

/// Returns the addresses of the parts in order: the headers whose names are numbers.
fn part_urls(header: &BTreeMap<String, Value>) -> Vec<&str> {
    let mut urls: Vec<(usize, &str)> = (header.iter())
        .filter_map(|(name, url)| Some((name.parse().ok()?, url.as_str()?)))
        .collect();
    urls.sort_unstable();
    urls.into_iter().map(|(_, url)| url).collect()
}

/// Asks the Hub to check that a content has arrived.
fn check_arrival(client: &HubClient, object: &Object<'_>, verify: &Action) -> Result<(), HubError> {
    let body = json!({"oid": object.oid, "size": object.size});
    let request = Request::post(&verify.href)?.json(&body)?.repeatable();
    let request = if client.is_own(&verify.href) {
        request
    } else {
        request.without_token()
    };
    client.send(object.name, &request)?;
    Ok(())
}
