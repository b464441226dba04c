//! A WebSocket connection: one reply per frame, in order, and pings at any time.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use governor::DefaultDirectRateLimiter;
use serde_json::Value;
use tokio::time::Instant;
use tungstenite::error::ProtocolError;

use super::frames::{ClientMessage, ErrorCode, ErrorMessage};
use super::json_rpc;
use super::waiting::WaitingFrames;
use crate::access::message_limiter;
use crate::environment::{AnyEnvironment, Transport};
use crate::policy::ActJob;
use crate::sessions::{OpenError, Session};
use crate::state::App;

/// Longest time that a closing handshake takes.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

const NORMAL: u16 = 1000;
const AWAY: u16 = 1001;
const PROTOCOL: u16 = 1002;
const UNSUPPORTED: u16 = 1003;
const NOT_UTF8: u16 = 1007;
const TOO_BIG: u16 = 1009;

/// The end of a connection.
#[derive(Debug)]
enum End {
    /// The client closed, or its connection broke.
    Client,
    /// The client was silent for longer than the deadline, or did not read.
    Vanished,
    /// The server closes, after an error message if there is one.
    Close(u16, &'static str, Option<ErrorMessage>),
}

/// The result of one message.
enum Answer {
    /// A frame to send.
    Frame(Vec<u8>),
    /// A computation of the policy, whose result is sent.
    Job(ActJob),
    /// The end of the session.
    End(End),
}

/// The protocol that a WebSocket speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// The messages of `/ws`, in a session that `/mcp` created if one is named.
    OpenEnv(Option<String>),
    /// JSON-RPC, as over `/mcp`.
    JsonRpc,
}

/// Serves a WebSocket with its session until one of them ends.
pub(crate) async fn serve(socket: WebSocket, app: Arc<App>, dialect: Dialect) {
    let mut connection = Connection::new(socket, &app);
    let attach = match &dialect {
        Dialect::OpenEnv(attach) => attach.as_deref(),
        Dialect::JsonRpc => None,
    };
    let session = match open(&app, attach) {
        Ok(session) => session,
        Err(refused) => {
            connection.refuse(refused, &dialect).await;
            return;
        }
    };
    let mut held = Held {
        app: &app,
        session: &session,
        attached: attach.is_some(),
        reason: "disconnected",
    };
    let end = connection.run(&session, &dialect).await;
    held.reason = match &end {
        End::Client => "disconnected",
        End::Vanished => "vanished",
        End::Close(AWAY, ..) => "ended by the server",
        End::Close(NORMAL, ..) => "closed",
        End::Close(..) => "protocol error",
    };
    tracing::debug!(
        session = session.id(),
        reason = held.reason,
        "session ended"
    );
    drop(held);
    connection.finish(end).await;
}

/// Gives the session back when the connection ends, also if its task is dropped.
struct Held<'a> {
    app: &'a App,
    session: &'a Session<AnyEnvironment>,
    attached: bool,
    reason: &'static str,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let close = !self.attached || self.session.detach();
        if close {
            self.app.close_session(self.session.id(), self.reason);
        }
    }
}

/// The reason why a WebSocket has no session.
#[derive(Debug, thiserror::Error)]
enum NoSession {
    #[error(transparent)]
    NotOpened(#[from] OpenError),
    #[error("Unknown session_id: {0}")]
    Unknown(String),
    #[error("session {0} has a connection already")]
    Attached(String),
}

fn open(app: &App, attach: Option<&str>) -> Result<Arc<Session<AnyEnvironment>>, NoSession> {
    let Some(id) = attach else {
        return Ok(app.open_session()?);
    };
    let shown: String = id.chars().take(64).collect();
    let session = app.sessions.get(id);
    let session = session.ok_or_else(|| NoSession::Unknown(shown.clone()))?;
    if !session.attach() {
        return Err(NoSession::Attached(shown));
    }
    Ok(session)
}

impl From<&NoSession> for ErrorMessage {
    fn from(error: &NoSession) -> Self {
        let full = match error {
            NoSession::NotOpened(OpenError::Full(full)) => full,
            _ => return Self::new(ErrorCode::Session, error.to_string()),
        };
        let mut message = Self::new(ErrorCode::Capacity, error.to_string());
        let fields = &mut message.fields;
        fields.insert("active_sessions".to_owned(), full.active.into());
        fields.insert("max_sessions".to_owned(), full.max.into());
        message
    }
}

struct Connection {
    app: Arc<App>,
    socket: WebSocket,
    /// Frames that arrived while a slow step ran.
    queue: WaitingFrames,
    last_seen: Instant,
    next_ping: Instant,
    limiter: Option<DefaultDirectRateLimiter>,
}

impl Connection {
    fn new(socket: WebSocket, app: &Arc<App>) -> Self {
        let now = Instant::now();
        Self {
            app: Arc::clone(app),
            socket,
            queue: WaitingFrames::new(&app.waiting_bytes),
            last_seen: now,
            next_ping: now + app.limits.ping_interval,
            limiter: message_limiter(app.limits.rate),
        }
    }

