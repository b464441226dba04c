//! The form of error answers: `{"detail": …}`, and that of vLLM under `/v1/`.

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

use crate::completions;
use crate::options::Limits;
use crate::reply::detail;

/// Longest text of another library that becomes the detail of an error.
const WORDS_MAX: usize = 4096;

/// Creates an error answer in the form of the routes among which `path` is.
pub(crate) fn error_response(path: &str, status: StatusCode, words: &str) -> Response {
    if path.starts_with("/v1/") {
        let kind = status.canonical_reason().unwrap_or_default();
        completions::http::failure(status, kind, words)
    } else {
        detail(status, words)
    }
}

/// Returns `true` if the content type is JSON, with any parameters.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE);
    let text = value.and_then(|value| value.to_str().ok());
    let kind = text.and_then(|text| text.split(';').next());
    kind.is_some_and(|kind| {
        let kind = kind.trim().to_ascii_lowercase();
        kind == "application/json" || kind.starts_with("application/") && kind.ends_with("+json")
    })
}

/// Gives error answers of the libraries below, which are texts or empty, the form of the others.
pub(crate) async fn form_errors(
    State(limits): State<Limits>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path().to_owned();
    let response = next.run(request).await;
    let status = response.status();
    let is_error = status.is_client_error() || status.is_server_error();
    if !is_error || is_json(response.headers()) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let words = match status {
        StatusCode::PAYLOAD_TOO_LARGE => too_large(limits.max_message),
        StatusCode::REQUEST_TIMEOUT => {
            let seconds = limits.request_timeout.as_secs_f64();
            format!("the request was not done after {seconds} seconds: see --request-timeout")
        }
        _ => words_of(body).await.unwrap_or_else(|| {
            let reason = status.canonical_reason();
            reason.unwrap_or("the request failed").to_owned()
        }),
    };
    let (formed, body) = error_response(&path, status, &words).into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.extend(formed.headers);
    Response::from_parts(parts, body)
}

/// Returns the words for a body that is too large.
pub(crate) fn too_large(most: usize) -> String {
    format!("a body has at most {most} bytes: see --max-message")
}

/// Returns the text of a body; `None` if it is empty or not a text.
async fn words_of(body: Body) -> Option<String> {
    let bytes = to_bytes(body, WORDS_MAX).await.ok()?;
    let text = String::from_utf8(bytes.into()).ok()?;
    (!text.trim().is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_types_are_known() {
        let json = |text: &str| {
            let value = text.parse().expect("a header");
            is_json(&HeaderMap::from_iter([(header::CONTENT_TYPE, value)]))
        };
        for text in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/vnd.api+json",
        ] {
            assert!(json(text), "{text}");
        }
        for text in [
            "text/plain",
            "text/json",
            "text/plain; application/json",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=application/json",
            "application/jsonx",
            "",
        ] {
            assert!(!json(text), "{text}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
