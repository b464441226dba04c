//! The commands against a Hub on the loopback address.

use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

use clap::{Args as _, FromArgMatches as _};
use serde_json::{Value, json};

use super::fake::{COMMIT, Hub, TOKEN, sha256};
use super::job::{JobConfig, JobSpec, submit};
use super::pull::{PullConfig, Pulled, pull};
use super::upload::{self, UploadConfig, UploadEvent, Uploaded};
use super::*;
use crate::http::loopback::Reply;
use crate::http::{HttpConfig, HttpError};
use crate::provenance::Provenance;

type Failure = Box<dyn std::error::Error>;
type Tested = Result<(), Failure>;

/// Parses the options of a command.
fn options<T: clap::Args + clap::FromArgMatches>(words: &[&str]) -> Result<T, clap::Error> {
    let command = T::augment_args(clap::Command::new("test").no_binary_name(true));
    T::from_arg_matches(&command.try_get_matches_from(words)?)
}

/// Uploads a folder to `me/run`, with further options.
fn send(
    client: &HubClient,
    folder: &Path,
    more: &[&str],
    seen: &RefCell<Vec<String>>,
) -> Result<Uploaded, HubError> {
    let path = folder.display().to_string();
    let words = [&[path.as_str(), "--repo", "me/run"], more].concat();
    let config: UploadConfig = options(&words).map_err(|error| HubError::Argument {
        option: "test",
        reason: error.to_string(),
    })?;
    upload::upload(&config, &upload::plan(&config)?, client, &|event| {
        seen.borrow_mut().push(match event {
            UploadEvent::Sending { path, .. } => format!("send {path}"),
            UploadEvent::Present { path } => format!("skip {path}"),
            UploadEvent::Committing { files, removed } => format!("commit {files} -{removed}"),
        });
        true
    })
}

/// Downloads `me/run` to a folder, with further options.
fn fetch(client: &HubClient, out: &Path, more: &[&str]) -> Result<Pulled, HubError> {
    let out = out.display().to_string();
    let words = [&["me/run", "--out", out.as_str()], more].concat();
    let config: PullConfig = options(&words).map_err(|error| HubError::Argument {
        option: "test",
        reason: error.to_string(),
    })?;
    pull(&config, client, &|_, _| true)
}

/// Writes a folder of an adapter with two large files.
fn adapter() -> Result<tempfile::TempDir, Failure> {
    let folder = tempfile::tempdir()?;
    for (name, text) in [
        ("adapter_config.json", "{\"r\": 8}"),
        ("adapter_model.safetensors", "0123456789"),
        ("more.safetensors", "abc"),
        ("copy.safetensors", "abc"),
        ("empty.safetensors", ""),
        ("a.ignored", "x"),
        ("checkpoint.safetensors", "state"),
        ("README.md", "# Card\n"),
        (".lock", ""),
    ] {
        std::fs::write(folder.path().join(name), text)?;
    }
    std::fs::create_dir_all(folder.path().join("checkpoint-5"))?;
    std::fs::write(folder.path().join("checkpoint-5/trainer_state.json"), "{}")?;
    std::fs::create_dir_all(folder.path().join("completions"))?;
    std::fs::write(
        folder.path().join("completions/completions_1.jsonl"),
        "{}\n",
    )?;
    std::fs::create_dir_all(folder.path().join(".git"))?;
    std::fs::write(folder.path().join(".git/config"), "")?;
    Provenance::new().write(folder.path())?;
    Ok(folder)
}

/// Returns the message of a failure, and checks that it does not hold the token.
fn message<T: std::fmt::Debug>(result: Result<T, HubError>) -> String {
    let text = match &result {
        Ok(value) => format!("no error: {value:?}"),
        Err(error) => error.to_string(),
    };
    assert!(!format!("{text} {result:?}").contains(TOKEN), "{text}");
    text
}

