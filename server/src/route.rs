//! Routes as data: how each is called and answered, and its handler. The router and the description of
//! the API are made from the same list.

use axum::handler::Handler;
use axum::routing::{MethodRouter, get, post};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value};

use crate::validation::FieldError;

/// A route: its description, and its handler.
pub(crate) struct Route<S> {
    pub(crate) operation: Operation,
    pub(crate) handler: MethodRouter<S>,
}

/// The method of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
}

impl Method {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }
}

/// The description of a route.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) tag: &'static str,
    pub(crate) summary: &'static str,
    /// `true` if it is answered without the token and beyond the rate.
    pub(crate) is_open: bool,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Option<Body>,
    pub(crate) replies: Vec<Reply>,
}

/// A parameter of the query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) is_required: bool,
    pub(crate) schema: SchemaFn,
}

/// The body of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body {
    pub(crate) is_required: bool,
    pub(crate) schema: SchemaFn,
}

/// An answer of a route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) description: &'static str,
    /// The media type and the schema of the body, if it has one.
    pub(crate) content: Option<(&'static str, SchemaFn)>,
}

/// A function that returns the schema of a type.
pub(crate) type SchemaFn = fn(&mut SchemaGenerator) -> Schema;

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// The media type of almost all bodies.
pub(crate) const JSON: &str = "application/json";

/// The body of an error.
#[derive(JsonSchema)]
#[schemars(rename = "Error")]
#[allow(dead_code, reason = "only its schema is used")]
pub(crate) struct ErrorBody {
    detail: ErrorDetail,
}

#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[allow(dead_code, reason = "only its schema is used")]
enum ErrorDetail {
    /// The reason, and the way out.
    Words(String),
    /// The fields that are wrong.
    Fields(Vec<FieldError>),
}

impl Operation {
    fn new(method: Method, path: &'static str, tag: &'static str, summary: &'static str) -> Self {
        Self {
            method,
            path,
            tag,
            summary,
            is_open: false,
            parameters: Vec::new(),
            body: None,
            replies: Vec::new(),
        }
    }

    pub(crate) fn get(path: &'static str, tag: &'static str, summary: &'static str) -> Self {
        Self::new(Method::Get, path, tag, summary)
    }

    pub(crate) fn post(path: &'static str, tag: &'static str, summary: &'static str) -> Self {
        Self::new(Method::Post, path, tag, summary)
    }

    /// Marks a route that is answered without the token.
    pub(crate) fn open(mut self) -> Self {
        self.is_open = true;
        self
    }

    /// Adds a parameter of the query that may be left out.
    pub(crate) fn query<T: JsonSchema>(
        mut self,
        name: &'static str,
        description: &'static str,
    ) -> Self {
        self.parameters.push(Parameter {
            name,
            description,
            is_required: false,
            schema: schema_of::<T>,
        });
        self
    }

    /// Adds a parameter of the query without which the request is refused.
    pub(crate) fn required_query<T: JsonSchema>(
        mut self,
        name: &'static str,
        description: &'static str,
    ) -> Self {
        self = self.query::<T>(name, description);
        if let Some(parameter) = self.parameters.last_mut() {
            parameter.is_required = true;
        }
        self
    }

    fn with_body<T: JsonSchema>(mut self, is_required: bool) -> Self {
        let schema = schema_of::<T>;
        self.body = Some(Body {
            is_required,
            schema,
        });
        self
    }

    /// Sets the body of the request.
    pub(crate) fn body<T: JsonSchema>(self) -> Self {
        self.with_body::<T>(true)
    }

    /// Sets the body of a request that may be empty, which is as good as `{}`.
    pub(crate) fn optional_body<T: JsonSchema>(self) -> Self {
        self.with_body::<T>(false)
    }

    fn answers(
        mut self,
        status: u16,
        description: &'static str,
        content: Option<(&'static str, SchemaFn)>,
    ) -> Self {
        self.replies.push(Reply {
            status,
            description,
            content,
        });
        self
    }

    /// Adds the answer 200 with a body in JSON.
    pub(crate) fn reply<T: JsonSchema>(self, description: &'static str) -> Self {
        self.answers(200, description, Some((JSON, schema_of::<T>)))
    }

    /// Adds the answer 200 with a JSON object that has no fixed fields.
    pub(crate) fn document(self, description: &'static str) -> Self {
        self.reply::<Map<String, Value>>(description)
    }

    /// Adds the answer 200 with a text.
    pub(crate) fn text(self, media: &'static str, description: &'static str) -> Self {
        self.answers(200, description, Some((media, schema_of::<String>)))
    }

    /// Adds the upgrade to a WebSocket.
    pub(crate) fn websocket(self, description: &'static str) -> Self {
        self.answers(101, description, None)
            .fails(400, "the request does not open a WebSocket")
    }

    /// Adds an error with its reason.
    pub(crate) fn fails(self, status: u16, description: &'static str) -> Self {
        self.fails_with::<ErrorBody>(status, description)
    }

    /// Adds an error with another body.
    pub(crate) fn fails_with<T: JsonSchema>(self, status: u16, description: &'static str) -> Self {
        self.answers(status, description, Some((JSON, schema_of::<T>)))
    }

    /// Returns the route of a handler.
    pub(crate) fn handled_by<H, T, S>(self, handler: H) -> Route<S>
    where
        H: Handler<T, S>,
        T: 'static,
        S: Clone + Send + Sync + 'static,
    {
        let handler = match self.method {
            Method::Get => get(handler),
            Method::Post => post(handler),
        };
        Route {
            operation: self,
            handler,
        }
    }
}
