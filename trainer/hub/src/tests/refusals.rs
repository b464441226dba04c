//! Refusals, silence and malformed answers of the Hub, and the token in none of the output.

use super::*;

#[test]
fn hub_status_codes_give_named_errors() -> Tested {
    let folder = adapter()?;
    for (status, expected) in [
        (401, "refused the token (401)"),
        (402, "cannot pay for"),
        (403, "no permission for"),
        (404, "not on the Hub (404)"),
        (429, "limits the number of requests"),
        (500, "answered 500"),
    ] {
        let hub = Hub::start()?;
        let body = json!({"error": format!("you are {TOKEN}")}).to_string();
        hub.answer("preupload", Reply::status(status, &body));
        let error = message(send(
            &hub.client(0)?,
            folder.path(),
            &[],
            &RefCell::default(),
        ));
        assert!(
            error.contains(expected) && error.contains("you are ***"),
            "{error}"
        );
    }
    // 429 with a time to wait is repeated.
    let hub = Hub::start()?;
    for _ in 0..3 {
        hub.answer(
            "preupload",
            Reply::status(429, "").header("Retry-After", "7"),
        );
    }
    send(&hub.client(5)?, folder.path(), &[], &RefCell::default())?;
    let asked = hub
        .log()
        .iter()
        .filter(|line| line.contains("preupload"))
        .count();
    assert_eq!(asked, 4);
    Ok(())
}

#[test]
fn unreachable_hub_error_names_endpoint() -> Tested {
    let hub = Hub::start()?;
    hub.answer("revision", Reply::Silence);
    let limits = HttpConfig {
        retries: 0,
        timeout: Duration::from_millis(200),
        ..HttpConfig::default()
    };
    let client = HubClient::with_limits(&hub.access()?, limits)?;
    let place = tempfile::tempdir()?;
    let error = message(fetch(&client, &place.path().join("a"), &[]));
    assert!(
        error.contains("cannot be reached") && error.contains("0.2 s"),
        "{error}"
    );
    let access = HfEnvironment {
        endpoint: "http://127.0.0.1:1".to_owned(),
        ..hub.access()?
    };
    let client = HubClient::new(&access)?.with_wait(|_| true);
    let error = message(fetch(&client, &place.path().join("a"), &[]));
    assert!(
        error.contains("http://127.0.0.1:1") && error.contains("HF_ENDPOINT"),
        "{error}"
    );
    let access = HfEnvironment {
        endpoint: "hub".to_owned(),
        ..hub.access()?
    };
    assert!(message(HubClient::new(&access)).contains("HF_ENDPOINT \"hub\""));
    let access = HfEnvironment {
        offline: true,
        ..hub.access()?
    };
    assert!(message(HubClient::new(&access)).contains("HF_HUB_OFFLINE"));
    assert_eq!(std::fs::read_dir(place.path())?.count(), 0);
    Ok(())
}

#[test]
fn malformed_hub_responses_are_errors() -> Tested {
    let place = tempfile::tempdir()?;
    for (text, reply) in [
        ("revision", Reply::status(200, "{\"sha\":")),
        ("revision", Reply::json(&json!({}))),
        ("tree", Reply::json(&json!({"files": []}))),
        ("tree", Reply::json(&json!([{"path": "a"}]))),
        ("tree", Reply::status(200, "<html>")),
    ] {
        let hub = Hub::start()?;
        hub.put("a", b"a", false);
        hub.answer(text, reply);
        let error = message(fetch(&hub.client(0)?, &place.path().join("a"), &[]));
        assert!(error.contains("not the expected JSON"), "{error}");
    }
    let folder = adapter()?;
    for reply in [
        json!({"files": [{"path": "README.md", "uploadMode": "new"}]}),
        json!({"files": []}),
        json!([]),
    ] {
        let hub = Hub::start()?;
        hub.answer("preupload", Reply::json(&reply));
        let error = message(send(
            &hub.client(0)?,
            folder.path(),
            &[],
            &RefCell::default(),
        ));
        assert!(error.contains("not the expected JSON"), "{error}");
    }
    Ok(())
}

/// A Hub that repeats what it was sent: the token is in no message, no result and no file.
#[test]
fn token_is_in_no_message_result_or_file() -> Tested {
    let hub = Hub::start()?;
    hub.state().refuses = true;
    let client = hub.client(0)?;
    let folder = adapter()?;
    let place = tempfile::tempdir()?;
    let mut all = vec![
        message(send(&client, folder.path(), &[], &RefCell::default())),
        message(fetch(&client, &place.path().join("run"), &[])),
        message(submit(&job(&["--mode", "gpu-test"], &[])?, &client)),
    ];
    assert!(
        all.iter().all(|text| text.contains("Bearer ***")),
        "{all:?}"
    );
    hub.state().refuses = false;
    hub.put("config.json", b"{}", false);
    let out = place.path().join("run");
    all.push(format!("{:?} {client:?}", fetch(&client, &out, &[])?));
    for entry in std::fs::read_dir(&out)? {
        all.push(String::from_utf8_lossy(&std::fs::read(entry?.path())?).into_owned());
    }
    assert!(!all.join("\n").contains(TOKEN));
    // It was sent, and only in its header.
    let received = hub.received();
    let bearer = format!("Bearer {TOKEN}");
    assert!(
        received
            .iter()
            .all(|r| r.header("authorization") == Some(bearer.as_str()))
    );
    assert!(!received.iter().any(|r| r.target.contains(TOKEN)));
    Ok(())
}
