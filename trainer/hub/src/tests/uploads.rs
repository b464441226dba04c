//! Uploads: whole, broken off, in parts, refused.

use super::*;

#[test]
fn adapter_roundtrips_through_upload_and_pull() -> Tested {
    let hub = Hub::start()?;
    let folder = adapter()?;
    let seen = RefCell::default();
    let client = hub.client(0)?;
    let sent = send(&client, folder.path(), &["--private"], &seen)?;
    assert_eq!((sent.added, sent.ignored, sent.unchanged), (8, 1, 0));
    assert_eq!(sent.sent, 13, "equal contents are sent once");
    assert!(sent.commit_url.is_some_and(|url| url.contains(COMMIT)));
    let created = hub.state().created.remove(0);
    let expected = json!({
        "name": "run", "organization": "me", "type": "model", "visibility": "private",
    });
    assert_eq!(created, expected);
    let names: Vec<String> = hub.state().files.keys().cloned().collect();
    assert_eq!(
        names,
        [
            "README.md",
            "adapter_config.json",
            "adapter_model.safetensors",
            "completions/completions_1.jsonl",
            "copy.safetensors",
            "empty.safetensors",
            "more.safetensors",
            "sentinel.json",
        ]
    );
    // Nothing is sent twice.
    seen.borrow_mut().clear();
    let again = send(&client, folder.path(), &[], &seen)?;
    assert_eq!(
        (again.added, again.unchanged, again.commit_url),
        (0, 8, None)
    );
    assert!(seen.borrow().is_empty());

    hub.state().page = 3;
    let place = tempfile::tempdir()?;
    let out = place.path().join("run");
    let pulled = fetch(&client, &out, &[])?;
    assert_eq!((pulled.files, pulled.commit.as_str()), (8, COMMIT));
    for name in names {
        let expected = std::fs::read(folder.path().join(&name))?;
        assert_eq!(std::fs::read(out.join(&name))?, expected, "{name}");
    }
    assert_eq!(std::fs::read_dir(place.path())?.count(), 1);
    Ok(())
}

#[test]
fn interrupted_upload_skips_files_already_sent() -> Tested {
    let hub = Hub::start()?;
    let folder = adapter()?;
    let seen = RefCell::default();
    let client = hub.client(0)?;
    // The second object breaks off.
    let second = sha256(b"abc");
    let first = sha256(b"0123456789");
    assert!(
        first < second,
        "objects are sent in the order of their digests"
    );
    hub.answer("PUT /storage/ba7816bf", Reply::Broken);
    let error = message(send(&client, folder.path(), &[], &seen));
    assert!(error.contains("cannot be reached"), "{error}");
    assert!(hub.state().commits.is_empty());
    seen.borrow_mut().clear();
    let sent = send(&client, folder.path(), &[], &seen)?;
    assert_eq!((sent.added, sent.sent), (8, 3));
    let lines = [
        "skip adapter_model.safetensors",
        "send more.safetensors",
        "commit 8 -0",
    ];
    assert_eq!(*seen.borrow(), lines);
    // A broken answer to a commit: the next upload sees that it was made.
    std::fs::write(folder.path().join("README.md"), "# New\n")?;
    hub.answer("POST /api/models/me/run/commit", Reply::Broken);
    let error = message(send(&client, folder.path(), &[], &seen));
    assert!(
        error.contains("a commit") || error.contains("/commit/"),
        "{error}"
    );
    Ok(())
}

#[test]
fn large_objects_are_sent_in_parts_with_retries() -> Tested {
    let hub = Hub::start()?;
    hub.state().chunk = 4;
    let folder = adapter()?;
    hub.answer(
        "PUT",
        Reply::status(503, "slow down").header("Retry-After", "2"),
    );
    let sent = send(&hub.client(3)?, folder.path(), &[], &RefCell::default())?;
    assert_eq!(sent.sent, 13);
    let object = hub.state().objects.get(&sha256(b"0123456789")).cloned();
    assert_eq!(object.as_deref(), Some(b"0123456789".as_slice()));
    let puts = hub
        .log()
        .iter()
        .filter(|line| line.starts_with("PUT"))
        .count();
    assert_eq!(puts, 5, "four parts and one retry");
    Ok(())
}