    /// Answers frames until the connection ends.
    async fn run(&mut self, session: &Arc<Session<AnyEnvironment>>, dialect: &Dialect) -> End {
        let app = Arc::clone(&self.app);
        loop {
            let text = match self.next_text(session).await {
                Ok(text) => text,
                Err(end) => return end,
            };
            if let Some(limiter) = &self.limiter {
                limiter.until_ready().await;
            }
            let answer = match dialect {
                Dialect::OpenEnv(_) => answer(&app, session, &text),
                Dialect::JsonRpc => answer_json_rpc(&app, session, &text),
            };
            let sent = match answer {
                Answer::Frame(frame) => self.send(frame).await,
                Answer::Job(job) => match self.run_job(session, job).await {
                    Ok(frame) => self.send(frame).await,
                    Err(end) => Err(end),
                },
                Answer::End(end) => Err(end),
            };
            if let Err(end) = sent {
                return end;
            }
        }
    }

    /// Returns the next text, from the queue or the socket, and answers pings meanwhile.
    async fn next_text(&mut self, session: &Session<AnyEnvironment>) -> Result<Utf8Bytes, End> {
        if self.app.shutdown.is_cancelled() {
            return Err(stopping());
        }
        if let Some(text) = self.queue.pop() {
            return Ok(text);
        }
        let app = Arc::clone(&self.app);
        loop {
            let received = tokio::select! {
                biased;
                () = app.shutdown.cancelled() => return Err(stopping()),
                () = session.ended().cancelled() => return Err(ended()),
                received = self.receive() => received?,
            };
            if let Some(text) = received {
                return Ok(text);
            }
        }
    }

    /// Waits for one frame or the time of the next ping; `None` for anything but a text.
    async fn receive(&mut self) -> Result<Option<Utf8Bytes>, End> {
        let limits = self.app.limits;
        let message = tokio::select! {
            message = self.socket.recv() => message,
            () = tokio::time::sleep_until(self.next_ping) => {
                if self.last_seen.elapsed() >= limits.ping_deadline {
                    return Err(End::Vanished);
                }
                self.next_ping = Instant::now() + limits.ping_interval;
                self.send_message(Message::Ping(Default::default())).await?;
                return Ok(None);
            }
        };
        self.last_seen = Instant::now();
        match message {
            None => Err(End::Client),
            Some(Ok(Message::Text(text))) => Ok(Some(text)),
            Some(Ok(Message::Binary(_))) => {
                let message =
                    "a message is a text frame with JSON, not a binary frame: the session ends";
                let error = ErrorMessage::new(ErrorCode::Session, message);
                Err(End::Close(UNSUPPORTED, "binary frame", Some(error)))
            }
            Some(Ok(Message::Close(_))) => Err(End::Client),
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(None),
            Some(Err(error)) => {
                tracing::debug!(%error, "frame refused");
                Err(broken(error, limits.max_message))
            }
        }
    }

    /// Runs a computation of the policy beside the socket, whose pings are answered and whose frames
    /// wait in order. If too many wait, the socket is not read, so that the client has to wait as well.
    async fn run_job(
        &mut self,
        session: &Arc<Session<AnyEnvironment>>,
        job: ActJob,
    ) -> Result<Vec<u8>, End> {
        let app = Arc::clone(&self.app);
        let computed = app.compute(&app.metrics.policy_seconds, job);
        tokio::pin!(computed);
        let mut gone = None;
        loop {
            let reads = gone.is_none() && self.queue.has_room();
            let received = tokio::select! {
                biased;
                result = &mut computed => {
                    // The session counts as used until the answer, and a client that was not read as heard.
                    drop(session.lock());
                    self.last_seen = Instant::now();
                    return match gone {
                        Some(end) => Err(end),
                        None => Ok(action_frame(&app, result)),
                    };
                }
                received = self.receive(), if reads => received,
            };
            match received {
                Ok(Some(text)) => self.queue.push(text),
                Ok(None) => {}
                Err(end) => gone = Some(end),
            }
        }
    }

    async fn send(&mut self, frame: Vec<u8>) -> Result<(), End> {
        // JSON of this server is UTF-8.
        let text = String::from_utf8(frame).unwrap_or_default();
        self.send_message(Message::Text(text.into())).await
    }

    /// Sends a frame; a client that does not read it within the deadline counts as gone.
    async fn send_message(&mut self, message: Message) -> Result<(), End> {
        let deadline = self.app.limits.ping_deadline;
        match tokio::time::timeout(deadline, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(End::Client),
            Err(_) => Err(End::Vanished),
        }
    }

    /// Ends a connection that gets no session.
    async fn refuse(mut self, refused: NoSession, dialect: &Dialect) {
        let error = match (dialect, &refused) {
            (Dialect::JsonRpc, NoSession::NotOpened(error)) => {
                let answer = json_rpc::refused_session(error).to_string();
                if self.send(answer.into_bytes()).await.is_err() {
                    return;
                }
                None
            }
            _ => Some(ErrorMessage::from(&refused)),
        };
        self.finish(End::Close(NORMAL, "", error)).await;
    }

