//! Search for models, and the errors when none is found.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sentinel_http::HfEnvironment;
use sentinel_lm::{HubOptions, find_model};

fn cached(cache: &Path, revision: &str, commit: &str) -> PathBuf {
    let folder = cache.join("models--Qwen--Tiny");
    let snapshot = folder.join("snapshots").join(commit);
    fs::create_dir_all(&snapshot).unwrap();
    fs::create_dir_all(folder.join("refs")).unwrap();
    fs::write(folder.join("refs").join(revision), commit).unwrap();
    for name in ["config.json", "tokenizer.json", "model.safetensors"] {
        fs::write(snapshot.join(name), "{}").unwrap();
    }
    snapshot
}

fn offline(cache: &Path) -> HubOptions {
    HubOptions {
        hub: HfEnvironment {
            cache: Some(cache.to_owned()),
            offline: true,
            ..HfEnvironment::default()
        },
        ..HubOptions::default()
    }
}

/// An unreachable address simulates a machine without network.
fn unreachable(cache: &Path) -> HubOptions {
    let mut options = offline(cache);
    options.hub.offline = false;
    options.hub.endpoint = "http://127.0.0.1:1".to_owned();
    options
}

#[test]
fn model_is_found_in_folder_or_cache() {
    let place = tempfile::tempdir().unwrap();
    let main = cached(place.path(), "main", "c0ffee");
    let old = cached(place.path(), "v1", "decade");
    let mut options = offline(place.path());
    assert_eq!(find_model("Qwen/Tiny", &options).unwrap().folder, main);
    for revision in ["v1", "decade"] {
        options.revision = revision.to_owned();
        assert_eq!(find_model("Qwen/Tiny", &options).unwrap().folder, old);
    }
    options.revision = "../../snapshots/decade".to_owned();
    assert!(find_model("Qwen/Tiny", &options).is_err());
    let local = main.to_str().unwrap();
    let whole = find_model(local, &options).unwrap();
    assert_eq!((whole.folder, whole.warning), (main, None));
}

