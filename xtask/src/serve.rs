//! A small static file server on the loopback address, for `demo` and the browser tests.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use tiny_http::{Header, Method, Request, Response, StatusCode};

/// The number of worker threads, enough for a browser's parallel requests.
const THREADS: usize = 4;

/// A running server; it stops when dropped.
pub struct Server {
    address: SocketAddr,
    prefix: String,
    http: Arc<tiny_http::Server>,
    workers: Vec<JoinHandle<()>>,
}

/// Serves the files of `folder` under `prefix` (such as `/` or `/some/sub/path/`) on `port` of
/// 127.0.0.1; port 0 takes any free one.
///
/// # Errors
/// Returns an error if the port is not available; `AddrInUse` if another process has it.
pub fn serve(folder: &Path, prefix: &str, port: u16) -> io::Result<Server> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    let address = listener.local_addr()?;
    let http = tiny_http::Server::from_listener(listener, None).map_err(io::Error::other)?;
    let http = Arc::new(http);
    let prefix = format!("/{}/", prefix.trim_matches('/')).replace("//", "/");
    let workers = (0..THREADS)
        .map(|_| {
            let (http, folder, prefix) = (Arc::clone(&http), folder.to_owned(), prefix.clone());
            std::thread::spawn(move || {
                while let Ok(request) = http.recv() {
                    // A browser that closed the connection is not an error.
                    let _ = answer(request, &folder, &prefix);
                }
            })
        })
        .collect();
    Ok(Server {
        address,
        prefix,
        http,
        workers,
    })
}

impl Server {
    /// Returns the address to open, with the prefix and a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.prefix)
    }

    /// Serves until the process ends.
    pub fn wait(mut self) {
        for worker in self.workers.drain(..) {
            // A worker ends only with the server, or by a panic that it already reported.
            let _ = worker.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for _ in &self.workers {
            self.http.unblock();
        }
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("url", &self.url()).finish()
    }
}

fn answer(request: Request, folder: &Path, prefix: &str) -> io::Result<()> {
    if !matches!(request.method(), Method::Get | Method::Head) {
        return refuse(request, 405, "only GET and HEAD");
    }
    let Some(file) = resolve(request.url(), prefix) else {
        return refuse(request, 404, "not found");
    };
    let file = folder.join(file);
    let compressed = compressed(&request, &file);
    let Ok(bytes) = std::fs::read(compressed.as_ref().unwrap_or(&file)) else {
        return refuse(request, 404, "not found");
    };
    let mut response = Response::from_data(bytes)
        .with_header(header("Content-Type", mime(&file)))
        // The page is rebuilt under the same address: the browser must revalidate.
        .with_header(header("Cache-Control", "no-cache"));
    if compressed.is_some() {
        response.add_header(header("Content-Encoding", "br"));
    }
    request.respond(response)
}

/// Returns the compressed file beside `file`, if there is one and the browser reads such files.
fn compressed(request: &Request, file: &Path) -> Option<PathBuf> {
    let accepts = request.headers().iter().any(|header| {
        let names = header.value.as_str().split(',').map(str::trim);
        header.field.equiv("Accept-Encoding") && names.into_iter().any(|name| name == "br")
    });
    let mut name = file.as_os_str().to_owned();
    name.push(".br");
    let path = PathBuf::from(name);
    (accepts && path.is_file()).then_some(path)
}

fn refuse(request: Request, status: u16, text: &str) -> io::Result<()> {
    request.respond(Response::from_string(text).with_status_code(StatusCode(status)))
}

fn header(name: &str, value: &str) -> Header {
    Header::from_bytes(name, value).expect("both are constants of this file, in ASCII")
}

/// Returns the file, relative to the folder, of a request's path; `None` if it leaves the folder or
/// the prefix.
fn resolve(url: &str, prefix: &str) -> Option<PathBuf> {
    let path = url.split(['?', '#']).next()?;
    let path = percent_decode(path)?;
    let path = path.strip_prefix(prefix)?;
    let mut file = PathBuf::from(path);
    if path.is_empty() || path.ends_with('/') {
        file.push("index.html");
    }
    let inside = file
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    (inside && !path.contains(['\\', '\0'])).then_some(file)
}

/// Decodes `%41` and the like; returns `None` for invalid UTF-8 or an incomplete escape.
fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let (digits, after) = after.split_at_checked(2)?;
            let high = char::from(digits[0]).to_digit(16)?;
            let low = char::from(digits[1]).to_digit(16)?;
            bytes.push(u8::try_from(high * 16 + low).ok()?);
            rest = after;
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

/// Returns the media type of a file by its name; a browser compiles wasm while loading it only with
/// the right one.
#[must_use]
pub fn mime(file: &Path) -> &'static str {
    let extension = file.extension().unwrap_or_default().to_string_lossy();
    match extension.to_ascii_lowercase().as_str() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "wasm" => "application/wasm",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "jsonl" => "application/x-ndjson",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" | "md" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
#[path = "serve_tests.rs"]
mod tests;
