//! A server on the loopback address for tests, with answers that real servers rarely give.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// A request as the server received it.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// The method, such as `GET`.
    pub method: String,
    /// The path with its query.
    pub target: String,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The bytes after the headers.
    pub body: Vec<u8>,
}

impl Received {
    /// Returns the value of the header with this name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value.as_str())
    }

    /// Returns the value of a parameter of the query.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<String> {
        let url = url::Url::parse(&format!("http://localhost{}", self.target)).ok()?;
        let mut pairs = url.query_pairs();
        pairs
            .find(|(key, _)| key == name)
            .map(|(_, v)| v.into_owned())
    }
}

/// The behavior of the server for one request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// An answer of the announced length.
    Answer {
        /// The code, such as 200 for success.
        status: u16,
        /// Names and values of the headers.
        headers: Vec<(String, String)>,
        /// The bytes after the headers.
        body: Vec<u8>,
    },
    /// The connection stays open without an answer.
    Silence,
    /// An answer that ends before its announced length.
    Broken,
}

impl Reply {
    /// Returns an answer with this status and text.
    #[must_use]
    pub fn status(status: u16, body: &str) -> Self {
        Self::Answer {
            status,
            headers: Vec::new(),
            body: body.as_bytes().to_vec(),
        }
    }

    /// Returns a successful answer with this JSON.
    #[must_use]
    pub fn json(value: &serde_json::Value) -> Self {
        Self::status(200, &value.to_string())
    }

    /// Adds a header to an answer.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Self::Answer { headers, .. } = &mut self {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }
}

/// A server that answers until it is dropped.
pub struct Loopback {
    /// The address, such as `http://127.0.0.1:8080`.
    pub url: String,
    received: Arc<Mutex<Vec<Received>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Loopback {
    /// Starts a server. `reply` gets the 0-based number of the request and the request.
    pub fn start(
        reply: impl Fn(usize, &Received) -> Reply + Send + 'static,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let received = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let (log, ended) = (Arc::clone(&received), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            // Connections that get no answer stay open until the server ends.
            let mut silent = Vec::new();
            for (number, stream) in listener.incoming().enumerate() {
                if ended.load(Ordering::Relaxed) {
                    break;
                }
                let Ok(mut stream) = stream else { continue };
                let Some(request) = read(&stream) else {
                    continue;
                };
                let answer = reply(number, &request);
                log.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(request);
                if !write(&mut stream, &answer) {
                    silent.push(stream);
                }
            }
        });
        Ok(Self {
            url,
            received,
            stop,
            thread: Some(thread),
        })
    }

    /// Returns the requests so far.
    pub fn received(&self) -> Vec<Received> {
        let log = self.received.lock();
        log.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the thread, which then sees the flag.
        let _ = TcpStream::connect(self.url.trim_start_matches("http://"));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn read(stream: &TcpStream) -> Option<Received> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let mut request = Received {
        method: words.next()?.to_owned(),
        target: words.next()?.to_owned(),
        ..Received::default()
    };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        let header = (name.to_ascii_lowercase(), value.trim().to_owned());
        request.headers.push(header);
    }
    let length = request.header("content-length");
    let length = length.and_then(|text| text.parse().ok()).unwrap_or(0);
    reader.take(length).read_to_end(&mut request.body).ok()?;
    Some(request)
}

/// Writes an answer; returns `false` if the connection must stay open.
fn write(stream: &mut TcpStream, reply: &Reply) -> bool {
    let text = match reply {
        Reply::Silence => return false,
        Reply::Broken => b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{".to_vec(),
        Reply::Answer {
            status,
            headers,
            body,
        } => {
            let mut text = format!("HTTP/1.1 {status} -\r\nconnection: close\r\n");
            for (name, value) in headers {
                text.push_str(&format!("{name}: {value}\r\n"));
            }
            text.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
            [text.into_bytes(), body.clone()].concat()
        }
    };
    // A client that went away is not a failure of the server.
    let _ = stream.write_all(&text).and_then(|()| stream.flush());
    true
}
