//! A small Hub on the loopback address for tests, with the addresses and the shapes of requests and
//! replies of huggingface_hub 2.4.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sentinel_base::files;
use sentinel_http::{HfEnvironment, HttpConfig, Token};
use sentinel_testkit::loopback::{Loopback, Received, Reply};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::remote_files::git_oid_of;
use super::{HubClient, HubError};

/// The token of all tests.
pub(super) const TOKEN: &str = "hf_TestSecretToken123";
/// The commit of all repositories.
pub(super) const COMMIT: &str = "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00";

/// A file of the repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) bytes: Vec<u8>,
    pub(super) is_lfs: bool,
}

/// The content of the Hub: one repository.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) files: BTreeMap<String, Stored>,
    /// The contents in git LFS by SHA-256.
    pub(super) objects: BTreeMap<String, Vec<u8>>,
    /// The bodies of commits and of jobs.
    pub(super) commits: Vec<Vec<Value>>,
    pub(super) jobs: Vec<Value>,
    pub(super) created: Vec<Value>,
    /// Answers in place of the usual ones: for the next request whose method and target contain
    /// the text.
    pub(super) script: VecDeque<(&'static str, Reply)>,
    /// The size of the parts of an upload; 0 for uploads as a whole.
    pub(super) chunk: u64,
    /// The parts that arrived, by object.
    parts: BTreeMap<String, BTreeMap<usize, Vec<u8>>>,
    /// The number of files of a page of the list.
    pub(super) page: usize,
    /// `true` to answer every request with 401 and an echo of what was sent.
    pub(super) refuses: bool,
}

/// A running Hub with its content.
pub(super) struct Hub {
    server: Loopback,
    state: Arc<Mutex<State>>,
}

pub(super) fn sha256(bytes: &[u8]) -> String {
    files::hex(&Sha256::digest(bytes))
}

