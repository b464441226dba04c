//! The client: attempts, pauses, time limits and size limits.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use ureq::config::RedirectAuthHeaders;
use ureq::{Agent, Body, SendBody};

use super::error::HttpError;
use super::request::{Content, Request, Response, Token};

/// The number of characters of a server's error text that a message holds.
const TEXT_SHOWN: usize = 300;
/// The time between two looks at the flag that stops a pause.
const TICK: Duration = Duration::from_millis(100);

/// The limits of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpConfig {
    /// The time limit for connecting.
    pub connect_timeout: Duration,
    /// The time limit of one attempt, from the first byte to the last.
    pub timeout: Duration,
    /// The time limit of a request with all its attempts and pauses.
    pub deadline: Duration,
    /// The maximum number of attempts after the first.
    pub retries: u32,
    /// The pause before the first retry; it doubles with each further one.
    pub pause: Duration,
    /// The longest pause, unless the server asks for a longer one.
    pub max_pause: Duration,
    /// The maximum size of an answer in memory.
    pub max_bytes: u64,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(60),
            deadline: Duration::from_secs(600),
            retries: 5,
            pause: Duration::from_secs(1),
            max_pause: Duration::from_secs(30),
            max_bytes: 32 << 20,
        }
    }
}

/// A function that waits; it returns `false` if the program was asked to stop.
type Wait = Arc<dyn Fn(Duration) -> bool + Send + Sync>;

/// A client with its limits and, optionally, a token.
#[derive(Clone)]
pub struct HttpClient {
    agent: Agent,
    config: HttpConfig,
    token: Option<Token>,
    wait: Wait,
}

impl std::fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("HttpClient");
        shown.field("config", &self.config);
        shown.field("token", &self.token).finish_non_exhaustive()
    }
}

/// The place for the data of an answer.
enum Sink<'a> {
    Memory,
    File(&'a Path, &'a mut File),
}

/// The failure of one attempt.
struct Failure {
    error: HttpError,
    /// `true` if the same request may succeed later.
    is_temporary: bool,
    /// `true` if the server certainly did not process the request.
    is_unprocessed: bool,
    /// The time to wait that the server asks for.
    wait: Option<Duration>,
}

impl Failure {
    const fn lasting(error: HttpError) -> Self {
        Self {
            error,
            is_temporary: false,
            is_unprocessed: false,
            wait: None,
        }
    }
}