#[test]
fn invalid_lfs_instructions_are_errors() -> Tested {
    let folder = adapter()?;
    let oid = sha256(b"0123456789");
    let object =
        |actions: Value| json!({"objects": [{"oid": oid, "size": 10, "actions": actions}]});
    let upload = |header: Value| {
        object(json!({"upload": {"href": "http://127.0.0.1:1/x", "header": header}}))
    };
    for (reply, expected) in [
        (
            json!({"objects": [{"oid": "ff", "size": 1}]}),
            "unknown object ff",
        ),
        (
            json!({"objects": [{"oid": oid, "size": 10, "error": {"code": 422, "message": "no room"}}]}),
            "was refused (422): no room",
        ),
        (upload(json!({"chunk_size": "x"})), "not a number of bytes"),
        (
            upload(json!({"chunk_size": "4", "1": "http://a/1"})),
            "do not fit into 1 parts",
        ),
        (json!({"objects": 3}), "not the expected JSON"),
    ] {
        let hub = Hub::start()?;
        hub.answer("/info/lfs/", Reply::json(&reply));
        let error = message(send(
            &hub.client(0)?,
            folder.path(),
            &[],
            &RefCell::default(),
        ));
        assert!(error.contains(expected), "{error}");
        assert!(hub.state().commits.is_empty());
    }
    Ok(())
}

#[test]
fn deleted_files_are_removed_in_same_commit() -> Tested {
    let hub = Hub::start()?;
    for name in ["old.bin", "README.md", ".gitattributes", "keep/a"] {
        hub.put(name, b"old", false);
    }
    let site = tempfile::tempdir()?;
    std::fs::write(site.path().join("index.html"), "<!doctype html>")?;
    let words = [
        "--repo-type",
        "space",
        "--delete",
        "*",
        "--message",
        "New page",
    ];
    let seen = RefCell::default();
    let sent = send(&hub.client(0)?, site.path(), &words, &seen)?;
    assert_eq!((sent.added, sent.removed), (2, 2));
    let state = hub.state();
    assert_eq!(state.created[0]["sdk"], "static");
    let names: Vec<&str> = state.files.keys().map(String::as_str).collect();
    assert_eq!(names, [".gitattributes", "README.md", "index.html"]);
    let readme = String::from_utf8_lossy(&state.files["README.md"].bytes).into_owned();
    assert!(readme.contains("\nsdk: static\n"), "{readme}");
    assert_eq!(state.commits[0][0]["value"]["summary"], "New page");
    Ok(())
}

#[test]
fn invalid_upload_is_refused_before_any_request() -> Tested {
    let hub = Hub::start()?;
    let client = hub.client(0)?;
    let place = tempfile::tempdir()?;
    let refused =
        |path: &Path, more: &[&str]| message(send(&client, path, more, &RefCell::default()));
    let none = place.path().join("none");
    assert!(refused(&none, &[]).contains("no such file or folder"));
    assert!(refused(place.path(), &[]).contains("there is no file to upload"));
    std::fs::write(place.path().join("a.jsonl"), "{}\n")?;
    assert!(refused(place.path(), &[]).contains("--repo-type dataset"));
    assert!(refused(place.path(), &["--repo-type", "space"]).contains("no index.html"));
    std::fs::write(place.path().join("index.html"), "")?;
    std::fs::write(place.path().join("README.md"), "# A page\n")?;
    assert!(refused(place.path(), &["--repo-type", "space"]).contains("sdk: static"));
    let outside = ["--repo-type", "dataset", "--path-in-repo", "../x"];
    assert!(refused(place.path(), &outside).contains("--path-in-repo"));
    let bracket = ["--repo-type", "dataset", "--delete", "[a]"];
    assert!(refused(place.path(), &bracket).contains("not a pattern"));
    std::fs::write(place.path().join("cut.json"), "{\"a\":")?;
    assert!(refused(place.path(), &["--repo-type", "dataset"]).contains("not JSON"));
    std::fs::write(
        place.path().join("cut.json"),
        format!("{{\"a\":\"{TOKEN}\"}}"),
    )?;
    assert!(refused(place.path(), &["--repo-type", "dataset"]).contains("contains the token"));
    assert!(hub.log().is_empty());
    Ok(())
}
