//! A WebSocket connection: one reply per frame, in order, and pings at any time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use governor::DefaultDirectRateLimiter;
use serde_json::Value;
use tokio::time::Instant;

use super::frames::{ClientMessage, ErrorCode, ErrorMessage};
use super::json_rpc;
use crate::access::message_limiter;
use crate::environment::{AnyEnvironment, Transport};
use crate::policy::ActJob;
use crate::sessions::{OpenError, Session};
use crate::state::App;

/// Most frames that wait while a slow step runs.
const QUEUE: usize = 64;

/// Longest time that a closing handshake takes.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

const NORMAL: u16 = 1000;
const AWAY: u16 = 1001;
const UNSUPPORTED: u16 = 1003;
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

/// Serves an OpenEnv connection until it ends; `attach` names a session that `/mcp` created.
pub(crate) async fn serve(socket: WebSocket, app: Arc<App>, attach: Option<String>) {
    let mut connection = Connection::new(socket, &app);
    let session = match open(&app, attach.as_deref()) {
        Ok(session) => session,
        Err(refused) => {
            let end = End::Close(NORMAL, "", Some(refused));
            connection.finish(end).await;
            return;
        }
    };
    let held = Held {
        app: &app,
        session: &session,
        attached: attach.is_some(),
        reason: "disconnected",
    };
    let end = connection.run(&session).await;
    let mut held = held;
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

fn open(app: &App, attach: Option<&str>) -> Result<Arc<Session<AnyEnvironment>>, ErrorMessage> {
    let Some(id) = attach else {
        return app.open_session().map_err(refused_session);
    };
    let shown: String = id.chars().take(64).collect();
    let refuse = |message: String| ErrorMessage::new(ErrorCode::Session, message);
    let session = app.sessions.get(id);
    let session = session.ok_or_else(|| refuse(format!("Unknown session_id: {shown}")))?;
    if !session.attach() {
        return Err(refuse(format!("session {shown} has a connection already")));
    }
    Ok(session)
}

/// Returns the message for a session that was not opened.
fn refused_session(error: OpenError) -> ErrorMessage {
    let code = match error {
        OpenError::Full(_) => ErrorCode::Capacity,
        OpenError::NoEntropy(_) => ErrorCode::Session,
    };
    let mut message = ErrorMessage::new(code, error.to_string());
    if let OpenError::Full(full) = error {
        let fields = &mut message.fields;
        fields.insert("active_sessions".to_owned(), full.active.into());
        fields.insert("max_sessions".to_owned(), full.max.into());
    }
    message
}

/// Serves a JSON-RPC connection of `/mcp` until it ends.
pub(crate) async fn serve_json_rpc(socket: WebSocket, app: Arc<App>) {
    let mut connection = Connection::new(socket, &app);
    let end = loop {
        match connection.next_text(None).await {
            Ok(text) => {
                let answer = json_rpc::answer_bytes(&app, text.as_bytes());
                if let Err(end) = connection.send(answer.to_string().into_bytes()).await {
                    break end;
                }
            }
            Err(end) => break end,
        }
    };
    connection.finish(end).await;
}

struct Connection {
    app: Arc<App>,
    socket: WebSocket,
    /// Frames that arrived while a slow step ran.
    queue: VecDeque<Utf8Bytes>,
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
            queue: VecDeque::new(),
            last_seen: now,
            next_ping: now + app.limits.ping_interval,
            limiter: message_limiter(app.limits.rate),
        }
    }

    /// Answers frames until the connection ends.
    async fn run(&mut self, session: &Arc<Session<AnyEnvironment>>) -> End {
        loop {
            let text = match self.next_text(Some(session)).await {
                Ok(text) => text,
                Err(end) => return end,
            };
            if let Some(limiter) = &self.limiter {
                limiter.until_ready().await;
            }
            let app = Arc::clone(&self.app);
            let sent = match answer(&app, session, &text) {
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
    async fn next_text(
        &mut self,
        session: Option<&Arc<Session<AnyEnvironment>>>,
    ) -> Result<Utf8Bytes, End> {
        if self.app.shutdown.is_cancelled() {
            return Err(stopping());
        }
        if let Some(text) = self.queue.pop_front() {
            return Ok(text);
        }
        let app = Arc::clone(&self.app);
        loop {
            let ended = async {
                match session {
                    Some(session) => session.ended().cancelled().await,
                    None => std::future::pending().await,
                }
            };
            let received = tokio::select! {
                biased;
                () = app.shutdown.cancelled() => return Err(stopping()),
                () = ended => return Err(expired()),
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
                let most = limits.max_message;
                // The library names the limit that was exceeded; other errors are broken connections.
                if error.to_string().contains("too long") {
                    let message = format!("a message has at most {most} bytes: the session ends");
                    let error = ErrorMessage::new(ErrorCode::Session, message);
                    return Err(End::Close(TOO_BIG, "message too big", Some(error)));
                }
                Err(End::Client)
            }
        }
    }

    /// Runs a computation of the policy beside the socket, whose pings are answered and whose frames
    /// wait in order.
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
            let received = tokio::select! {
                biased;
                result = &mut computed => {
                    // The session counts as used until the answer.
                    drop(session.lock());
                    return match gone {
                        Some(end) => Err(end),
                        None => Ok(action_frame(&app, result)),
                    };
                }
                received = self.receive(), if gone.is_none() => received,
            };
            match received {
                Ok(Some(text)) if self.queue.len() < QUEUE => self.queue.push_back(text),
                Ok(Some(_)) => {
                    let message =
                        format!("more than {QUEUE} frames wait for one answer: the session ends");
                    let error = ErrorMessage::new(ErrorCode::Session, message);
                    gone = Some(End::Close(NORMAL, "too many frames", Some(error)));
                }
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

fn expired() -> End {
    End::Close(AWAY, "session idle or too old", None)
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
            return Answer::Frame(frame("mcp", &json_rpc::answer(app, &request)));
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