fn job(words: &[&str], variables: &[(&str, &str)]) -> Result<JobSpec, Failure> {
    let config: JobConfig = options(words)?;
    let variable = |name: &str| {
        let found = variables.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Ok(JobSpec::new(&config, variable)?)
}

#[test]
fn an_adapter_arrives_whole_and_comes_back() -> Tested {
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
fn an_upload_that_broke_off_continues() -> Tested {
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
fn wrong_instructions_of_a_hub_are_errors() -> Tested {
    let folder = adapter()?;
    let oid = sha256(b"0123456789");
    let object =
        |actions: Value| json!({"objects": [{"oid": oid, "size": 10, "actions": actions}]});
    let upload = |header: Value| {
        object(json!({"upload": {"href": "http://127.0.0.1:1/x", "header": header}}))
    };
    for (reply, said) in [
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
        assert!(error.contains(said), "{error}");
        assert!(hub.state().commits.is_empty());
    }
    Ok(())
}

#[test]
fn files_that_are_named_are_removed_in_the_same_commit() -> Tested {
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
fn the_hub_s_refusals_have_names() -> Tested {
    let folder = adapter()?;
    for (status, said) in [
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
            error.contains(said) && error.contains("you are ***"),
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
fn a_hub_that_does_not_answer_is_named() -> Tested {
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
    let access = HubAccess {
        endpoint: "http://127.0.0.1:1".to_owned(),
        ..hub.access()?
    };
    let client = HubClient::new(&access)?.with_wait(|_| true);
    let error = message(fetch(&client, &place.path().join("a"), &[]));
    assert!(
        error.contains("http://127.0.0.1:1") && error.contains("HF_ENDPOINT"),
        "{error}"
    );
    let access = HubAccess {
        endpoint: "hub".to_owned(),
        ..hub.access()?
    };
    assert!(message(HubClient::new(&access)).contains("HF_ENDPOINT \"hub\""));
    let access = HubAccess {
        offline: true,
        ..hub.access()?
    };
    assert!(message(HubClient::new(&access)).contains("HF_HUB_OFFLINE"));
    assert_eq!(std::fs::read_dir(place.path())?.count(), 0);
    Ok(())
}

#[test]
fn malformed_answers_are_errors() -> Tested {
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

#[test]
fn a_download_that_is_not_what_the_hub_lists_leaves_nothing() -> Tested {
    let hub = Hub::start()?;
    hub.put("config.json", b"{}", false);
    hub.put("model.safetensors", b"weights", true);
    let client = hub.client(0)?;
    let place = tempfile::tempdir()?;
    let out = place.path().join("run");
    let left = || std::fs::read_dir(place.path()).map(Iterator::count);
    for (text, reply, said) in [
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
        assert!(error.contains(said), "{error}");
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
fn fallbacks_are_neither_sent_nor_kept_unless_allowed() -> Tested {
    let hub = Hub::start()?;
    let folder = adapter()?;
    let mut made = Provenance::new();
    made.mark("sft", "a tiny new model in place of Qwen/Qwen2.5-0.5B");
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

#[test]
fn folders_that_do_not_fit_are_refused_before_anything_is_sent() -> Tested {
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

#[test]
fn a_job_is_described_without_a_network_and_without_secrets() -> Tested {
    let spec = job(&["--flavor", "t4-small", "--timeout", "45m"], &[])?;
    let value = serde_json::to_value(&spec)?;
    assert_eq!(value["mode"], "gpu-test");
    assert_eq!(value["timeout_seconds"], 2700);
    assert_eq!(value["secrets"], json!([]));
    assert_eq!(value["missing"], json!([]));
    assert!(spec.command[2].starts_with("nvidia-smi"));

    let full = [
        "--mode",
        "train-full",
        "--image",
        "me/sentinel",
        "--lora-rank",
        "4",
        "--epochs",
        "2",
    ];
    let spec = job(&full, &[("HF_NAMESPACE", "us")])?;
    assert_eq!(spec.secrets, ["HF_TOKEN"]);
    assert_eq!(spec.namespace.as_deref(), Some("us"));
    assert_eq!(spec.missing.len(), 2);
    let text = &spec.command[2];
    for part in [
        "--lora-r 4",
        "--num-train-epochs 2",
        "--device cuda",
        "random,heuristic,oracle_lite,trained",
        "cp outputs/eval_post.json outputs/evaluation_results.json",
        "\"$SENTINEL_MODEL_REPO\"",
        "job-$JOB_ID/outputs",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    let variables = [
        ("SENTINEL_MODEL_REPO", "me/a"),
        ("SENTINEL_ARTIFACT_REPO", "me/b"),
    ];
    let spec = job(&full, &variables)?;
    assert!(spec.missing.is_empty());
    assert_eq!(spec.environment["SENTINEL_MODEL_REPO"], "me/a");
    // The program is cloned and built where no image holds it.
    let spec = job(
        &[
            "--mode",
            "import-smoke",
            "--repo-url",
            "https://g.test/a b",
            "--flavor",
            "cpu-basic",
        ],
        &[],
    )?;
    let text = &spec.command[2];
    assert!(
        text.contains("-- 'https://g.test/a b'") && text.contains("--device cpu"),
        "{text}"
    );
    assert!(!text.contains("--features cuda") && spec.secrets.is_empty());
    let spec = job(&["--mode", "import-smoke"], &[])?;
    assert!(spec.missing[0].contains("--image"));
    for words in [
        ["--timeout", "soon"],
        ["--flavor", "a b"],
        ["--namespace", "../x"],
        ["--num-generations", "1"],
        ["--learning-rate", "0"],
    ] {
        assert!(job(&words, &[]).is_err(), "{words:?}");
    }
    assert!(job(&["--mode", "train-full", "--model-repo", "x"], &[]).is_err());
    Ok(())
}

#[test]
fn a_job_is_submitted_with_its_token() -> Tested {
    let hub = Hub::start()?;
    let words = ["--mode", "train-smoke", "--image", "hf.co/spaces/me/image"];
    let spec = job(&words, &[])?;
    hub.answer(
        "POST /api/jobs/me",
        Reply::status(429, "").header("Retry-After", "1"),
    );
    let found = submit(&spec, &hub.client(2)?)?;
    assert_eq!(found.id, "687fb701029421ae5549d998");
    assert!(found.url.ends_with("/jobs/me/687fb701029421ae5549d998"));
    assert_eq!(
        found.follow(),
        "hf jobs logs -f me/687fb701029421ae5549d998"
    );
    let sent = hub.state().jobs.remove(0);
    assert_eq!(sent["spaceId"], "me/image");
    assert_eq!(sent["timeoutSeconds"], 7200);
    assert_eq!(sent["secrets"], json!({"HF_TOKEN": TOKEN}));
    assert_eq!(sent["arguments"], json!([]));
    assert_eq!(sent["labels"], json!({"name": "sentinel-train-smoke"}));
    assert!(!format!("{spec:?} {found:?}").contains(TOKEN));
    assert!(!serde_json::to_string(&spec)?.contains(TOKEN));
    Ok(())
}

#[test]
fn a_job_is_never_submitted_twice() -> Tested {
    for reply in [Reply::status(502, ""), Reply::Broken] {
        let hub = Hub::start()?;
        hub.answer("POST /api/jobs", reply);
        let spec = job(&["--namespace", "us"], &[])?;
        message(submit(&spec, &hub.client(5)?));
        let sent = hub
            .log()
            .iter()
            .filter(|line| line.starts_with("POST"))
            .count();
        assert_eq!(sent, 1);
    }
    let hub = Hub::start()?;
    let spec = job(&["--mode", "import-smoke"], &[])?;
    let error = message(submit(&spec, &hub.client(0)?));
    assert!(error.contains("--image must name"), "{error}");
    let access = HubAccess {
        token: None,
        ..hub.access()?
    };
    let client = HubClient::new(&access)?;
    let error = message(submit(&job(&[], &[])?, &client));
    assert!(
        error.contains("a job needs a token") && error.contains("HF_TOKEN"),
        "{error}"
    );
    hub.answer("POST /api/jobs", Reply::json(&json!({"id": 3})));
    let error = message(submit(&job(&["--namespace", "us"], &[])?, &hub.client(0)?));
    assert!(error.contains("not the expected JSON"), "{error}");
    assert!(hub.log().len() == 1);
    Ok(())
}

/// A Hub that repeats what it was sent: the token is in no message, no result and no file.
#[test]
fn the_token_is_in_no_output() -> Tested {
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
