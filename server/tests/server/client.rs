//! A server in the test's own process, and clients of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use sentinel_server::completions::CompletionEngine;
use sentinel_server::policy::ServedPolicy;
use sentinel_server::{Limits, ServeOptions, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// Longest time that a test waits for anything; no test measures time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server that runs in this process.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) sessions: Box<dyn Fn() -> usize + Send + Sync>,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<bool>,
}

impl TestServer {
    /// Starts a server on a free port.
    pub(crate) async fn start() -> Self {
        Self::with(|_, _| {}, None).await
    }

    /// Starts a server with changed options.
    pub(crate) async fn with(
        change: impl FnOnce(&mut ServeOptions, &mut Limits),
        policy: Option<ServedPolicy>,
    ) -> Self {
        Self::with_engine(change, policy, None).await
    }

    /// Starts a server with changed options and a language model.
    pub(crate) async fn with_engine(
        change: impl FnOnce(&mut ServeOptions, &mut Limits),
        policy: Option<ServedPolicy>,
        engine: Option<Arc<dyn CompletionEngine>>,
    ) -> Self {
        let mut options = ServeOptions {
            port: 0,
            ..ServeOptions::default()
        };
        let mut limits = options.limits();
        change(&mut options, &mut limits);
        let mut server = Server::bind_with_limits(options, limits, policy)
            .await
            .expect("binds");
        if let Some(engine) = engine {
            server = server.with_engine(engine);
        }
        let (address, sessions) = (server.address(), Box::new(server.session_count()));
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(server.run(async {
            let _ = stopped.await;
        }));
        Self {
            address,
            sessions,
            stop: Some(stop),
            running,
        }
    }

    /// Asks the server to stop.
    pub(crate) fn ask_to_stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    /// Stops the server; `true` if all connections ended within the grace time.
    pub(crate) async fn stop(mut self) -> bool {
        self.ask_to_stop();
        tokio::time::timeout(PATIENCE, self.running)
            .await
            .expect("stops")
            .expect("no panic")
    }

    /// Opens a WebSocket at a path.
    pub(crate) async fn connect(&self, path: &str) -> Client {
        self.try_connect(path, None).await.expect("connects")
    }

    /// Opens a WebSocket with a token.
    pub(crate) async fn try_connect(
        &self,
        path: &str,
        token: Option<&str>,
    ) -> Result<Client, Error> {
        let mut request = format!("ws://{}{path}", self.address).into_client_request()?;
        if let Some(token) = token {
            let value = format!("Bearer {token}").parse().expect("a header");
            request.headers_mut().insert("authorization", value);
        }
        let (socket, _) = tokio::time::timeout(PATIENCE, connect_async(request))
            .await
            .expect("in time")?;
        Ok(Client(socket))
    }

    /// Makes an HTTP request and returns status and body.
    pub(crate) async fn request(
        &self,
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> (u16, Value) {
        let (status, text) = self.request_text(method, path, body, None).await;
        (
            status,
            serde_json::from_str(&text).unwrap_or(Value::String(text)),
        )
    }

    /// Makes an HTTP request, with a token if there is one.
    pub(crate) async fn request_text(
        &self,
        method: &str,
        path: &str,
        body: Option<&str>,
        token: Option<&str>,
    ) -> (u16, String) {
        let url = format!("http://{}{path}", self.address);
        let (method, body) = (method.to_owned(), body.map(str::to_owned));
        let token = token.map(|token| format!("Bearer {token}"));
        let answer = tokio::task::spawn_blocking(move || {
            let agent: ureq::Agent = ureq::Agent::config_builder()
                .http_status_as_error(false)
                .timeout_global(Some(PATIENCE))
                .build()
                .into();
            let mut request = http::Request::builder().method(method.as_str()).uri(url);
            if let Some(token) = &token {
                request = request.header("authorization", token);
            }
            let request = request.header("content-type", "application/json");
            let mut response = match body {
                Some(body) => agent.run(request.body(body).expect("a request")),
                None => agent.run(request.body(()).expect("a request")),
            }
            .expect("an answer");
            let text = response.body_mut().read_to_string().expect("a text");
            (response.status().as_u16(), text)
        });
        answer.await.expect("no panic")
    }

    /// Sends a request byte by byte as it is given, and returns the answer.
    pub(crate) async fn raw(&self, request: &str) -> RawAnswer {
        let (mut stream, head) = self.raw_head(request).await;
        let mut body = Vec::new();
        let length = RawAnswer::header_of(&head, "content-length");
        if let Some(length) = length.and_then(|text| text.parse().ok())
            && !request.starts_with("HEAD ")
        {
            body.resize(length, 0);
            let read = tokio::time::timeout(PATIENCE, stream.read_exact(&mut body)).await;
            read.expect("in time").expect("the whole body");
        }
        let status = head.split(' ').nth(1).and_then(|text| text.parse().ok());
        RawAnswer {
            status: status.expect("a status"),
            body: String::from_utf8(body).expect("a text"),
            head,
        }
    }

    /// Opens a WebSocket whose frames are bytes.
    pub(crate) async fn raw_socket(&self, path: &str) -> TcpStream {
        let upgrade = upgrade_request(path, "localhost", &[]);
        let (stream, head) = self.raw_head(&upgrade).await;
        assert!(head.starts_with("HTTP/1.1 101"), "{head}");
        stream
    }

    /// Sends a request and reads the head of the answer.
    pub(crate) async fn raw_head(&self, request: &str) -> (TcpStream, String) {
        let mut stream = TcpStream::connect(self.address).await.expect("connects");
        stream.write_all(request.as_bytes()).await.expect("sends");
        let mut head = Vec::new();
        let read = async {
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.expect("an answer"));
            }
        };
        tokio::time::timeout(PATIENCE, read).await.expect("in time");
        (stream, String::from_utf8(head).expect("a text"))
    }

    /// Waits until the server has this number of sessions.
    pub(crate) async fn wait_for_sessions(&self, count: usize) {
        let reached = async {
            while (self.sessions)() != count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, reached).await;
        assert!(
            waited.is_ok(),
            "{} sessions, not {count}",
            (self.sessions)()
        );
    }
}