impl HttpClient {
    /// Returns a client without a token.
    #[must_use]
    pub fn new(config: HttpConfig) -> Self {
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(config.connect_timeout))
            .redirect_auth_headers(RedirectAuthHeaders::SameHost)
            .user_agent(concat!("sentinel/", env!("CARGO_PKG_VERSION")))
            .build();
        Self {
            agent: Agent::new_with_config(agent),
            config,
            token: None,
            wait: Arc::new(|pause| {
                std::thread::sleep(pause);
                true
            }),
        }
    }

    /// Sends this token as `Authorization: Bearer` with every request that does not refuse it.
    #[must_use]
    pub fn with_token(mut self, token: Option<Token>) -> Self {
        self.token = token;
        self
    }

    /// Waits between attempts with `wait`, which returns `false` to stop.
    #[must_use]
    pub fn with_wait(mut self, wait: impl Fn(Duration) -> bool + Send + Sync + 'static) -> Self {
        self.wait = Arc::new(wait);
        self
    }

    /// Stops waiting between attempts when `stop` is set, as by Ctrl-C.
    #[must_use]
    pub fn stopped_by(self, stop: &'static AtomicBool) -> Self {
        self.with_wait(move |pause| sleep_unless(stop, pause))
    }

    /// Sends a request and returns the answer.
    ///
    /// # Errors
    /// Returns an error if there is no answer within the limits, or one with a status of 400 or
    /// more.
    pub fn send(&self, request: &Request) -> Result<Response, HttpError> {
        self.run(request, &mut Sink::Memory)
    }

    /// Sends a request and writes the data of the answer to a file, whose content it replaces. The
    /// size is limited only if the request limits it.
    ///
    /// # Errors
    /// Returns an error if there is no answer within the limits, or one with a status of 400 or
    /// more, or if the file cannot be written.
    pub fn download(
        &self,
        request: &Request,
        path: &Path,
        file: &mut File,
    ) -> Result<Response, HttpError> {
        self.run(request, &mut Sink::File(path, file))
    }

    fn run(&self, request: &Request, sink: &mut Sink<'_>) -> Result<Response, HttpError> {
        let token = self.token.as_ref().filter(|_| request.with_token);
        if token.is_some() && !request.is_private() {
            let url = request.address();
            return Err(HttpError::Insecure { url });
        }
        let mut left = self.config.deadline;
        let mut pause = self.config.pause;
        for attempts in 1.. {
            let began = Instant::now();
            let limit = request.timeout.unwrap_or(self.config.timeout).min(left);
            let failure = match self.attempt(request, token, limit, sink) {
                Ok(response) => return Ok(response),
                Err(failure) => failure,
            };
            left = left.saturating_sub(began.elapsed());
            let may_repeat = request.is_repeatable || failure.is_unprocessed;
            if !failure.is_temporary || !may_repeat || attempts > self.config.retries {
                return Err(failure.error.with_attempts(attempts));
            }
            let wait = failure.wait.unwrap_or(pause);
            if wait >= left {
                return Err(match (failure.wait, failure.error.status()) {
                    (Some(wait), Some(status)) => HttpError::Busy {
                        method: request.method.name(),
                        url: request.address(),
                        status,
                        wait,
                        left,
                    },
                    _ => failure.error.with_attempts(attempts),
                });
            }
            if !(self.wait)(wait) {
                return Err(HttpError::Interrupted);
            }
            left -= wait;
            pause = (pause * 2).min(self.config.max_pause);
        }
        Err(HttpError::Interrupted)
    }

    fn attempt(
        &self,
        request: &Request,
        token: Option<&Token>,
        limit: Duration,
        sink: &mut Sink<'_>,
    ) -> Result<Response, Failure> {
        let mut builder = ureq::http::Request::builder()
            .method(request.method.name())
            .uri(request.url.as_str());
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        if let Some(token) = token {
            builder = builder.header("authorization", format!("Bearer {}", token.secret()));
        }
        let (body, length) = open(&request.content).map_err(Failure::lasting)?;
        if let Some(length) = length {
            builder = builder.header("content-length", length);
        }
        let built = builder.body(body).map_err(|error| {
            Failure::lasting(HttpError::Address {
                url: request.address(),
                reason: error.to_string(),
            })
        })?;
        let limited = (self.agent.configure_request(built))
            .timeout_global(Some(limit))
            .build();
        let failed = |error| failure(request, limit, error);
        let (head, mut body) = self.agent.run(limited).map_err(failed)?.into_parts();
        let status = head.status.as_u16();
        let headers: Vec<(String, String)> = (head.headers.iter())
            .map(|(name, value)| (name.to_string(), text(value.as_bytes())))
            .collect();
        let mut response = Response {
            status,
            headers,
            body: Vec::new(),
            address: request.address(),
        };
        if status >= 400 {
            return Err(refusal(request, token, &response, &mut body));
        }
        match sink {
            Sink::Memory => {
                let max = request.max_bytes.unwrap_or(self.config.max_bytes);
                let read = body.with_config().limit(max).read_to_vec();
                response.body = read.map_err(|error| match error {
                    ureq::Error::BodyExceedsLimit(_) => too_large(request, max),
                    error => failed(error),
                })?;
            }
            Sink::File(path, file) => {
                let max = request.max_bytes.unwrap_or(u64::MAX);
                save(body, max, file).map_err(|error| match error {
                    SaveError::Read(ureq::Error::BodyExceedsLimit(_)) => too_large(request, max),
                    SaveError::Read(error) => failed(error),
                    SaveError::Write(source) => Failure::lasting(HttpError::File {
                        path: path.to_owned(),
                        source,
                    }),
                })?;
            }
        }
        Ok(response)
    }
}

/// Returns the data to send, and its length if the library cannot know it.
fn open(content: &Content) -> Result<(SendBody<'static>, Option<u64>), HttpError> {
    match content {
        Content::None => Ok((SendBody::none(), None)),
        Content::Bytes(bytes) => {
            let length = bytes.len() as u64;
            let body = SendBody::from_owned_reader(io::Cursor::new(bytes.clone()));
            Ok((body, Some(length)))
        }
        Content::File {
            path,
            offset,
            length,
        } => {
            let failed = |source| HttpError::File {
                path: path.clone(),
                source,
            };
            let mut file = File::open(path).map_err(failed)?;
            let size = file.metadata().map_err(failed)?.len();
            if offset.saturating_add(*length) > size {
                let reason = format!("it has {size} bytes, fewer than there are to send");
                return Err(failed(io::Error::other(reason)));
            }
            file.seek(SeekFrom::Start(*offset)).map_err(failed)?;
            let body = SendBody::from_owned_reader(file.take(*length));
            Ok((body, Some(*length)))
        }
    }
}