impl Hub {
    pub(super) fn start() -> std::io::Result<Self> {
        let state = Arc::new(Mutex::new(State {
            page: 1000,
            ..State::default()
        }));
        let own = Arc::clone(&state);
        let server = Loopback::start(move |_, request| {
            let mut state = own.lock().unwrap_or_else(PoisonError::into_inner);
            state.reply(request).unwrap_or_else(|| {
                let text = format!("no such page: {}", request.target);
                Reply::status(404, &json!({"error": text}).to_string())
            })
        })?;
        Ok(Self { server, state })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a file to the repository.
    pub(super) fn put(&self, name: &str, bytes: &[u8], is_lfs: bool) {
        let bytes = bytes.to_vec();
        self.state()
            .files
            .insert(name.to_owned(), Stored { bytes, is_lfs });
    }

    /// Answers the next request whose method and target contain `text` with `reply`.
    pub(super) fn answer(&self, text: &'static str, reply: Reply) {
        self.state().script.push_back((text, reply));
    }

    pub(super) fn access(&self) -> Result<HfEnvironment, HubError> {
        Ok(HfEnvironment {
            endpoint: self.server.url.clone(),
            token: Token::new(TOKEN).map(Some),
            ..HfEnvironment::default()
        })
    }

    /// Returns a client with a token that does not wait between attempts.
    pub(super) fn client(&self, retries: u32) -> Result<HubClient, HubError> {
        let limits = HttpConfig {
            retries,
            ..HttpConfig::default()
        };
        Ok(HubClient::with_limits(&self.access()?, limits)?.with_wait(|_: Duration| true))
    }

    /// Returns the requests so far as `METHOD /target`, without the query.
    pub(super) fn log(&self) -> Vec<String> {
        let path = |r: &Received| r.target.split('?').next().unwrap_or_default().to_owned();
        let all = self.server.received();
        all.iter()
            .map(|r| format!("{} {}", r.method, path(r)))
            .collect()
    }

    pub(super) fn received(&self) -> Vec<Received> {
        self.server.received()
    }
}

impl State {
    fn reply(&mut self, request: &Received) -> Option<Reply> {
        let authorization = request.header("authorization").unwrap_or("nothing");
        let line = format!("{} {}", request.method, request.target);
        if self.refuses {
            let text = format!("Invalid credentials: {authorization} {line}");
            return Some(Reply::status(401, &json!({"error": text}).to_string()));
        }
        if let Some((_, reply)) = self.script.front().filter(|(text, _)| line.contains(text)) {
            let reply = reply.clone();
            self.script.pop_front();
            return Some(reply);
        }
        let host = request.header("host")?;
        let path = request.target.split('?').next()?;
        let segments: Vec<&str> = path.split('/').skip(1).collect();
        let body = || serde_json::from_slice::<Value>(&request.body).ok();
        match (request.method.as_str(), segments.as_slice()) {
            ("GET", ["api", "whoami-v2"]) => Some(Reply::json(&json!({
                "type": "user", "id": "1", "name": "me", "orgs": [],
            }))),
            ("POST", ["api", "jobs", namespace]) => {
                let job = body()?;
                self.jobs.push(job.clone());
                Some(Reply::json(&json!({
                    "id": "687fb701029421ae5549d998", "createdAt": "2026-11-23T06:00:00.000Z",
                    "dockerImage": job["dockerImage"], "command": job["command"], "arguments": [],
                    "environment": {}, "flavor": job["flavor"],
                    "status": {"stage": "SCHEDULING", "message": null},
                    "owner": {"id": "5e", "name": namespace, "type": "user"},
                })))
            }
            ("POST", ["api", "repos", "create"]) => {
                self.created.push(body()?);
                if self.created.len() > 1 {
                    return Some(Reply::status(409, r#"{"error":"it exists already"}"#));
                }
                Some(Reply::json(
                    &json!({"url": format!("http://{host}/me/run")}),
                ))
            }
            ("GET", ["api", _, _, _]) => Some(Reply::json(&json!({"id": "me/run", "sha": COMMIT}))),
            ("GET", ["api", _, _, _, "revision", "main" | "v1"]) => {
                Some(Reply::json(&json!({"id": "me/run", "sha": COMMIT})))
            }
            ("POST", ["api", _, _, _, "preupload", "main"]) => Some(self.modes(&body()?)),
            ("GET", ["api", _, _, _, "tree", _]) => Some(self.tree(host, request)),
            ("POST", ["api", _, _, _, "commit", "main"]) => self.commit(&request.body, host),
            ("POST", [.., "info", "lfs", "objects", "batch"]) => self.batch(&body()?, host),
            ("PUT", ["storage", oid]) => self.store(oid, 0, request),
            ("PUT", ["storage", oid, part]) => self.store(oid, part.parse().ok()?, request),
            ("POST", ["complete", oid]) => self.complete(oid, &body()?),
            ("POST", ["verify"]) => Some(Reply::json(&json!({}))),
            ("GET", [.., "resolve", COMMIT, _] | [.., "resolve", COMMIT, _, _]) => {
                let name = path.split_once(&format!("/resolve/{COMMIT}/"))?.1;
                let file = self.files.get(name)?;
                Some(Reply::Answer {
                    status: 200,
                    headers: Vec::new(),
                    body: file.bytes.clone(),
                })
            }
            _ => None,
        }
    }

    fn oid(file: &Stored) -> String {
        if file.is_lfs {
            sha256(&file.bytes)
        } else {
            git_oid_of(&file.bytes)
        }
    }

    fn modes(&self, body: &Value) -> Reply {
        let files = body["files"].as_array().cloned().unwrap_or_default();
        let of = |file: &Value| {
            let name = file["path"].as_str().unwrap_or_default();
            let mode = if name.ends_with(".safetensors") {
                "lfs"
            } else {
                "regular"
            };
            json!({
                "path": name, "uploadMode": mode, "shouldIgnore": name.ends_with(".ignored"),
                "oid": self.files.get(name).map(Self::oid),
            })
        };
        Reply::json(
            &json!({"files": files.iter().map(of).collect::<Vec<_>>(), "commitOid": COMMIT}),
        )
    }

    fn tree(&self, host: &str, request: &Received) -> Reply {
        let from: usize = request
            .parameter("cursor")
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        let mut entries: Vec<Value> = (self.files.iter().skip(from).take(self.page))
            .map(|(name, file)| {
                let size = file.bytes.len();
                let mut entry = json!({
                    "type": "file", "path": name, "size": size, "oid": git_oid_of(&file.bytes),
                });
                if file.is_lfs {
                    entry["oid"] = "the pointer's".into();
                    entry["lfs"] =
                        json!({"oid": Self::oid(file), "size": size, "pointerSize": 134});
                }
                entry
            })
            .collect();
        entries.push(json!({"type": "directory", "path": "runs", "size": 0, "oid": "ab"}));
        let reply = Reply::json(&Value::Array(entries));
        let next = from + self.page;
        if next >= self.files.len() {
            return reply;
        }
        let path = request.target.split('?').next().unwrap_or_default();
        let link = format!("<http://{host}{path}?recursive=true&cursor={next}>; rel=\"next\"");
        reply.header("Link", &link)
    }

    fn batch(&self, body: &Value, host: &str) -> Option<Reply> {
        let mut objects = Vec::new();
        for object in body["objects"].as_array()? {
            let (oid, size) = (object["oid"].as_str()?, object["size"].as_u64()?);
            let mut answer = json!({"oid": oid, "size": size});
            if !self.objects.contains_key(oid) {
                let mut upload =
                    json!({"href": format!("http://{host}/storage/{oid}?signature=s")});
                if self.chunk > 0 {
                    upload["href"] = format!("http://{host}/complete/{oid}").into();
                    upload["header"] = json!({"chunk_size": self.chunk.to_string()});
                    for part in 1..=size.div_ceil(self.chunk) {
                        let url = format!("http://{host}/storage/{oid}/{part}");
                        upload["header"][part.to_string()] = url.into();
                    }
                }
                let verify = json!({"href": format!("http://{host}/verify")});
                answer["actions"] = json!({"upload": upload, "verify": verify});
            }
            objects.push(answer);
        }
        Some(Reply::json(
            &json!({"transfer": "basic", "objects": objects}),
        ))
    }

    fn store(&mut self, oid: &str, part: usize, request: &Received) -> Option<Reply> {
        // The addresses are signed: a token beside the signature is refused, as S3 does.
        if request.header("authorization").is_some() {
            return Some(Reply::status(
                400,
                "only one authentication mechanism is allowed",
            ));
        }
        if part > 0 {
            let parts = self.parts.entry(oid.to_owned()).or_default();
            parts.insert(part, request.body.clone());
            return Some(Reply::status(200, "").header("ETag", &format!("\"{part}\"")));
        }
        if sha256(&request.body) != oid {
            return Some(Reply::status(400, "the digest differs"));
        }
        self.objects.insert(oid.to_owned(), request.body.clone());
        Some(Reply::status(200, ""))
    }

    fn complete(&mut self, oid: &str, body: &Value) -> Option<Reply> {
        let parts = self.parts.remove(oid)?;
        let expected: Vec<Value> = (parts.keys())
            .map(|part| json!({"partNumber": part, "etag": format!("\"{part}\"")}))
            .collect();
        let bytes: Vec<u8> = parts.into_values().flatten().collect();
        if body["parts"] != json!(expected) || sha256(&bytes) != oid {
            return Some(Reply::status(400, "the parts do not fit"));
        }
        self.objects.insert(oid.to_owned(), bytes);
        Some(Reply::json(&json!({})))
    }

    fn commit(&mut self, body: &[u8], host: &str) -> Option<Reply> {
        let text = std::str::from_utf8(body).ok()?;
        let lines: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
        let lines = lines.ok()?;
        for line in lines.iter().skip(1) {
            let value = &line["value"];
            let name = value["path"].as_str()?.to_owned();
            let stored = match line["key"].as_str()? {
                "file" => Stored {
                    bytes: STANDARD.decode(value["content"].as_str()?).ok()?,
                    is_lfs: false,
                },
                "lfsFile" => Stored {
                    bytes: self.objects.get(value["oid"].as_str()?)?.clone(),
                    is_lfs: true,
                },
                "deletedFile" => {
                    self.files.remove(&name)?;
                    continue;
                }
                _ => return None,
            };
            self.files.insert(name, stored);
        }
        self.commits.push(lines);
        Some(Reply::json(&json!({
            "success": true, "commitOid": COMMIT,
            "commitUrl": format!("http://{host}/me/run/commit/{COMMIT}"),
            "hookOutput": "",
        })))
    }
}