    /// Ends a connection: sends the last frames if the server closes, and lets the client's close frame
    /// be answered.
    async fn finish(mut self, end: End) {
        match end {
            End::Vanished => return,
            End::Client => {}
            End::Close(code, reason, error) => {
                if let Some(error) = error {
                    self.app.metrics.count_error(error.code.name());
                    if self.send(error.to_frame()).await.is_err() {
                        return;
                    }
                }
                let reason = Utf8Bytes::from_static(reason);
                let close = Message::Close(Some(CloseFrame { code, reason }));
                if self.send_message(close).await.is_err() {
                    return;
                }
            }
        }
        // Reading also writes the answer to a close frame. What the client sent before is dropped.
        let answered = async { while let Some(Ok(_)) = self.socket.recv().await {} };
        let patience = self.app.limits.ping_deadline.min(CLOSE_PATIENCE);
        let _ = tokio::time::timeout(patience, answered).await;
    }
}

fn stopping() -> End {
    End::Close(AWAY, "the server stops", None)
}

fn ended() -> End {
    End::Close(AWAY, "session idle, too old or closed", None)
}

/// Returns the end for a frame that cannot be read, with the codes of RFC 6455.
fn broken(error: axum::Error, max_message: usize) -> End {
    let close = |code, reason| End::Close(code, reason, None);
    match error.into_inner().downcast_ref::<tungstenite::Error>() {
        Some(tungstenite::Error::Capacity(_)) => {
            let message = format!("a message has at most {max_message} bytes: the session ends");
            let error = ErrorMessage::new(ErrorCode::Session, message);
            End::Close(TOO_BIG, "message too big", Some(error))
        }
        Some(tungstenite::Error::Utf8(_)) => close(NOT_UTF8, "not UTF-8"),
        Some(tungstenite::Error::Protocol(ProtocolError::ResetWithoutClosingHandshake)) => {
            End::Client
        }
        Some(tungstenite::Error::Protocol(_)) => close(PROTOCOL, "broken frame"),
        _ => End::Client,
    }
}

/// Answers one JSON-RPC frame.
fn answer_json_rpc(app: &App, session: &Session<AnyEnvironment>, text: &str) -> Answer {
    // It counts as a use of the session.
    drop(session.lock());
    let answer = json_rpc::answer_bytes(app, Some(session.id()), text.as_bytes());
    Answer::Frame(answer.to_string().into_bytes())
}

/// Answers one text frame.
fn answer(app: &Arc<App>, session: &Arc<Session<AnyEnvironment>>, text: &str) -> Answer {
    let result = ClientMessage::parse(text);
    let message = match result {
        Ok(message) => message,
        Err(error) if error.code == ErrorCode::Session => {
            return Answer::End(End::Close(NORMAL, "", Some(error)));
        }
        Err(error) => return refused(app, &error),
    };
    let mut environment = session.lock();
    let done = match message {
        ClientMessage::Reset(data) => {
            let reset = environment.reset(&data);
            if reset.is_ok() {
                app.metrics.count_reset(environment.world());
            }
            reset
        }
        ClientMessage::Step(action) => {
            let step = environment.step(action);
            if step.is_ok() {
                app.metrics.count_step(environment.world());
            }
            step
        }
        ClientMessage::State => return Answer::Frame(frame("state", &environment.state())),
        ClientMessage::Close => return Answer::End(End::Close(NORMAL, "", None)),
        ClientMessage::Mcp(request) => {
            drop(environment);
            return Answer::Frame(frame(
                "mcp",
                &json_rpc::answer(app, Some(session.id()), &request),
            ));
        }
        ClientMessage::Act => {
            let Some(policy) = &app.policy else {
                let error = ErrorMessage::new(ErrorCode::UnknownType, "Unknown message type: act");
                return refused(app, &error);
            };
            return match environment.act(policy) {
                Ok(job) => Answer::Job(job),
                Err(error) => refused(
                    app,
                    &ErrorMessage::new(ErrorCode::Execution, error.to_string()),
                ),
            };
        }
    };
    match done {
        Ok(()) => {
            let mut out = br#"{"type":"observation","data":"#.to_vec();
            environment.write_reply(Transport::Socket, &mut out);
            out.push(b'}');
            Answer::Frame(out)
        }
        Err(failure) => refused(app, &failure.into()),
    }
}

fn refused(app: &App, error: &ErrorMessage) -> Answer {
    app.metrics.count_error(error.code.name());
    Answer::Frame(error.to_frame())
}

fn frame(kind: &str, data: &Value) -> Vec<u8> {
    format!(r#"{{"type":"{kind}","data":{data}}}"#).into_bytes()
}

/// Returns the frame with the action of the policy.
fn action_frame(app: &App, result: Result<Value, String>) -> Vec<u8> {
    match result {
        Ok(action) => frame("action", &action),
        Err(reason) => {
            let error = ErrorMessage::new(ErrorCode::Execution, reason);
            app.metrics.count_error(error.code.name());
            error.to_frame()
        }
    }
}