/// The reason why an answer was not written to its file.
enum SaveError {
    Read(ureq::Error),
    Write(io::Error),
}

/// Writes the data of an answer to a file from its beginning.
fn save(body: Body, max: u64, file: &mut File) -> Result<(), SaveError> {
    use io::Write as _;

    file.set_len(0).map_err(SaveError::Write)?;
    file.rewind().map_err(SaveError::Write)?;
    let mut reader = body.into_with_config().limit(max).reader();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return file.flush().map_err(SaveError::Write),
            Ok(count) => file.write_all(&buffer[..count]).map_err(SaveError::Write)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(SaveError::Read(error.into())),
        }
    }
}

fn too_large(request: &Request, limit: u64) -> Failure {
    Failure::lasting(HttpError::TooLarge {
        url: request.address(),
        limit,
    })
}

/// Returns the failure of an answer with a status of 400 or more.
fn refusal(
    request: &Request,
    token: Option<&Token>,
    response: &Response,
    body: &mut Body,
) -> Failure {
    let status = response.status;
    let mut start = Vec::new();
    // A text that cannot be read is left out: the status is the failure.
    let mut reader = body.with_config().reader().take(4 * TEXT_SHOWN as u64);
    let _ = reader.read_to_end(&mut start);
    // The last bytes may be the beginning of the token, which would not be found.
    let cut = token.map_or(0, |token| token.secret().len());
    if reader.limit() == 0 {
        start.truncate(start.len().saturating_sub(cut));
    }
    let line = text(&start)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let line = token.map_or_else(|| line.clone(), |token| token.redact(&line));
    Failure {
        error: HttpError::Status {
            method: request.method.name(),
            url: request.address(),
            status,
            body: line.chars().take(TEXT_SHOWN).collect(),
            attempts: 1,
        },
        is_temporary: matches!(status, 408 | 429 | 500 | 502 | 503 | 504),
        is_unprocessed: matches!(status, 429 | 503),
        wait: matches!(status, 429 | 503)
            .then(|| asked_pause(response, SystemTime::now()))
            .flatten(),
    }
}

/// Returns the time that the server asks to wait: `Retry-After` in seconds or as a date, or the
/// `t` of a `RateLimit` header, as the Hugging Face Hub sends it.
fn asked_pause(response: &Response, now: SystemTime) -> Option<Duration> {
    let after = response.header("retry-after").map(str::trim);
    let seconds = |text: &str| text.parse().ok().map(Duration::from_secs);
    let until = |text: &str| {
        let date = httpdate::parse_http_date(text).ok()?;
        Some(date.duration_since(now).unwrap_or_default())
    };
    let limit = || {
        let fields = response.header("ratelimit")?.split(';');
        let mut reset = fields.filter_map(|field| field.trim().strip_prefix("t="));
        reset.next().and_then(seconds)
    };
    after
        .and_then(|text| seconds(text).or_else(|| until(text)))
        .or_else(limit)
}

/// Returns the failure of an attempt without a complete answer.
fn failure(request: &Request, limit: Duration, error: ureq::Error) -> Failure {
    let (method, url) = (request.method.name(), request.address());
    let attempts = 1;
    let is_unconnected = match &error {
        ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => true,
        ureq::Error::Io(error) => error.kind() == io::ErrorKind::ConnectionRefused,
        _ => false,
    };
    let is_temporary = is_unconnected
        || matches!(
            error,
            ureq::Error::Io(_)
                | ureq::Error::Timeout(_)
                | ureq::Error::Protocol(_)
                | ureq::Error::BodyStalled
        );
    let error = match error {
        ureq::Error::Timeout(_) => HttpError::Timeout {
            method,
            url,
            limit,
            attempts,
        },
        error => HttpError::Connection {
            method,
            url,
            reason: error.to_string(),
            attempts,
        },
    };
    Failure {
        error,
        is_temporary,
        is_unprocessed: is_unconnected,
        wait: None,
    }
}

/// Returns the text of bytes, with a mark in place of what is not UTF-8.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Sleeps for `pause`; returns `false` as soon as `stop` is set.
pub fn sleep_unless(stop: &AtomicBool, pause: Duration) -> bool {
    let end = Instant::now() + pause;
    while !stop.load(Ordering::Relaxed) {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(TICK));
    }
    false
}
