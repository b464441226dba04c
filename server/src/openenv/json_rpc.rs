//! JSON-RPC 2.0 of `/mcp`: sessions for HTTP clients. The worlds have no tools, so that requests for
//! tools are answered as by any environment without them.

use serde_json::{Map, Value, json};

use crate::envelope::{EnvelopeError, strict_value};
use crate::sessions::OpenError;
use crate::state::App;

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const INTERNAL: i32 = -32603;
const CAPACITY: i32 = -32000;

/// An error of a request.
struct RpcError {
    code: i32,
    message: String,
    data: Value,
}

impl RpcError {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: Value::Null,
        }
    }
}

/// Answers the bytes of a request; `own` is the session of the WebSocket that it came over. The answer is
/// a JSON-RPC response in any case.
pub(crate) fn answer_bytes(app: &App, own: Option<&str>, bytes: &[u8]) -> Value {
    let parsed = match std::str::from_utf8(bytes) {
        Ok(text) => strict_value(text, &[]),
        Err(error) => {
            let message = format!("Parse error: {error}");
            return response(&Value::Null, Err(RpcError::new(PARSE_ERROR, message)));
        }
    };
    let (code, message) = match parsed {
        Ok(request) => return answer(app, own, &request),
        Err(error @ EnvelopeError::NotJson(_)) => (PARSE_ERROR, format!("Parse error: {error}")),
        Err(error) => (INVALID_REQUEST, format!("Invalid request: {error}")),
    };
    response(&Value::Null, Err(RpcError::new(code, message)))
}

/// Answers a request that is JSON already.
pub(crate) fn answer(app: &App, own: Option<&str>, request: &Value) -> Value {
    match parse(request) {
        Ok((id, method, params)) => response(id, call(app, own, method, &params)),
        Err(error) => response(&Value::Null, Err(error)),
    }
}

/// Returns the answer of a connection for which there is no session.
pub(crate) fn refused_session(error: &OpenError) -> Value {
    response(&Value::Null, Err(error.into()))
}

impl From<&OpenError> for RpcError {
    fn from(error: &OpenError) -> Self {
        let words = error.to_string();
        match error {
            OpenError::NoEntropy(_) => Self::new(INTERNAL, words),
            OpenError::Full(full) => Self {
                data: json!({"active_sessions": full.active, "max_sessions": full.max}),
                ..Self::new(CAPACITY, words)
            },
        }
    }
}

fn response(id: &Value, result: Result<Value, RpcError>) -> Value {
    match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(RpcError {
            code,
            message,
            data,
        }) => json!({
            "jsonrpc": "2.0", "id": id,
            "error": {"code": code, "message": message, "data": data},
        }),
    }
}

/// Returns id, method and parameters of a request.
fn parse(request: &Value) -> Result<(&Value, &str, Map<String, Value>), RpcError> {
    let invalid = |why: String| RpcError::new(INVALID_REQUEST, format!("Invalid request: {why}"));
    let Some(fields) = request.as_object() else {
        return Err(invalid("it is not an object".to_owned()));
    };
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid("jsonrpc should be \"2.0\"".to_owned()));
    }
    let Some(method) = fields.get("method").and_then(Value::as_str) else {
        return Err(invalid("method should be a text".to_owned()));
    };
    let known = ["jsonrpc", "id", "method", "params"];
    if let Some(name) = fields.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(invalid(format!("unknown field {name:?}")));
    }
    let params = match fields.get("params") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(params)) => params.clone(),
        Some(_) => return Err(invalid("params should be an object".to_owned())),
    };
    let id = fields.get("id").unwrap_or(&Value::Null);
    if !(id.is_null() || id.is_string() || id.is_number()) {
        return Err(invalid("id should be a text or a number".to_owned()));
    }
    Ok((id, method, params))
}

fn call(
    app: &App,
    own: Option<&str>,
    method: &str,
    params: &Map<String, Value>,
) -> Result<Value, RpcError> {
    let session_id = match params.get("session_id") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) => Some(id.as_str()),
        Some(_) => {
            let message = "Invalid params: session_id should be a text";
            return Err(RpcError::new(INVALID_PARAMS, message));
        }
    };
    let unknown = |id: &str| {
        let shown: String = id.chars().take(64).collect();
        RpcError::new(INVALID_PARAMS, format!("Unknown session_id: {shown}"))
    };
    match method {
        "openenv/session/create" => match own {
            Some(id) => Ok(json!({"session_id": id})),
            None => {
                let session = app.open_session().map_err(|error| RpcError::from(&error))?;
                Ok(json!({"session_id": session.id()}))
            }
        },
        "openenv/session/close" => {
            let message = "Invalid params - 'session_id' is required";
            let id = session_id.filter(|id| !id.is_empty());
            let id = id.ok_or_else(|| RpcError::new(INVALID_PARAMS, message))?;
            if own == Some(id) {
                let message = "Cannot close active WebSocket-managed session via MCP method";
                return Err(RpcError::new(INVALID_REQUEST, message));
            }
            let session = app.sessions.get(id).ok_or_else(|| unknown(id))?;
            if session.close_on_detach() {
                return Ok(json!({"session_id": id, "closed": false, "closing": true}));
            }
            app.close_session(id, "closed");
            Ok(json!({"session_id": id, "closed": true}))
        }
        "tools/list" | "tools/call" => {
            // A WebSocket has its own session, whatever the parameters name.
            let named = session_id.filter(|id| own.is_none() && !id.is_empty());
            if let Some(id) = named
                && app.sessions.get(id).is_none()
            {
                return Err(unknown(id));
            }
            let name = params.get("name").and_then(Value::as_str);
            if method == "tools/call" && name.is_none_or(str::is_empty) {
                return Err(RpcError::new(INVALID_PARAMS, "Missing 'name' in params"));
            }
            Err(RpcError::new(INTERNAL, "Environment does not support MCP"))
        }
        _ => {
            let shown: String = method.chars().take(64).collect();
            Err(RpcError::new(
                METHOD_NOT_FOUND,
                format!("Method not found: {shown}"),
            ))
        }
    }
}
