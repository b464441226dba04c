//! The names of a server: `Host`, `Origin`, the type of bodies, and the form of errors.

use serde_json::{Value, json};

use super::client::{TestServer, upgrade_request};

/// Returns a request without a body.
fn get(path: &str, host: &str, headers: &[&str]) -> String {
    let more: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n")
}

/// Returns a request with a body.
fn post(path: &str, headers: &[&str], body: &str) -> String {
    let more: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\n{more}Content-Length: {length}\r\n\r\n{body}"
    )
}

const JSON: &str = "Content-Type: application/json";
const CREATE: &str = r#"{"jsonrpc": "2.0", "id": 1, "method": "openenv/session/create"}"#;

#[tokio::test]
async fn pages_of_other_sites_cannot_use_a_local_server() {
    let server = TestServer::start().await;
    let own = server.address.to_string();
    let evil = "Origin: http://evil.example";
    for path in ["/ws", "/mcp"] {
        for origin in [
            evil,
            "Origin: null",
            "Origin: http://localhost.evil.example",
        ] {
            let answer = server.raw(&upgrade_request(path, &own, &[origin])).await;
            assert_eq!(answer.status, 403, "{path} {origin}");
            assert!(answer.detail().contains("--allow-origin"), "{origin}");
        }
        for host in ["evil.example", "evil.example:8000", "192.168.0.7"] {
            let origin = format!("Origin: http://{host}");
            let answer = server.raw(&upgrade_request(path, host, &[&origin])).await;
            assert_eq!(answer.status, 403, "{path} {host}");
            assert!(answer.detail().contains("--allow-host"), "{host}");
        }
    }
    for path in [
        "/state",
        "/metrics",
        "/sentinel/api",
        "/openapi.json",
        "/nowhere",
        "/",
    ] {
        let answer = server.raw(&get(path, "evil.example", &[])).await;
        assert_eq!(answer.status, 403, "{path}");
        let answer = server.raw(&get(path, &own, &[evil])).await;
        assert_eq!(answer.status, 403, "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    for path in [
        "/reset",
        "/step",
        "/mcp",
        "/act",
        "/sentinel/reset",
        "/sentinel/difficulty/reset",
    ] {
        for kind in [JSON, "Content-Type: text/plain"] {
            let answer = server.raw(&post(path, &[evil, kind], CREATE)).await;
            assert_eq!(answer.status, 403, "{path} {kind}");
        }
    }
    let models = server.raw(&get("/v1/models", &own, &[evil])).await;
    assert_eq!(models.status, 403);
    assert_eq!(models.json()["error"]["code"], 403, "the form of vLLM");
    assert_eq!((server.sessions)(), 0, "no session was opened");

    // A platform's probe names whatever it likes.
    let health = server.raw(&get("/health", "10.1.2.3:8000", &[evil])).await;
    assert_eq!(
        (health.status, health.json()),
        (200, json!({"status": "healthy"}))
    );
    let old = server.raw("GET /health HTTP/1.0\r\n\r\n").await;
    assert_eq!(old.status, 200);
    let none = server.raw("GET /state HTTP/1.1\r\n\r\n").await;
    assert_eq!(none.status, 400);
}

#[tokio::test]
async fn own_and_local_pages_use_a_local_server() {
    let server = TestServer::start().await;
    let own = server.address.to_string();
    for (host, origin) in [
        (own.as_str(), format!("Origin: http://{own}")),
        ("localhost:8000", "Origin: http://localhost:8000".to_owned()),
        ("localhost:8000", "Origin: http://localhost:3000".to_owned()),
        ("[::1]:8000", "Origin: http://127.0.0.1:8000".to_owned()),
    ] {
        for path in ["/ws", "/mcp"] {
            let (_, head) = server
                .raw_head(&upgrade_request(path, host, &[&origin]))
                .await;
            assert!(head.starts_with("HTTP/1.1 101"), "{host} {origin}: {head}");
        }
        let answer = server.raw(&get("/state", host, &[&origin])).await;
        assert_eq!(answer.status, 200, "{host} {origin}");
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
}

#[tokio::test]
async fn allowed_names_and_origins_are_answered() {
    let server = TestServer::with(
        |options, _| {
            options.allow_host = vec!["play.example".into()];
            options.allow_origin = vec!["https://site.example".into()];
        },
        None,
    )
    .await;
    let origin = "Origin: https://site.example";
    for host in ["play.example", "play.example:8000", "localhost"] {
        let (_, head) = server
            .raw_head(&upgrade_request("/ws", host, &[origin]))
            .await;
        assert!(head.starts_with("HTTP/1.1 101"), "{host}: {head}");
        let state = server.raw(&get("/state", host, &[origin])).await;
        assert_eq!(state.status, 200, "{host}");
        let allowed = state.header("access-control-allow-origin");
        assert_eq!(allowed, Some("https://site.example"));
        assert!(
            state
                .header("vary")
                .is_some_and(|vary| vary.contains("origin"))
        );
    }
    // Errors can be read by an allowed page as well.
    let missing = server.raw(&get("/nowhere", "localhost", &[origin])).await;
    assert_eq!(missing.detail(), "Not Found");
    assert_eq!(
        missing.header("access-control-allow-origin"),
        Some("https://site.example")
    );

    let preflight = |origin: &str| {
        format!(
            "OPTIONS /reset HTTP/1.1\r\nHost: localhost\r\nOrigin: {origin}\r\nAccess-Control-Request-Method: POST\r\n\
             Access-Control-Request-Headers: content-type\r\n\r\n"
        )
    };
    let answer = server.raw(&preflight("https://site.example")).await;
    assert_eq!(answer.status, 200);
    let allowed = |name: &str| answer.header(name).unwrap_or_default().to_ascii_lowercase();
    assert!(allowed("access-control-allow-methods").contains("post"));
    assert!(allowed("access-control-allow-headers").contains("content-type"));
    for origin in [
        "https://other.example",
        "http://site.example",
        "https://site.example:8443",
    ] {
        let answer = server.raw(&preflight(origin)).await;
        assert_eq!(answer.status, 403, "{origin}");
        assert_eq!(
            answer.header("access-control-allow-origin"),
            None,
            "{origin}"
        );
    }
    assert_eq!(
        server
            .raw(&get("/state", "other.example", &[]))
            .await
            .status,
        403
    );
}

/// In a container the platform decides about names, and a token cannot be sent by a foreign page.
#[tokio::test]
async fn other_servers_answer_under_every_name() {
    let open = TestServer::with(
        |options, _| {
            options.host = "0.0.0.0".into();
            options.allow_anonymous = true;
        },
        None,
    )
    .await;
    let space = "me-space.example";
    assert_eq!(open.raw(&get("/state", space, &[])).await.status, 200);
    let own = open
        .raw(&get("/state", space, &["Origin: https://me-space.example"]))
        .await;
    assert_eq!(own.status, 200);
    for origin in [
        "Origin: https://evil.example",
        "Origin: http://localhost:3000",
    ] {
        let answer = open.raw(&upgrade_request("/ws", space, &[origin])).await;
        assert_eq!(answer.status, 403, "{origin}");
    }

    let guarded = TestServer::with(|options, _| options.token = Some("secret".into()), None).await;
    let proxied = |headers: &[&str]| get("/state", "proxy.example", headers);
    assert_eq!(guarded.raw(&proxied(&[])).await.status, 401);
    let token = "Authorization: Bearer secret";
    assert_eq!(guarded.raw(&proxied(&[token])).await.status, 200);
    // A proxy may add the token to the requests of any page.
    let foreign = proxied(&[token, "Origin: https://evil.example"]);
    assert_eq!(guarded.raw(&foreign).await.status, 403);
}

#[tokio::test]
async fn bodies_name_their_type() {
    let server = TestServer::start().await;
    for path in [
        "/reset",
        "/mcp",
        "/sentinel/reset",
        "/sentinel/cluster/reset",
    ] {
        let form = "Content-Type: application/x-www-form-urlencoded";
        let refused = [
            "Content-Type: text/plain",
            "Content-Type: multipart/form-data; boundary=x",
            "Content-Type: ",
        ];
        // What curl and urllib send by themselves; a browser adds headers that no page can leave out.
        let plain = [form, "X-None: none"];
        let mut cases: Vec<Vec<&str>> = refused.map(|kind| vec![kind]).to_vec();
        for browser in [
            "Origin: http://localhost",
            "Referer: http://localhost/",
            "Cookie: a=b",
            "Sec-Fetch-Site: cross-site",
        ] {
            cases.extend(plain.iter().chain(&refused).map(|kind| vec![browser, kind]));
        }
        for headers in cases {
            let answer = server.raw(&post(path, &headers, CREATE)).await;
            assert_eq!(answer.status, 415, "{path} {headers:?}");
            assert!(
                answer.detail().contains("application/json"),
                "{path} {headers:?}"
            );
        }
        for kind in plain {
            let answer = server.raw(&post(path, &[kind], CREATE)).await;
            assert_ne!(answer.status, 415, "{path} {kind}");
        }
        for kind in [
            "content-type: Application/JSON;charset=utf-8",
            "Content-Type: application/x+json",
        ] {
            let answer = server.raw(&post(path, &[kind], CREATE)).await;
            assert_ne!(answer.status, 415, "{path} {kind}");
        }
    }
    let chunked = "POST /reset HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
    assert_eq!(server.raw(chunked).await.status, 415);
    assert_eq!(
        server.raw(&post("/reset", &[], "")).await.status,
        200,
        "an empty body has no type"
    );
    let text = ["Content-Type: text/plain"];
    let completion = server.raw(&post("/v1/completions", &text, "{}")).await;
    assert_eq!(
        (completion.status, &completion.json()["error"]["code"]),
        (415, &json!(415))
    );
}

#[tokio::test]
async fn every_error_is_json_with_words() {
    let server = TestServer::with(|_, limits| limits.max_message = 2048, None).await;
    let large = json!({"x": "y".repeat(8192)}).to_string();
    let chunked = format!(
        "POST /reset HTTP/1.1\r\nHost: localhost\r\n{JSON}\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{large}\r\n0\r\n\r\n",
        large.len()
    );
    // The body of the first request never comes.
    let endless = format!(
        "POST /reset HTTP/1.1\r\nHost: localhost\r\n{JSON}\r\nContent-Length: 100000000000000\r\n\r\n"
    );
    let local = |path: &str| get(path, "localhost", &[]);
    for (request, status, words) in [
        (endless, 413, "at most 2048 bytes"),
        (post("/reset", &[JSON], &large), 413, "at most 2048 bytes"),
        (chunked, 413, "at most 2048 bytes"),
        (local("/nowhere"), 404, "Not Found"),
        (local("/nowhere/"), 404, "Not Found"),
        (local("/sentinel/nowhere"), 404, "Not Found"),
        (local("/reset"), 405, "Method Not Allowed"),
        (post("/health", &[JSON], "{}"), 405, "Method Not Allowed"),
        (
            local("/state?session_id=a&session_id=b"),
            400,
            "query string",
        ),
    ] {
        let answer = server.raw(&request).await;
        let line = request.lines().next().expect("a line");
        assert_eq!(answer.status, status, "{line}");
        assert!(answer.detail().contains(words), "{line}: {}", answer.body);
    }
    let allow = server.raw(&local("/reset")).await;
    assert_eq!(allow.header("allow"), Some("POST"));
    let model = server.raw(&local("/v1/nowhere")).await;
    assert_eq!(
        (model.status, &model.json()["error"]["code"]),
        (404, &json!(404))
    );
    let head = server
        .raw("HEAD /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .await;
    assert_eq!((head.status, head.body.as_str()), (404, ""));

    let late = TestServer::with(
        |_, limits| limits.request_timeout = std::time::Duration::from_millis(200),
        None,
    )
    .await;
    let request =
        format!("POST /reset HTTP/1.1\r\nHost: localhost\r\n{JSON}\r\nContent-Length: 9\r\n\r\n{{");
    let answer = late.raw(&request).await;
    assert_eq!(answer.status, 408);
    assert!(answer.detail().contains("--request-timeout"));
}

#[tokio::test]
async fn host_may_be_a_name() {
    let server = TestServer::with(|options, _| options.host = "localhost".into(), None).await;
    assert!(server.address.ip().is_loopback());
    let (status, _) = server.request("GET", "/state", None).await;
    assert_eq!(status, 200);
    let foreign = server.raw(&get("/state", "evil.example", &[])).await;
    assert_eq!(foreign.status, 403, "it is a local server");
    let answer: Value = server.request("POST", "/reset", Some("{}")).await.1;
    assert!(answer["observation"].is_object());
}

/// A slash at the end of a route is redirected with its method and query, as FastAPI does, and of nothing else.
#[tokio::test]
async fn slash_at_the_end_of_a_route_is_redirected() {
    let server = TestServer::start().await;
    let reset = server.raw(&post("/reset/?a=b", &[JSON], "{}")).await;
    assert_eq!(reset.status, 307);
    assert_eq!(reset.header("location"), Some("/reset?a=b"));
    for (path, status) in [
        ("/health/", 307),
        ("/nowhere/", 404),
        ("/reset//", 404),
        ("//reset/", 404),
        ("//evil.example/", 404),
        ("/", 404),
    ] {
        let answer = server.raw(&get(path, "localhost", &[])).await;
        assert_eq!(answer.status, status, "{path}");
    }
    let other = server.raw(&get("/health/", "evil.example", &[])).await;
    assert_eq!(other.status, 403);
}
