//! The schemas describe what is sent: every observation of whole episodes, and every field.

use std::path::Path;

use jsonschema::Validator;
use sentinel_env::WorldName;
use serde_json::{Value, json};

use super::client::TestServer;
use super::episodes::play_with_policy;

/// The command that renews the snapshots.
const RENEW: &str = "RENEW_SNAPSHOTS=1 cargo test -p sentinel-server --test server snapshot";

/// Compares generated JSON with its file in `testdata/snapshots/api`.
fn assert_snapshot(name: &str, generated: &Value) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/snapshots/api");
    let path = folder.join(name);
    let text = format!("{generated:#}\n");
    if std::env::var_os("RENEW_SNAPSHOTS").is_some() {
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(&path, &text).expect("a file");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == text,
        "{name} is not as generated. Renew it: {RENEW}"
    );
}

#[tokio::test]
async fn schemas_equal_their_snapshots() {
    let server = TestServer::start().await;
    for world in WorldName::ALL {
        let path = format!("/schema?world={world}");
        let (_, schemas) = server.request("GET", &path, None).await;
        assert_snapshot(&format!("{world}.schema.json"), &schemas);
    }
}

#[tokio::test]
async fn openapi_equals_its_snapshot() {
    let server = TestServer::start().await;
    let (_, document) = server.request("GET", "/openapi.json", None).await;
    assert_snapshot("openapi.json", &document);
}

fn validator(schema: &Value) -> Validator {
    jsonschema::validator_for(schema).expect("a schema")
}

fn assert_valid(validator: &Validator, value: &Value, what: &str) {
    let errors: Vec<String> = (validator.iter_errors(value))
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{what}: {errors:?}");
}

/// Returns the observation with reward and done, as the schema describes it.
fn whole(reply: &Value) -> Value {
    let mut observation = reply["observation"].clone();
    observation["reward"] = reply["reward"].clone();
    observation["done"] = reply["done"].clone();
    observation
}

#[tokio::test]
async fn every_observation_fits_its_schema() {
    let server = TestServer::start().await;
    let mut client = server.connect("/ws").await;
    for world in WorldName::ALL {
        let (_, schemas) = server
            .request("GET", &format!("/schema?world={world}"), None)
            .await;
        let [observation, first, state, action] =
            ["observation", "reset_observation", "state", "action"]
                .map(|name| validator(&schemas[name]));
        let mut steps = 0;
        for (task, rules, seed) in episodes(*world) {
            let data = json!({"world": world, "task": task, "rules": rules, "seed": seed});
            let reset = client.reset(data).await;
            assert_valid(&first, &whole(&reset), "reset");
            assert_valid(&observation, &whole(&reset), "reset");
            for message in play_with_policy(*world, task, rules, seed) {
                assert_valid(&action, &message, "action");
                let reply = client.step(message).await;
                assert_valid(&observation, &whole(&reply), "step");
                let reward = reply["reward"].as_f64().expect("a number");
                assert!((0.0..=1.0).contains(&reward));
                steps += 1;
            }
            let last = client.state().await;
            assert_valid(&state, &last, "state");
            assert_eq!(last["done"], true);
        }
        assert!(steps > 30, "{world}: {steps} steps");
    }
}

fn episodes(world: WorldName) -> Vec<(&'static str, &'static str, u64)> {
    match world {
        WorldName::Polyguard => vec![
            ("DDI-easy", "reference", 1),
            ("BANDIT_MINING-hard", "hardened", 2),
            ("PRECISION_DOSING-hard", "reference", 3),
            ("WEB_SEARCH_MISSING_DATA-hard", "hardened", 4),
            ("NEW_DRUG_DECOMPOSITION-hard", "reference", 5),
            ("ALTERNATIVE_SUGGESTION-medium", "hardened", 6),
            ("DEPRESCRIBING-hard", "reference", 7),
        ],
        _ => vec![
            ("task1", "reference", 1),
            ("task2", "hardened", 2),
            ("task3", "reference", 3),
        ],
    }
}

#[tokio::test]
async fn every_field_is_described() {
    let server = TestServer::start().await;
    for world in WorldName::ALL {
        let (_, schemas) = server
            .request("GET", &format!("/schema?world={world}"), None)
            .await;
        for name in ["action", "observation", "state", "reset_observation"] {
            let properties = schemas[name]["properties"].as_object().expect("fields");
            assert!(!properties.is_empty());
            for (field, schema) in properties {
                let described = schema["description"]
                    .as_str()
                    .is_some_and(|text| !text.is_empty());
                assert!(described, "{world}: {name}.{field} has no description");
            }
        }
    }
    let (status, body) = server.request("GET", "/schema?world=nowhere", None).await;
    assert_eq!(status, 404);
    assert!(
        body["detail"]
            .as_str()
            .is_some_and(|words| words.contains("trust"))
    );
}