/// An interrupted download is not used as a model: it is completed, or the missing files are named.
#[test]
fn incomplete_snapshot_is_not_used_as_model() {
    let place = tempfile::tempdir().unwrap();
    let snapshot = cached(place.path(), "main", "c0ffee");
    let options = offline(place.path());
    let assert_incomplete = |missing: &str| {
        let error = find_model("Qwen/Tiny", &options).unwrap_err().to_string();
        let part = format!("incomplete ({missing})");
        assert!(error.contains(&part), "{part:?} is not in: {error}");
        assert!(error.contains("HF_HUB_OFFLINE"), "{error}");
    };
    let found = || {
        let found = find_model("Qwen/Tiny", &options).unwrap();
        assert_eq!(found.folder, snapshot);
    };
    let remove = |name: &str| fs::remove_file(snapshot.join(name)).unwrap();
    let write = |name: &str, text: &str| fs::write(snapshot.join(name), text).unwrap();
    for name in ["config.json", "tokenizer.json", "model.safetensors"] {
        remove(name);
        assert_incomplete(&format!("{name} is missing"));
        write(name, "{}");
        found();
    }
    // With shards, each of them must exist.
    remove("model.safetensors");
    let index = r#"{"weight_map":{"a":"1.safetensors","b":"2.safetensors","c":"2.safetensors"}}"#;
    write("model.safetensors.index.json", index);
    assert_incomplete("1.safetensors and 1 more files are missing");
    write("1.safetensors", "");
    assert_incomplete("2.safetensors is missing");
    write("2.safetensors", "");
    found();
    write("model.safetensors.index.json", "cut o");
    assert_incomplete("model.safetensors is missing");
    // An adapter consists of other files.
    remove("config.json");
    write("adapter_config.json", "{}");
    assert_incomplete("adapter_model.safetensors is missing");
    write("adapter_model.safetensors", "");
    found();
    // With a network, an incomplete snapshot is downloaded again.
    remove("adapter_model.safetensors");
    let options = unreachable(place.path());
    let error = find_model("Qwen/Tiny", &options).unwrap_err().to_string();
    for part in ["incomplete", "http://127.0.0.1:1/Qwen/Tiny"] {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
}

#[test]
fn missing_model_error_names_path_and_remedy() {
    let place = tempfile::tempdir().unwrap();
    let error = find_model("Qwen/Tiny", &offline(place.path()))
        .unwrap_err()
        .to_string();
    let cache = place.path().join("models--Qwen--Tiny");
    let parts = [
        "\"Qwen/Tiny\"",
        cache.to_str().unwrap(),
        "HF_HUB_OFFLINE",
        "local folder",
        "HF_HOME",
    ];
    for part in parts {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
    let options = unreachable(place.path());
    let error = find_model("Qwen/Tiny", &options).unwrap_err().to_string();
    for part in [
        "http://127.0.0.1:1/Qwen/Tiny",
        cache.to_str().unwrap(),
        "local folder",
    ] {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
    for asked in ["", "../secret", "a/b/c", ".hidden", "a b"] {
        let error = find_model(asked, &options).unwrap_err().to_string();
        assert!(error.contains("owner/name"), "{asked}: {error}");
    }
    let empty = place.path().to_str().unwrap();
    let error = find_model(empty, &options).unwrap_err().to_string();
    assert!(error.contains("config.json"), "{error}");
}

/// A token that ends with a line break is the token; one that would be sent in plain text is not sent, and
/// no message shows it.
#[test]
fn token_is_in_no_message() {
    let place = tempfile::tempdir().unwrap();
    let with = |endpoint: &str, token: &str| {
        let mut options = offline(place.path());
        options.hub = HfEnvironment {
            cache: options.hub.cache,
            ..HfEnvironment::from_variables(|name| match name {
                "HF_ENDPOINT" => Some(endpoint.to_owned()),
                "HF_TOKEN" => Some(token.to_owned()),
                _ => None,
            })
        };
        find_model("Qwen/Tiny", &options).unwrap_err().to_string()
    };
    for (endpoint, token, part) in [
        ("http://127.0.0.1:1", "hf_SECRET\n", "127.0.0.1:1"),
        ("http://hub.example", "hf_SECRET", "https"),
        ("http://127.0.0.1:1", "hf_SECRET hf_SECRET", "HF_TOKEN"),
    ] {
        let error = with(endpoint, token);
        assert!(error.contains(part), "{part} is not in: {error}");
        assert!(!error.contains("SECRET"), "{error}");
    }
}

/// The files of a repository behind an address.
struct Repository {
    files: &'static [&'static str],
    address: String,
    requests: Arc<AtomicUsize>,
}

const COMMIT: &str = "1111111111111111111111111111111111111111";

impl Repository {
    /// Serves files, each of which holds `{}`, until the test ends.
    fn serve(files: &'static [&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let repository = Self {
            files,
            address: format!("http://{}", listener.local_addr().unwrap()),
            requests: Arc::default(),
        };
        let requests = Arc::clone(&repository.requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                requests.fetch_add(1, Ordering::Relaxed);
                let _ = Self::answer(stream.unwrap(), files);
            }
        });
        repository
    }

    fn answer(mut stream: TcpStream, files: &[&str]) -> std::io::Result<()> {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let first = lines.next().unwrap_or_else(|| Ok(String::new()))?;
        while lines
            .next()
            .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
        {}
        let path = first.split(' ').nth(1).unwrap_or_default();
        let siblings: Vec<_> = files
            .iter()
            .map(|f| serde_json::json!({"rfilename": f}))
            .collect();
        let (status, body) = if path.starts_with("/api/models/") {
            // A cached snapshot is completed with the files of its own commit.
            assert!(path.ends_with(COMMIT), "{path}");
            let info = serde_json::json!({"sha": COMMIT, "siblings": siblings});
            ("200 OK", info.to_string())
        } else if files.iter().any(|file| path.ends_with(&format!("/{file}"))) {
            ("206 Partial Content", "{}".to_owned())
        } else {
            ("404 Not Found", String::new())
        };
        let end = body.len().max(1) - 1;
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nContent-Range: bytes 0-{end}/{length}\r\n\
             X-Repo-Commit: {COMMIT}\r\nETag: \"{}\"\r\nConnection: close\r\n\r\n{body}",
            path.len()
        )
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

/// Another program cached the files that it needed. What the repository has beside them, such as the chat
/// template, is fetched once; what it does not have is not asked for again.
#[test]
fn usable_snapshot_is_completed_if_the_hub_answers() {
    let files = &[
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ];
    let repository = Repository::serve(files);
    let place = tempfile::tempdir().unwrap();
    let snapshot = cached(place.path(), "main", COMMIT);
    let mut options = unreachable(place.path());
    let find = |options: &HubOptions, warning: &str| {
        let found = find_model("Qwen/Tiny", options).unwrap();
        let text = found.warning.unwrap_or_default();
        assert_eq!(text.is_empty(), warning.is_empty(), "{text}");
        assert!(text.contains(warning), "{text}");
        found.folder
    };
    let has = |name: &str| snapshot.join(name).is_file();

    assert_eq!(find(&options, "Connection"), snapshot);
    assert_eq!(find(&offline(place.path()), "HF_HUB_OFFLINE"), snapshot);
    options.hub.endpoint = "https://secret@hub.example".to_owned();
    assert_eq!(find(&options, "token in HF_TOKEN"), snapshot);
    assert!(!has("tokenizer_config.json"));
    options.hub.endpoint.clone_from(&repository.address);
    assert_eq!(find(&options, ""), snapshot);
    assert!(has("tokenizer_config.json") && !has("chat_template.jinja"));
    assert!(repository.files.iter().all(|name| has(name)));
    let before = repository.requests();
    assert!(before > 0);
    assert_eq!(find(&options, ""), snapshot);
    assert_eq!(
        repository.requests(),
        before,
        "a whole snapshot needs no request"
    );
}
