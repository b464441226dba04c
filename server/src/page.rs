//! The files of the built page.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use percent_encoding::percent_decode_str;
use tower::ServiceExt as _;
use tower_http::services::ServeDir;

/// A folder whose files are served: none outside it, where a link may lead, and none whose name or
/// folder begins with a dot.
#[derive(Clone, Debug)]
pub(crate) struct PageFiles {
    folder: Arc<PathBuf>,
    files: ServeDir,
}

impl PageFiles {
    /// Creates the service of a folder.
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            folder: Arc::new(folder.to_owned()),
            files: ServeDir::new(folder),
        }
    }

    /// Answers a request with a file.
    pub(crate) async fn serve(self, request: Request) -> Response {
        let path = request.uri().path().to_owned();
        let folder = Arc::clone(&self.folder);
        let is_served = tokio::task::spawn_blocking(move || is_served(&folder, &path));
        if !matches!(is_served.await, Ok(Ok(true))) {
            return StatusCode::NOT_FOUND.into_response();
        }
        let answer = self.files.oneshot(request).await;
        let mut response = answer.into_response();
        if let Some(kind) = response.headers_mut().get_mut(header::CONTENT_TYPE)
            && let Some(with_charset) = with_charset(kind)
        {
            *kind = with_charset;
        }
        response
    }
}

/// Returns `true` if the path of a request is a file of the folder that may be served, or a folder in
/// it.
fn is_served(folder: &Path, path: &str) -> io::Result<bool> {
    let Ok(path) = percent_decode_str(path).decode_utf8() else {
        return Ok(false);
    };
    let folder = folder.canonicalize()?;
    let mut asked = folder.join(path.trim_start_matches('/'));
    if has_dot_or_parent(Path::new(path.trim_start_matches('/'))) {
        return Ok(false);
    }
    if asked.is_dir() {
        asked.push("index.html");
    }
    let found = asked.canonicalize()?;
    Ok(found
        .strip_prefix(&folder)
        .is_ok_and(|inside| !has_dot_or_parent(inside)))
}

/// Returns `true` if a part of a path begins with a dot or leads out of its folder.
fn has_dot_or_parent(path: &Path) -> bool {
    path.components().any(|part| match part {
        Component::Normal(name) => name.as_encoded_bytes().starts_with(b"."),
        _ => true,
    })
}

/// Returns the content type of a text with its encoding; `None` if it is not a text, or names one.
fn with_charset(kind: &HeaderValue) -> Option<HeaderValue> {
    let kind = kind.to_str().ok()?;
    let is_bare_text = kind.starts_with("text/") && !kind.contains(';');
    let with_charset = is_bare_text.then(|| format!("{kind}; charset=utf-8"))?;
    HeaderValue::from_str(&with_charset).ok()
}
