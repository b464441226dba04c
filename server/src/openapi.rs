//! The description of the API, an OpenAPI document that is made from the list of routes.

use std::collections::BTreeMap;

use schemars::SchemaGenerator;
use schemars::generate::{Contract, SchemaSettings};
use serde_json::{Map, Value, json};

use crate::completions;
use crate::route::{ErrorBody, JSON, Method, Operation, Parameter, Reply};

/// Names and descriptions of the tags.
const TAGS: [(&str, &str); 5] = [
    ("openenv", "The protocol of OpenEnv 0.10"),
    ("policy", "The policy of the server"),
    (
        completions::http::TAG,
        "A language model, in the dialect of vLLM's server",
    ),
    ("reference", "The HTTP API of the Python reference"),
    ("server", "The server itself"),
];

/// An answer that several routes have: its status, its name, its description, and the routes.
struct Common {
    status: u16,
    name: &'static str,
    description: &'static str,
    applies: fn(&Operation) -> bool,
}

const COMMON: [Common; 7] = [
    Common {
        status: 400,
        name: "BadRequest",
        description: "The query cannot be read, such as one that has a parameter twice, or the request does not name \
                      its host once",
        applies: |operation| !operation.is_open,
    },
    Common {
        status: 401,
        name: "Unauthorized",
        description: "The server has a token, and the request does not carry it",
        applies: |operation| !operation.is_open,
    },
    Common {
        status: 403,
        name: "Forbidden",
        description: "The host or the origin of the request is not one that the server allows",
        applies: |operation| !operation.is_open,
    },
    Common {
        status: 408,
        name: "Timeout",
        description: "The request took longer than the server allows",
        applies: |_| true,
    },
    Common {
        status: 413,
        name: "TooLarge",
        description: "The body is larger than the server allows",
        applies: |operation| operation.method == Method::Post,
    },
    Common {
        status: 415,
        name: "NotJson",
        description: "The content type of the body is not application/json",
        applies: |operation| operation.method == Method::Post,
    },
    Common {
        status: 429,
        name: "TooManyRequests",
        description: "The address has sent more requests than the server allows; Retry-After has the seconds",
        applies: |operation| !operation.is_open,
    },
];

/// The generators of schemas: what is read may leave out fields that are always sent.
struct Generators {
    requests: SchemaGenerator,
    replies: SchemaGenerator,
}

/// Returns the OpenAPI document of the routes.
pub(crate) fn document<'a>(operations: impl IntoIterator<Item = &'a Operation>) -> Value {
    let generator = |contract| {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
            settings.contract = contract;
        });
        settings.into_generator()
    };
    let mut generators = Generators {
        requests: generator(Contract::Deserialize),
        replies: generator(Contract::Serialize),
    };
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for operation in operations {
        let method = operation.method.name().to_ascii_lowercase();
        let described = describe(operation, &mut generators);
        paths
            .entry(operation.path)
            .or_default()
            .insert(method, described);
    }
    let error = generators.replies.subschema_for::<ErrorBody>();
    let common = COMMON.iter().map(|common| {
        let content = json!({JSON: {"schema": error}});
        let response = json!({"description": common.description, "content": content});
        (common.name.to_owned(), response)
    });
    let responses: Map<String, Value> = common.collect();
    let mut schemas = generators.requests.take_definitions(true);
    schemas.extend(generators.replies.take_definitions(true));
    let tags = TAGS.map(|(name, description)| json!({"name": name, "description": description}));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Sentinel",
            // OpenEnv's validation reads it as the version of the protocol.
            "version": "1.0.0",
            "description": "Worlds for agent oversight: OpenEnv at the root, the reference's API under /sentinel/, \
                            a language model under /v1/",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "tags": tags,
        // The token is needed if the server has one.
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": responses,
            "securitySchemes": {"token": {
                "type": "http", "scheme": "bearer",
                "description": "The token of the server, if it was started with one",
            }},
        },
    })
}

/// Returns the description of a route.
fn describe(operation: &Operation, generators: &mut Generators) -> Value {
    let mut described = json!({
        "operationId": operation_id(operation),
        "tags": [operation.tag],
        "summary": operation.summary,
        "responses": responses(operation, &mut generators.replies),
    });
    let parameters = parameters(operation, &mut generators.requests);
    if !parameters.is_empty() {
        described["parameters"] = parameters.into();
    }
    if let Some(body) = &operation.body {
        let schema = (body.schema)(&mut generators.requests);
        described["requestBody"] =
            json!({"required": body.is_required, "content": {JSON: {"schema": schema}}});
    }
    if operation.is_open {
        described["security"] = json!([]);
    }
    described
}

fn responses(operation: &Operation, generator: &mut SchemaGenerator) -> Map<String, Value> {
    let common = COMMON.iter().filter(|common| (common.applies)(operation));
    let common = common.map(|common| {
        let answer = if operation.tag == completions::http::TAG {
            // vLLM's dialect has its own form of errors.
            let schema = generator.subschema_for::<completions::protocol::ErrorResponse>();
            let content = json!({JSON: {"schema": schema}});
            json!({"description": common.description, "content": content})
        } else {
            json!({"$ref": format!("#/components/responses/{}", common.name)})
        };
        (common.status.to_string(), answer)
    });
    let mut responses: Map<String, Value> = common.collect();
    for Reply {
        status,
        description,
        content,
    } in &operation.replies
    {
        let mut response = json!({"description": description});
        if let Some((media, schema)) = content {
            response["content"] = json!({*media: {"schema": schema(generator)}});
        }
        responses.insert(status.to_string(), response);
    }
    responses
}

fn parameters(operation: &Operation, generator: &mut SchemaGenerator) -> Vec<Value> {
    let of_path = operation.path.split('/').filter_map(|part| {
        let name = part.strip_prefix('{')?.strip_suffix('}')?;
        Some(json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
    });
    let mut parameters: Vec<Value> = of_path.collect();
    for parameter in &operation.parameters {
        let Parameter {
            name,
            description,
            is_required,
            schema,
        } = parameter;
        parameters.push(json!({
            "name": name, "in": "query", "required": is_required, "description": description,
            "schema": schema(generator),
        }));
    }
    parameters
}

/// Returns a name that no other route has, such as `post_sentinel_cluster_reset`.
fn operation_id(operation: &Operation) -> String {
    let words = operation
        .path
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    let method = match operation.method {
        Method::Get => "get",
        Method::Post => "post",
    };
    let words: Vec<&str> = [method].into_iter().chain(words).collect();
    words.join("_")
}
