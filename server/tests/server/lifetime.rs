//! The end of sessions: vanished clients, idle time, age, slow clients, and the end of the server.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::client::{PATIENCE, TestServer};

/// The request that opens a WebSocket.
const UPGRADE: &str = "GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                       Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// Returns 1 000, or fewer if the process may not open two files for each.
fn client_count() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().nth(3)?.parse::<usize>().ok());
    (soft.unwrap_or(256).saturating_sub(100) / 2).min(1000)
}

/// Clients that keep their connection open and never answer again, as after a lost network.
#[tokio::test]
async fn vanished_clients_are_freed_after_the_deadline() {
    let count = client_count();
    let server = TestServer::with(
        |_, limits| {
            limits.ping_interval = Duration::from_millis(500);
            limits.ping_deadline = Duration::from_secs(3);
        },
        None,
    )
    .await;
    let mut clients = Vec::new();
    for _ in 0..count {
        let mut stream = TcpStream::connect(server.address).await.expect("connects");
        stream.write_all(UPGRADE.as_bytes()).await.expect("sends");
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.expect("an answer");
        assert_eq!(&answer, b"HTTP/1.1 101");
        clients.push(stream);
    }
    // One that is alive stays.
    let mut alive = server.connect("/ws").await;
    alive.reset(json!({"seed": 1})).await;
    let kept = tokio::spawn(async move {
        // Reading answers the server's pings.
        while alive.0.next().await.is_some() {}
    });
    server.wait_for_sessions(1).await;
    assert_eq!(clients.len(), count, "their sockets are still open");
    let (_, metrics) = server.request_text("GET", "/metrics", None, None).await;
    let line = format!("sentinel_sessions_ended_total{{code=\"vanished\"}} {count}");
    assert!(metrics.contains(&line), "{line} is not in\n{metrics}");
    kept.abort();
    server.wait_for_sessions(0).await;
}

#[tokio::test]
async fn idle_and_old_sessions_end() {
    let idle = TestServer::with(
        |_, limits| limits.idle_timeout = Duration::from_millis(200),
        None,
    )
    .await;
    let mut client = idle.connect("/ws").await;
    client.reset(json!({})).await;
    assert_eq!(client.close_code().await, Some(1001));
    idle.wait_for_sessions(0).await;

    let old = TestServer::with(
        |_, limits| limits.max_age = Duration::from_millis(300),
        None,
    )
    .await;
    let mut client = old.connect("/ws").await;
    client.reset(json!({})).await;
    // It is used all the time and ends nevertheless.
    let ended = async {
        loop {
            client.send_text(r#"{"type": "state"}"#).await;
            if let Some(tokio_tungstenite::tungstenite::Message::Close(frame)) = client.next().await
            {
                break frame.map(|frame| u16::from(frame.code));
            }
        }
    };
    assert_eq!(tokio::time::timeout(PATIENCE, ended).await, Ok(Some(1001)));
    old.wait_for_sessions(0).await;
}

/// A session that `/mcp` created and nobody uses ends too.
#[tokio::test]
async fn sessions_of_mcp_end_when_idle() {
    let server = TestServer::with(
        |_, limits| limits.idle_timeout = Duration::from_millis(100),
        None,
    )
    .await;
    let create = r#"{"jsonrpc": "2.0", "id": 1, "method": "openenv/session/create"}"#;
    let (_, created) = server.request("POST", "/mcp", Some(create)).await;
    assert!(created["result"]["session_id"].is_string(), "{created}");
    server.wait_for_sessions(0).await;
}

#[tokio::test]
async fn slow_headers_and_bodies_are_given_up() {
    let server = TestServer::with(
        |_, limits| limits.request_timeout = Duration::from_millis(300),
        None,
    )
    .await;
    // Headers that never end.
    let mut headers = TcpStream::connect(server.address).await.expect("connects");
    headers
        .write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        .await
        .expect("sends");
    let mut rest = Vec::new();
    let read = tokio::time::timeout(PATIENCE, headers.read_to_end(&mut rest)).await;
    assert!(read.is_ok(), "the server closes the connection");
    // A connection that asks for nothing.
    let mut idle = TcpStream::connect(server.address).await.expect("connects");
    let read = tokio::time::timeout(PATIENCE, idle.read_to_end(&mut rest)).await;
    assert!(read.is_ok(), "the server closes the connection");
    // A body that never comes.
    let mut body = TcpStream::connect(server.address).await.expect("connects");
    let head = b"POST /reset HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                 Content-Length: 100\r\n\r\n{";
    body.write_all(head).await.expect("sends");
    let mut answer = [0; 12];
    let read = tokio::time::timeout(PATIENCE, body.read_exact(&mut answer)).await;
    read.expect("in time").expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 408");
}

#[tokio::test]
async fn stop_closes_sockets_and_streams() {
    let server = TestServer::start().await;
    let mut client = server.connect("/ws").await;
    client.reset(json!({})).await;
    let idle = TcpStream::connect(server.address).await.expect("connects");
    let address = server.address;
    assert!(server.stop().await, "all ended within the grace time");
    assert_eq!(client.close_code().await, Some(1001));
    drop(idle);
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens");
}

/// Ten thousand sessions, a hundred at a time: each plays, some close well and some just go.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: 10 000 sessions"]
async fn ten_thousand_sessions_leave_nothing_behind() {
    const SESSIONS: u64 = 10_000;
    const AT_A_TIME: u64 = 100;
    let server = std::sync::Arc::new(TestServer::start().await);
    let mut players = Vec::new();
    for player in 0..AT_A_TIME {
        let server = std::sync::Arc::clone(&server);
        players.push(tokio::spawn(async move {
            for session in 0..SESSIONS / AT_A_TIME {
                let world = ["trust", "cluster", "polyguard"][(session % 3) as usize];
                let mut client = server.connect("/ws").await;
                let seed = 100_000 + player * 1000 + session;
                let reply = client.reset(json!({"world": world, "seed": seed})).await;
                assert_eq!(reply["observation"]["world"], world);
                if session % 2 == 0 {
                    client.send_text(r#"{"type": "close"}"#).await;
                    assert_eq!(client.close_code().await, Some(1000));
                }
            }
        }));
    }
    for player in players {
        player.await.expect("no panic");
    }
    server.wait_for_sessions(0).await;
    let (_, metrics) = server.request_text("GET", "/metrics", None, None).await;
    let resets: u64 = (metrics.lines())
        .filter(|line| line.starts_with("sentinel_resets_total"))
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
        .sum();
    assert_eq!(resets, SESSIONS);
}
