//! Downloads that are damaged, stopped or marked.

use super::*;

#[test]
fn invalid_download_leaves_no_files() -> Tested {
    let hub = Hub::start()?;
    hub.put("config.json", b"{}", false);
    hub.put("model.safetensors", b"weights", true);
    let client = hub.client(0)?;
    let place = tempfile::tempdir()?;
    let out = place.path().join("run");
    let left = || std::fs::read_dir(place.path()).map(Iterator::count);
    for (text, reply, expected) in [
        (
            "/model.safetensors",
            Reply::status(200, "weightz"),
            "has the digest",
        ),
        (
            "/model.safetensors",
            Reply::status(200, "weights and more"),
            "more than 8 bytes",
        ),
        ("/config.json", Reply::status(200, "[]"), "has the digest"),
        ("/model.safetensors", Reply::Broken, "cannot be reached"),
        (
            "/model.safetensors",
            Reply::status(404, ""),
            "not on the Hub",
        ),
    ] {
        hub.answer(text, reply);
        let error = message(fetch(&client, &out, &[]));
        assert!(error.contains(expected), "{error}");
        assert_eq!(left()?, 0);
    }
    // A name that leaves the folder.
    hub.put("../evil", b"x", false);
    let error = message(fetch(&client, &out, &[]));
    assert!(error.contains("unsafe name \"../evil\""), "{error}");
    assert_eq!(left()?, 0);
    hub.state().files.remove("../evil");
    // A stop between two files.
    let words = ["me/run", "--out", out.to_str().unwrap_or_default()];
    let config: PullConfig = options(&words)?;
    let stopped = pull(&config, &client, &|name, _| name != "model.safetensors");
    assert!(matches!(
        stopped,
        Err(HubError::Http(HttpError::Interrupted))
    ));
    assert_eq!(left()?, 0);
    // An empty folder is filled, a full one is not.
    std::fs::create_dir(&out)?;
    fetch(&client, &out, &["--include", "*.json"])?;
    assert!(!out.join("model.safetensors").exists());
    assert!(message(fetch(&client, &out, &[])).contains("not an empty folder"));
    let error = message(fetch(&client, &place.path().join("no/run"), &[]));
    assert!(error.contains("there is no folder"), "{error}");
    let error = message(fetch(
        &client,
        &place.path().join("b"),
        &["--include", "*.bin"],
    ));
    assert!(error.contains("no such file"), "{error}");
    let error = message(fetch(
        &client,
        &place.path().join("b"),
        &["--revision", "v9"],
    ));
    assert!(
        error.contains("model me/run at v9 is not on the Hub"),
        "{error}"
    );
    Ok(())
}

#[test]
fn fallback_models_need_permission_to_upload_and_pull() -> Tested {
    let hub = Hub::start()?;
    let folder = adapter()?;
    let mut made = Provenance::new();
    made.add_fallback("sft", "a tiny new model in place of Qwen/Qwen2.5-0.5B");
    made.write(folder.path())?;
    let client = hub.client(0)?;
    let error = message(send(&client, folder.path(), &[], &RefCell::default()));
    assert!(
        error.contains("--allow-fallback") && error.contains("sentinel.json"),
        "{error}"
    );
    let weights = folder.path().join("adapter_model.safetensors");
    let error = message(send(&client, &weights, &[], &RefCell::default()));
    assert!(error.contains("depends on a fallback"), "{error}");
    assert!(hub.log().is_empty());
    send(
        &client,
        folder.path(),
        &["--allow-fallback"],
        &RefCell::default(),
    )?;

    let place = tempfile::tempdir()?;
    let out = place.path().join("run");
    let error = message(fetch(&client, &out, &[]));
    assert!(error.contains("a tiny new model"), "{error}");
    let loaded = hub.log().iter().any(|line| line.ends_with(".safetensors"));
    assert!(!loaded, "no weights were downloaded");
    assert_eq!(std::fs::read_dir(place.path())?.count(), 0);
    assert_eq!(fetch(&client, &out, &["--allow-fallback"])?.marks.len(), 1);
    Ok(())
}
