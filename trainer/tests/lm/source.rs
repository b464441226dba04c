//! Where models are found, and what is said when they are not.

use std::fs;
use std::path::{Path, PathBuf};

use sentinel_trainer::lm::{HubOptions, find_model};

fn cached(cache: &Path, revision: &str, commit: &str) -> PathBuf {
    let folder = cache.join("models--Qwen--Tiny");
    let snapshot = folder.join("snapshots").join(commit);
    fs::create_dir_all(&snapshot).unwrap();
    fs::create_dir_all(folder.join("refs")).unwrap();
    fs::write(folder.join("refs").join(revision), commit).unwrap();
    fs::write(snapshot.join("config.json"), "{}").unwrap();
    snapshot
}

fn offline(cache: &Path) -> HubOptions {
    HubOptions {
        cache: Some(cache.to_owned()),
        offline: true,
        ..HubOptions::default()
    }
}

#[test]
fn folders_and_caches_are_searched() {
    let place = tempfile::tempdir().unwrap();
    let main = cached(place.path(), "main", "c0ffee");
    let old = cached(place.path(), "v1", "decade");
    let mut options = offline(place.path());
    assert_eq!(find_model("Qwen/Tiny", &options).unwrap(), main);
    for revision in ["v1", "decade"] {
        options.revision = revision.to_owned();
        assert_eq!(find_model("Qwen/Tiny", &options).unwrap(), old);
    }
    options.revision = "../../snapshots/decade".to_owned();
    assert!(find_model("Qwen/Tiny", &options).is_err());
    let local = main.to_str().unwrap();
    assert_eq!(find_model(local, &options).unwrap(), main);
}

#[test]
fn what_is_nowhere_is_said_with_the_way_out() {
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
    // An address where nobody answers stands for a machine without network.
    let options = HubOptions {
        offline: false,
        endpoint: Some("http://127.0.0.1:1".to_owned()),
        ..offline(place.path())
    };
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

#[test]
fn variables_are_those_of_hugging_face() {
    let with = |pairs: &[(&str, &str)]| {
        HubOptions::from_variables(|name| {
            let found = pairs.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    };
    let cache = |pairs: &[(&str, &str)]| with(pairs).cache;
    assert_eq!(
        cache(&[("HOME", "/h")]),
        Some("/h/.cache/huggingface/hub".into())
    );
    assert_eq!(
        cache(&[("HOME", "/h"), ("HF_HOME", "/f")]),
        Some("/f/hub".into())
    );
    let all = [("HF_HUB_CACHE", "/c"), ("HF_HOME", "/f")];
    assert_eq!(cache(&all), Some("/c".into()));
    assert_eq!(cache(&[]), None);
    let options = with(&[("HF_TOKEN", "t"), ("HF_HUB_OFFLINE", "1")]);
    assert_eq!(
        (options.token.as_deref(), options.offline),
        (Some("t"), true)
    );
    assert!(!with(&[("HF_HUB_OFFLINE", "0")]).offline);
}
