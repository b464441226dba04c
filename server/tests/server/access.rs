//! Access: token, loopback, rates and sizes, and the routes of the server itself.

use std::time::Duration;

use sentinel_server::{ServeError, ServeOptions, Server};
use serde_json::json;

use super::client::TestServer;

#[tokio::test]
async fn token_is_asked_for_everywhere_but_health() {
    let server = TestServer::with(|options, _| options.token = Some("secret".into()), None).await;
    for (method, path) in [
        ("POST", "/reset"),
        ("POST", "/step"),
        ("GET", "/state"),
        ("GET", "/schema"),
        ("GET", "/metrics"),
        ("POST", "/act"),
        ("GET", "/sentinel/health"),
        ("POST", "/mcp"),
    ] {
        let body = (method == "POST").then_some("{}");
        let (status, text) = server.request_text(method, path, body, None).await;
        assert_eq!(status, 401, "{path}: {text}");
        let (status, _) = server.request_text(method, path, body, Some("wrong")).await;
        assert_eq!(status, 401, "{path}");
        let (status, text) = server
            .request_text(method, path, body, Some("secret"))
            .await;
        assert_ne!(status, 401, "{path}: {text}");
    }
    assert_eq!(server.request("GET", "/health", None).await.0, 200);
    assert!(server.try_connect("/ws", None).await.is_err());
    assert!(server.try_connect("/ws", Some("wrong")).await.is_err());
    let mut client = server
        .try_connect("/ws", Some("secret"))
        .await
        .expect("connects");
    client.reset(json!({})).await;
}

#[tokio::test]
async fn other_addresses_need_a_token() {
    let beyond = || ServeOptions {
        host: "0.0.0.0".to_owned(),
        port: 0,
        ..ServeOptions::default()
    };
    let refused = Server::bind(beyond(), None).await.expect_err("no token");
    assert!(matches!(refused, ServeError::NoToken(_)) && refused.to_string().contains("--token"));
    let empty = ServeOptions {
        token: Some(String::new()),
        ..beyond()
    };
    assert!(matches!(
        Server::bind(empty, None).await,
        Err(ServeError::BadToken)
    ));
    let guarded = ServeOptions {
        token: Some("secret".into()),
        ..beyond()
    };
    assert!(Server::bind(guarded, None).await.is_ok());
    let anonymous = ServeOptions {
        allow_anonymous: true,
        ..beyond()
    };
    assert!(Server::bind(anonymous, None).await.is_ok());
}

#[tokio::test]
async fn bad_defaults_are_refused_at_the_start() {
    for (change, word) in [
        (
            ServeOptions {
                task: Some("task9".into()),
                ..ServeOptions::default()
            },
            "task9",
        ),
        (
            ServeOptions {
                rules: Some("soft".into()),
                ..ServeOptions::default()
            },
            "soft",
        ),
        (
            ServeOptions {
                allow_host: vec!["http://play.example".into()],
                ..ServeOptions::default()
            },
            "--allow-host \"http://play.example\"",
        ),
        (
            ServeOptions {
                allow_origin: vec!["*".into()],
                ..ServeOptions::default()
            },
            "--allow-origin \"*\"",
        ),
        (
            ServeOptions {
                host: "nowhere.invalid".into(),
                ..ServeOptions::default()
            },
            "nowhere.invalid",
        ),
        (
            ServeOptions {
                page: Some("/nowhere".into()),
                ..ServeOptions::default()
            },
            "/nowhere",
        ),
    ] {
        let options = ServeOptions { port: 0, ..change };
        let error = Server::bind(options, None)
            .await
            .expect_err("refused")
            .to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[tokio::test]
async fn rate_limits_delay_messages_and_refuse_requests() {
    let server = TestServer::with(|_, limits| limits.rate = 5, None).await;
    let mut refused = false;
    for _ in 0..40 {
        refused |= server.request("GET", "/schema", None).await.0 == 429;
    }
    assert!(refused, "40 requests at once are more than 5 a second");
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut client = server.connect("/ws").await;
    // Messages are late, and none is lost.
    for _ in 0..8 {
        client.send_text(json!({"type": "state"}).to_string()).await;
    }
    for _ in 0..8 {
        assert_eq!(client.receive().await["type"], "state");
    }
}

#[tokio::test]
async fn metrics_count_what_was_done() {
    let server = TestServer::start().await;
    let mut client = server.connect("/ws").await;
    client.reset(json!({"world": "cluster"})).await;
    client.step(json!({"action_type": "tick"})).await;
    client.ask(&json!({"type": "nope"})).await;
    let (_, text) = server.request_text("GET", "/metrics", None, None).await;
    for line in [
        "sentinel_sessions 1",
        "sentinel_resets_total{world=\"cluster\"} 1",
        "sentinel_steps_total{world=\"cluster\"} 1",
        "sentinel_errors_total{code=\"UNKNOWN_TYPE\"} 1",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    drop(client);
    server.wait_for_sessions(0).await;
}

#[tokio::test]
async fn openapi_lists_the_routes() {
    let server = TestServer::start().await;
    let (status, body) = server.request("GET", "/openapi.json", None).await;
    assert_eq!((status, &body["info"]["version"]), (200, &json!("1.0.0")));
    for path in [
        "/reset",
        "/step",
        "/state",
        "/schema",
        "/act",
        "/sentinel/step",
    ] {
        assert!(body["paths"].get(path).is_some(), "{path}");
    }
}
