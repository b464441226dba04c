//! The client against a server on the loopback address.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::*;
use sentinel_testkit::loopback::{Loopback, Reply};

type Tested = Result<(), Box<dyn std::error::Error>>;

/// Returns a client that notes its pauses in place of waiting.
fn client(config: HttpConfig) -> (HttpClient, Arc<Mutex<Vec<u64>>>) {
    let pauses = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&pauses);
    let client = HttpClient::new(config).with_wait(move |pause| {
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        log.push(pause.as_secs());
        true
    });
    (client, pauses)
}

fn waited(pauses: &Mutex<Vec<u64>>) -> Vec<u64> {
    pauses
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}

/// Returns the message of a failure; an empty text for a success.
fn message<T>(result: Result<T, HttpError>) -> String {
    result.err().map(|e| e.to_string()).unwrap_or_default()
}

#[test]
fn request_is_sent_with_query_headers_and_body() -> Tested {
    let server = Loopback::start(|_, _| Reply::json(&json!({"ok": true})))?;
    let (client, _) = client(HttpConfig::default());
    let request = Request::post(&format!("{}/a", server.url))?
        .query(&[("name", "a b/c&d")])
        .header("x-more", "1")
        .json(&json!({"n": 1}))?;
    let answer: Value = client.send(&request)?.json()?;
    assert_eq!(answer, json!({"ok": true}));
    let received = server.received().remove(0);
    assert_eq!(received.method, "POST");
    assert_eq!(received.parameter("name").as_deref(), Some("a b/c&d"));
    assert_eq!(received.header("x-more"), Some("1"));
    assert_eq!(received.header("content-type"), Some("application/json"));
    assert_eq!(received.header("authorization"), None);
    assert_eq!(received.body, br#"{"n":1}"#);
    Ok(())
}

#[test]
fn file_part_upload_is_retried_and_answer_is_downloaded() -> Tested {
    let server = Loopback::start(|number, _| match number {
        0 => Reply::status(502, ""),
        _ => Reply::status(200, "saved").header("ETag", "\"tag\""),
    })?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("part");
    std::fs::write(&path, "0123456789")?;
    let (client, _) = client(HttpConfig::default());
    let content = |length| Content::File {
        path: path.clone(),
        offset: 3,
        length,
    };
    let put = |length| {
        Request::put(&server.url).map(|r| r.content("application/octet-stream", content(length)))
    };
    let out = folder.path().join("answer");
    let mut file = File::create_new(&out)?;
    let answer = client.download(&put(4)?, &out, &mut file)?;
    assert_eq!(answer.header("etag"), Some("\"tag\""));
    assert_eq!(std::fs::read_to_string(&out)?, "saved");
    let received = server.received();
    assert_eq!(received.len(), 2);
    assert!(received.iter().all(|request| request.body == b"3456"));
    assert_eq!(received[1].header("content-length"), Some("4"));
    let error = message(client.send(&put(8)?));
    assert!(error.contains("it has 10 bytes"), "{error}");
    let small = Request::get(&server.url)?.max_bytes(4);
    let error = message(client.download(&small, &out, &mut file));
    assert!(error.contains("more than 4 bytes"), "{error}");
    Ok(())
}

#[test]
fn retries_wait_as_server_asks() -> Tested {
    let server = Loopback::start(|number, _| match number {
        0 => Reply::status(429, "slow down").header("Retry-After", "7"),
        1 => Reply::status(429, "").header("RateLimit", "\"api\";r=0;t=11"),
        2 => Reply::status(500, "oops"),
        3 => Reply::Broken,
        _ => Reply::json(&json!(1)),
    })?;
    let (client, pauses) = client(HttpConfig::default());
    client.send(&Request::get(&server.url)?)?;
    assert_eq!(waited(&pauses), [7, 11, 4, 8]);
    Ok(())
}

#[test]
fn retry_after_accepts_date_or_seconds() {
    let response = |value: &str| Response {
        status: 503,
        headers: vec![("retry-after".to_owned(), value.to_owned())],
        body: Vec::new(),
        address: String::new(),
    };
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770);
    let asked = |value| asked_pause(&response(value), now).map(|pause| pause.as_secs());
    assert_eq!(asked("Sun, 06 Nov 1994 08:49:37 GMT"), Some(7));
    assert_eq!(asked("Sun, 06 Nov 1994 08:49:00 GMT"), Some(0));
    assert_eq!(asked(" 12 "), Some(12));
    assert_eq!(asked("soon"), None);
}

#[test]
fn retries_end_by_count_long_wait_or_interrupt() -> Tested {
    let server = Loopback::start(|_, _| Reply::status(503, "busy\nnow"))?;
    let config = HttpConfig {
        retries: 2,
        ..HttpConfig::default()
    };
    let (few, _) = client(config);
    let error = message(few.send(&Request::get(&server.url)?));
    assert!(error.contains("answered 503, 3 times: busy now"), "{error}");
    assert_eq!(server.received().len(), 3);

    let server = Loopback::start(|_, _| Reply::status(429, "").header("retry-after", "9999"))?;
    let (client, pauses) = client(HttpConfig::default());
    let error = message(client.send(&Request::get(&server.url)?));
    assert!(error.contains("asks to wait 9999 s"), "{error}");
    assert!(waited(&pauses).is_empty());

    let stopped = HttpClient::new(HttpConfig::default()).with_wait(|_| false);
    let server = Loopback::start(|_, _| Reply::status(500, ""))?;
    assert_eq!(
        message(stopped.send(&Request::get(&server.url)?)),
        "interrupted"
    );
    Ok(())
}

