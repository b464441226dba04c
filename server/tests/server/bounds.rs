//! Bounds of a server's connections, messages, streams and memory; and broken frames.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use futures_util::SinkExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;

use super::client::{Client, PATIENCE, TestServer};
use super::policy::waiting;

fn rpc(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// Waits until the metrics have a line.
async fn wait_for_metric(server: &TestServer, line: &str) {
    let waited = tokio::time::timeout(PATIENCE, async {
        loop {
            let (_, text) = server.request_text("GET", "/metrics", None, None).await;
            if text.lines().any(|found| found == line) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    assert!(waited.await.is_ok(), "{line} is not in the metrics");
}

#[tokio::test]
async fn wrong_tokens_count_as_requests() {
    let server = TestServer::with(
        |options, limits| {
            options.token = Some("secret".into());
            limits.rate = 5;
        },
        None,
    )
    .await;
    let mut statuses = Vec::new();
    for guess in 0..40 {
        let guess = format!("guess{guess}");
        let request = server.request_text("GET", "/state", None, Some(&guess));
        statuses.push(request.await.0);
    }
    assert!(
        statuses.contains(&401) && statuses.contains(&429),
        "{statuses:?}"
    );
}

#[tokio::test]
async fn rate_holds_for_the_sockets_of_mcp() {
    let server = TestServer::with(|_, limits| limits.rate = 5, None).await;
    for path in ["/mcp", "/ws"] {
        let mut client = server.connect(path).await;
        let start = Instant::now();
        for _ in 0..12 {
            client
                .send_text(rpc("tools/list", json!({})).to_string())
                .await;
        }
        for _ in 0..12 {
            client.receive().await;
        }
        // Five at once, and seven more at five a second: a bound from below, whatever the load.
        assert!(start.elapsed() >= Duration::from_secs(1), "{path}");
    }
}

#[tokio::test]
async fn sockets_count_as_connections() {
    let server = TestServer::start().await;
    let clients = (
        server.connect("/mcp").await,
        server.connect("/mcp").await,
        server.connect("/ws").await,
    );
    // Three, and that of the question.
    wait_for_metric(&server, "sentinel_connections 4").await;
    drop(clients);
    wait_for_metric(&server, "sentinel_connections 1").await;
}

#[tokio::test]
async fn sockets_of_mcp_have_a_session_and_end_with_it() {
    let server = TestServer::with(
        |_, limits| {
            limits.max_sessions = 2;
            limits.idle_timeout = Duration::from_millis(300);
        },
        None,
    )
    .await;
    let (mut first, _second) = (server.connect("/mcp").await, server.connect("/mcp").await);
    server.wait_for_sessions(2).await;
    let mut third = server.connect("/mcp").await;
    let refused = third.receive().await;
    assert_eq!(refused["error"]["code"], -32000, "{refused}");
    assert_eq!(
        refused["error"]["data"],
        json!({"active_sessions": 2, "max_sessions": 2})
    );
    assert_eq!(third.close_code().await, Some(1000));
    assert_eq!(first.close_code().await, Some(1001), "it was idle");
    server.wait_for_sessions(0).await;
}

/// OpenEnv's test of the same: a WebSocket has its session, and creates no other.
#[tokio::test]
async fn session_of_a_socket_is_created_once_and_not_closed_by_it() {
    let server = TestServer::start().await;
    let mut client = server.connect("/ws").await;
    let own = client.state().await["session_id"].clone();
    let create = json!({"type": "mcp", "data": rpc("openenv/session/create", json!({}))});
    for _ in 0..3 {
        let reply = client.ask(&create).await;
        assert_eq!(reply["data"]["result"], json!({"session_id": own}));
    }
    let mut over_mcp = server.connect("/mcp").await;
    let first = over_mcp.ask(&create["data"]).await["result"].clone();
    assert_eq!(over_mcp.ask(&create["data"]).await["result"], first);
    assert_eq!((server.sessions)(), 2, "one of each socket");

    let close = rpc("openenv/session/close", json!({"session_id": own}));
    let reply = client.ask(&json!({"type": "mcp", "data": close})).await;
    assert_eq!(reply["data"]["error"]["code"], -32600, "{reply}");
    let words = reply["data"]["error"]["message"].as_str().expect("words");
    assert!(
        words.starts_with("Cannot close active WebSocket-managed session"),
        "{words}"
    );
    assert_eq!(client.state().await["session_id"], own, "it goes on");
    // Another client may close it.
    let (_, closed) = server
        .request("POST", "/mcp", Some(&close.to_string()))
        .await;
    assert_eq!(closed["result"], json!({"session_id": own, "closed": true}));
    assert_eq!(client.close_code().await, Some(1001));
}

#[tokio::test]
async fn calls_of_tools_have_the_codes_of_openenv() {
    let server = TestServer::start().await;
    let mut client = server.connect("/mcp").await;
    for (method, params, code) in [
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({"name": ""}), -32602),
        ("tools/call", json!({"name": null, "arguments": {}}), -32602),
        (
            "tools/call",
            json!({"name": "echo", "arguments": {}}),
            -32603,
        ),
        ("tools/list", json!({}), -32603),
        ("tools/none", json!({}), -32601),
        ("openenv/session/close", json!({}), -32602),
        ("openenv/session/close", json!({"session_id": ""}), -32602),
        (
            "openenv/session/close",
            json!({"session_id": "nobody"}),
            -32602,
        ),
    ] {
        let request = rpc(method, params);
        let what = request.to_string();
        let (_, answer) = server.request("POST", "/mcp", Some(&what)).await;
        assert_eq!(answer["error"]["code"], code, "{what}");
        assert_eq!(client.ask(&request).await["error"]["code"], code, "{what}");
    }
    // Over HTTP the session is looked up first; a socket has its own.
    let unknown = rpc(
        "tools/call",
        json!({"session_id": "nobody", "name": "echo"}),
    );
    let (_, answer) = server
        .request("POST", "/mcp", Some(&unknown.to_string()))
        .await;
    assert_eq!(answer["error"]["code"], -32602);
    assert_eq!(client.ask(&unknown).await["error"]["code"], -32603);
}

async fn reset_reference(server: &TestServer) -> String {
    let (_, reply) = server.request("POST", "/sentinel/reset", Some("{}")).await;
    let id = reply["observation"]["session_id"].as_str();
    id.expect("an id").to_owned()
}

/// A stream only watches: its session ends when nobody plays, and the stream with it.
#[tokio::test]
async fn streams_end_with_idle_sessions() {
    let server = TestServer::with(
        |_, limits| limits.idle_timeout = Duration::from_millis(700),
        None,
    )
    .await;
    let id = reset_reference(&server).await;
    let path = format!("/sentinel/stream?session_id={id}");
    let (status, text) = server.request_text("GET", &path, None, None).await;
    assert_eq!(status, 200);
    assert!(text.starts_with("data: {"), "{text}");
    assert!(
        text.trim()
            .ends_with("data: {\"reason\":\"session_not_found\"}"),
        "{text}"
    );
}

#[tokio::test]
async fn streams_leave_connections_to_requests() {
    let server = TestServer::with(|_, limits| limits.max_sessions = 4, None).await;
    let id = reset_reference(&server).await;
    let request =
        format!("GET /sentinel/stream?session_id={id} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    // The refused ones stay open, as far as the client is concerned.
    let (mut streams, mut refused) = (Vec::new(), Vec::new());
    for _ in 0..300 {
        let (stream, head) = server.raw_head(&request).await;
        if head.starts_with("HTTP/1.1 200") {
            streams.push(stream);
        } else {
            assert!(head.starts_with("HTTP/1.1 503"), "{head}");
            assert!(
                head.to_ascii_lowercase().contains("retry-after: "),
                "{head}"
            );
            refused.push(stream);
        }
    }
    assert_eq!((streams.len(), refused.len()), (64, 236));
    assert_eq!(server.request("GET", "/health", None).await.0, 200);
    // A stream that ends makes room.
    drop(streams);
    let freed = async {
        while !server
            .raw_head(&request)
            .await
            .1
            .starts_with("HTTP/1.1 200")
        {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, freed).await.is_ok());
}

#[tokio::test]
async fn clients_that_read_no_answer_are_disconnected() {
    let server = TestServer::with(
        |_, limits| {
            limits.request_timeout = Duration::from_millis(500);
            limits.ping_deadline = Duration::from_millis(500);
        },
        None,
    )
    .await;
    // Far more answers than the buffers of the network hold.
    let request = "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(3000);
    let mut stream = TcpStream::connect(server.address).await.expect("connects");
    stream.write_all(request.as_bytes()).await.expect("sends");
    // It was accepted before the connection of this question, which is the only one left in the end.
    wait_for_metric(&server, "sentinel_connections 1").await;
    drop(stream);
}

/// Starts a server whose policy waits, and a client that asked it.
async fn asked() -> (mpsc::Sender<()>, TestServer, Client) {
    let (open, policy) = waiting();
    let server = TestServer::with(|_, _| {}, Some(policy)).await;
    let mut client = server.connect("/ws").await;
    client.reset(json!({"seed": 1})).await;
    client.send_text(r#"{"type": "act"}"#).await;
    (open, server, client)
}

#[tokio::test]
async fn many_small_frames_wait_in_order() {
    let (open, _server, mut client) = asked().await;
    for index in 0..300 {
        client
            .send_text(format!(r#"{{"type": "none{index}"}}"#))
            .await;
    }
    open.send(()).expect("the policy waits");
    assert_eq!(client.receive().await["type"], "action");
    for index in 0..300 {
        let words = client.receive().await["data"]["message"].clone();
        assert_eq!(words, format!("Unknown message type: none{index}"));
    }
}

/// Frames that are not read fill the buffers of the network, which are bounded, and no others.
#[tokio::test]
async fn large_frames_wait_in_the_network() {
    const FRAME: usize = 250_000;
    const FRAMES: usize = 2000;
    let (open, server, mut client) = asked().await;
    let large = json!({"type": "reset", "data": {"x": "y".repeat(FRAME)}}).to_string();
    let mut sent = 0;
    while sent < FRAMES {
        let send = client.0.send(Message::text(large.clone()));
        match tokio::time::timeout(Duration::from_secs(2), send).await {
            Ok(done) => done.expect("the session goes on"),
            Err(_) => break,
        }
        sent += 1;
    }
    assert!(sent < FRAMES, "{} MB are taken", FRAMES * FRAME / 1_000_000);
    assert_eq!((server.sessions)(), 1);
    open.send(()).expect("the policy waits");
    assert_eq!(client.receive().await["type"], "action");
}

/// Returns a frame of a client, masked with zeros.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match u8::try_from(payload.len()) {
        Ok(length) if length < 126 => bytes.push(0x80 | length),
        _ => {
            let length = u16::try_from(payload.len()).expect("a short payload");
            bytes.push(0x80 | 126);
            bytes.extend(length.to_be_bytes());
        }
    }
    bytes.extend([0; 4]);
    bytes.extend(payload);
    bytes
}

#[tokio::test]
async fn broken_frames_are_closed_with_the_codes_of_the_standard() {
    let server = TestServer::start().await;
    for path in ["/ws", "/mcp"] {
        for (what, bytes, code) in [
            ("not UTF-8", frame(0x81, b"\xff\xfe"), 1007),
            ("half a character", frame(0x81, b"\"\xe2\x82"), 1007),
            ("no mask", b"\x81\x02{}".to_vec(), 1002),
            ("reserved data", frame(0x83, b"{}"), 1002),
            ("reserved control", frame(0x8b, b""), 1002),
            ("reserved bit 1", frame(0xc1, b"{}"), 1002),
            ("reserved bit 2", frame(0xa1, b"{}"), 1002),
            ("reserved bit 3", frame(0x91, b"{}"), 1002),
            ("long ping", frame(0x89, &[0; 126]), 1002),
            ("divided ping", frame(0x09, b""), 1002),
            ("continuation of nothing", frame(0x80, b"{}"), 1002),
            (
                "text within a text",
                [frame(0x01, b"{"), frame(0x81, b"}")].concat(),
                1002,
            ),
            ("close with one byte", frame(0x88, &[3]), 1002),
            (
                "close that is not UTF-8",
                frame(0x88, b"\x03\xe8\xff"),
                1007,
            ),
            ("close with a reserved code", frame(0x88, &[3, 0xed]), 1002),
        ] {
            let mut stream = server.raw_socket(path).await;
            stream.write_all(&bytes).await.expect("sends");
            let mut answer = Vec::new();
            // The connection may end with a reset, since the client sent what was not read.
            let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
            assert!(read.is_ok(), "{path} {what}: the connection stays");
            let found = match answer.as_slice() {
                [0x88, _, high, low, ..] => Some(u16::from_be_bytes([*high, *low])),
                _ => None,
            };
            assert_eq!(found, Some(code), "{path} {what}: {answer:?}");
        }
    }
    server.wait_for_sessions(0).await;
}