/// Returns the request that opens a WebSocket.
pub(crate) fn upgrade_request(path: &str, host: &str, headers: &[&str]) -> String {
    let more: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
}

/// An answer as it came.
pub(crate) struct RawAnswer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl RawAnswer {
    /// Returns the value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        Self::header_of(&self.head, name)
    }

    fn header_of<'a>(head: &'a str, name: &str) -> Option<&'a str> {
        head.lines().find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    /// Returns the body as JSON.
    pub(crate) fn json(&self) -> Value {
        let kind = self.header("content-type");
        assert_eq!(kind, Some("application/json"), "{}{}", self.head, self.body);
        serde_json::from_str(&self.body).expect("JSON")
    }

    /// Returns the words of an error.
    pub(crate) fn detail(&self) -> String {
        let words = self.json()["detail"].as_str().map(str::to_owned);
        words.expect("an error with words")
    }
}

/// A WebSocket client of a server.
pub(crate) struct Client(pub(crate) WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Client {
    /// Sends a text frame.
    pub(crate) async fn send_text(&mut self, text: impl Into<String>) {
        self.0
            .send(Message::text(text.into()))
            .await
            .expect("sends");
    }

    /// Returns the next text frame as JSON.
    pub(crate) async fn receive(&mut self) -> Value {
        match self.next().await {
            Some(Message::Text(text)) => serde_json::from_str(&text).expect("JSON"),
            other => panic!("no text frame but {other:?}"),
        }
    }

    /// Returns the next frame but pings and pongs; `None` after the end.
    pub(crate) async fn next(&mut self) -> Option<Message> {
        loop {
            let next = tokio::time::timeout(PATIENCE, self.0.next())
                .await
                .expect("in time");
            match next {
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(message)) => return Some(message),
                Some(Err(_)) | None => return None,
            }
        }
    }

    /// Returns the code of the close frame, after any other frames; `None` if there is none.
    pub(crate) async fn close_code(&mut self) -> Option<u16> {
        loop {
            match self.next().await? {
                Message::Close(frame) => return frame.map(|frame| frame.code.into()),
                _ => continue,
            }
        }
    }

    /// Sends a message and returns its reply.
    pub(crate) async fn ask(&mut self, message: &Value) -> Value {
        self.send_text(message.to_string()).await;
        self.receive().await
    }

    /// Starts an episode and returns its reply.
    pub(crate) async fn reset(&mut self, data: Value) -> Value {
        let reply = self.ask(&json!({"type": "reset", "data": data})).await;
        assert_eq!(reply["type"], "observation", "{reply}");
        reply["data"].clone()
    }

    /// Takes a step and returns its reply.
    pub(crate) async fn step(&mut self, action: Value) -> Value {
        let reply = self.ask(&json!({"type": "step", "data": action})).await;
        assert_eq!(reply["type"], "observation", "{reply}");
        reply["data"].clone()
    }

    /// Returns the state of the session.
    pub(crate) async fn state(&mut self) -> Value {
        self.ask(&json!({"type": "state"})).await["data"].clone()
    }
}