#[test]
fn post_is_retried_only_if_repeatable() -> Tested {
    let server = Loopback::start(|number, _| match number % 2 {
        0 => Reply::status(500, ""),
        _ => Reply::json(&json!(1)),
    })?;
    let (client, _) = client(HttpConfig::default());
    let post = Request::post(&server.url)?.json(&json!({}))?;
    let error = message(client.send(&post));
    assert!(error.contains("answered 500"), "{error}");
    client.send(&post)?;
    client.send(&post.repeatable())?;
    assert_eq!(server.received().len(), 4);
    Ok(())
}

#[test]
fn refusal_is_not_retried_and_masks_token() -> Tested {
    let server = Loopback::start(|_, request| {
        let sent = request.header("authorization").unwrap_or("none");
        Reply::status(401, &format!("you sent {sent}"))
    })?;
    let (client, _) = client(HttpConfig::default());
    let client = client.with_token(Some(Token::new("hf_secret")?));
    let request = Request::get(&format!("{}/rows?signature=abc", server.url))?;
    let error = client.send(&request).err().ok_or("it succeeded")?;
    assert_eq!(error.status(), Some(401));
    assert!(
        error
            .to_string()
            .contains("/rows: the server answered 401: you sent Bearer ***")
    );
    let shown = format!("{error:?} {client:?}");
    assert!(
        !shown.contains("hf_secret") && !shown.contains("signature"),
        "{shown}"
    );
    let error = message(client.send(&request.without_token()));
    assert!(error.contains("you sent none"), "{error}");
    assert_eq!(server.received().len(), 2);
    Ok(())
}

#[test]
fn token_is_not_sent_over_plain_http() -> Tested {
    let (client, _) = client(HttpConfig::default());
    let client = client.with_token(Some(Token::new("hf_secret")?));
    let error = message(client.send(&Request::get("http://example.org/a?b=c")?));
    assert!(
        error.starts_with("http://example.org/a: a token is only sent"),
        "{error}"
    );
    for text in ["", "two words", "line\n", "täuschend"] {
        assert!(Token::new(text).is_err(), "{text:?}");
    }
    Ok(())
}

#[test]
fn size_and_time_limits_end_response() -> Tested {
    let server = Loopback::start(|number, _| match number {
        0 => Reply::status(200, &"x".repeat(2000)),
        1 => Reply::status(200, "[1,"),
        _ => Reply::Silence,
    })?;
    let config = HttpConfig {
        retries: 0,
        max_bytes: 1000,
        ..HttpConfig::default()
    };
    let (client, _) = client(config);
    let request = Request::get(&server.url)?;
    let error = message(client.send(&request));
    assert!(error.contains("more than 1000 bytes"), "{error}");
    let error = message(client.send(&request)?.json::<Value>());
    assert!(error.contains("not the expected JSON: EOF"), "{error}");
    let hurried = request.timeout(Duration::from_millis(200));
    let error = message(client.send(&hurried));
    assert!(error.contains("no complete answer within 0.2 s"), "{error}");
    Ok(())
}

#[test]
fn unreachable_server_and_invalid_url_errors_name_cause() -> Tested {
    let server = Loopback::start(|_, _| Reply::Silence)?;
    let url = server.url.clone();
    drop(server);
    let (client, pauses) = client(HttpConfig::default());
    let error = message(client.send(&Request::get(&url)?));
    assert!(
        error.contains(&url) && error.contains(", 6 times"),
        "{error}"
    );
    assert_eq!(waited(&pauses), [1, 2, 4, 8, 16]);
    for (text, expected) in [
        ("nothing", "relative URL without a base"),
        ("ftp://a/b", "must begin with https"),
        ("https://u:p@a/b?c", "holds a user name"),
        ("https://u:p@a b/?c", "invalid"),
    ] {
        let error = message(Request::get(text));
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("u:p") && !error.contains("?c"), "{error}");
    }
    Ok(())
}

#[test]
fn token_is_not_sent_to_other_host_on_redirect() -> Tested {
    let server = Loopback::start(|_, request| match request.target.as_str() {
        "/a" => {
            let host = request.header("host").unwrap_or_default();
            let other = host.replace("127.0.0.1", "localhost");
            Reply::status(302, "").header("location", &format!("http://{other}/b"))
        }
        _ => Reply::json(&json!(1)),
    })?;
    let client = HttpClient::new(HttpConfig::default()).with_token(Some(Token::new("hf_secret")?));
    client.send(&Request::get(&format!("{}/a", server.url))?)?;
    let sent: Vec<bool> = (server.received().iter())
        .map(|request| request.header("authorization").is_some())
        .collect();
    assert_eq!(sent, [true, false]);
    Ok(())
}
