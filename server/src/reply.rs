//! Reading of bodies and writing of answers, shared by all routes.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Map, Value, json};

use crate::envelope::{EnvelopeError, parse_object};
use crate::validation::FieldError;

/// Returns the text of a body; an empty body is an empty object.
pub(crate) fn body_text(body: &[u8]) -> Result<&str, Response> {
    let text = std::str::from_utf8(body).map_err(|error| json_invalid(&error, 0))?;
    Ok(if text.trim_ascii().is_empty() {
        "{}"
    } else {
        text
    })
}

/// Reads the JSON object of a body without actions.
pub(crate) fn body_object(body: &[u8]) -> Result<Map<String, Value>, Response> {
    parse_object(body_text(body)?).map_err(|error| broken(&error, &["body"]))
}

/// Returns the answer for a broken envelope whose object is at `loc`.
pub(crate) fn broken(error: &EnvelopeError, loc: &[&str]) -> Response {
    match (error, error.to_field_error(loc)) {
        (EnvelopeError::NotJson(error), _) => json_invalid(error, error.column()),
        (_, errors) => unprocessable(errors.as_slice()),
    }
}

/// Returns the answer for a body that is not JSON from a column on.
pub(crate) fn json_invalid(error: &impl std::fmt::Display, column: usize) -> Response {
    let mut found = FieldError::new("json_invalid", &["body"], "JSON decode error", &json!({}));
    found.loc.push(column.into());
    found.ctx = Some(json!({"error": error.to_string()}));
    unprocessable(&[found])
}

/// Creates the answer for fields that are wrong.
pub(crate) fn unprocessable(errors: &[FieldError]) -> Response {
    detail(StatusCode::UNPROCESSABLE_ENTITY, json!(errors))
}

/// Creates an answer with `{"detail": …}`.
pub(crate) fn detail(status: StatusCode, detail: impl Into<Value>) -> Response {
    json_response(status, &json!({"detail": detail.into()}))
}

/// Creates an answer with a JSON body.
pub(crate) fn json_response(status: StatusCode, body: &Value) -> Response {
    json_bytes(status, body.to_string().into_bytes())
}

/// Creates an answer whose body is JSON already.
pub(crate) fn json_bytes(status: StatusCode, body: Vec<u8>) -> Response {
    let mut response = (status, body).into_response();
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
