//! Requests and checks of answers, and servers that do not answer as they should.

use std::time::Duration;

use sentinel_lm::{Completion, GenerateOptions, GenerationDefaults};
use sentinel_server::completions::protocol::{
    Choice, CompletionRequest, CompletionResponse, LogProbs, Prompts, Usage,
};
use sentinel_testkit::loopback::{Loopback, Reply};
use serde_json::json;

use super::engine::{new_run_id, read_run_id, write_run_id};
use super::requests::{RowRequest, completions, divide};
use super::{Replica, RolloutEngine, RolloutEngineArgs};

type Tested = Result<(), Box<dyn std::error::Error>>;

fn options(greedy: bool) -> GenerateOptions {
    let defaults = GenerationDefaults {
        eos_token_ids: vec![5],
        ..GenerationDefaults::default()
    };
    GenerateOptions {
        greedy,
        ..GenerateOptions::new(3, &defaults, u64::MAX - 1)
    }
}

/// Two groups of equal prompts, and a prompt of its own.
fn prompts() -> Vec<Vec<u32>> {
    vec![vec![1], vec![1], vec![1], vec![2, 3], vec![2, 3], vec![4]]
}

fn rows(requests: &[RowRequest]) -> Vec<(usize, usize)> {
    requests
        .iter()
        .map(|one| (one.rows.start, one.rows.end))
        .collect()
}

#[test]
fn sampled_groups_are_requests_with_the_seed_of_their_rows() {
    let requests = divide(&prompts(), &options(false), "m", 1);
    assert_eq!(rows(&requests), [(0, 3), (3, 5), (5, 6)]);
    let seeds: Vec<i64> = requests
        .iter()
        .filter_map(|one| one.request.sampling.seed)
        .collect();
    assert_eq!(
        seeds,
        [-2, 1, 3],
        "the seed of the batch plus the first row"
    );
    let second = &requests[1].request;
    assert_eq!(
        (&second.prompt, second.sampling.n),
        (&Prompts::Ids(vec![2, 3]), 2)
    );
    assert_eq!(second.vllm_xargs.sentinel_first_row, 3);
    // A group larger than a server's share is divided; its rows keep their seeds.
    let requests = divide(&prompts(), &options(false), "m", 3);
    assert_eq!(rows(&requests), [(0, 2), (2, 3), (3, 5), (5, 6)]);
    assert_eq!(requests[1].request.sampling.seed, Some(0));
    assert!(divide(&[], &options(false), "m", 2).is_empty());
}

#[test]
fn greedy_prompts_share_requests_of_bounded_size() {
    let requests = divide(&prompts(), &options(true), "m", 2);
    assert_eq!(rows(&requests), [(0, 3), (3, 6)]);
    let first = &requests[0].request;
    assert!(first.sampling.temperature == 0.0 && first.sampling.n == 1 && first.prompt.len() == 3);
    let many = vec![vec![1]; 2500];
    assert_eq!(
        rows(&divide(&many, &options(true), "m", 1)),
        [(0, 1024), (1024, 2048), (2048, 2500)]
    );
    assert_eq!(
        divide(&many, &options(false), "m", 1)[0].request.sampling.n,
        1024
    );
}

/// Every sampling field is sent, because unset ones come from the model's own defaults.
#[test]
fn request_sets_every_sampling_field() -> Tested {
    let requests = divide(&prompts(), &options(false), "m", 1);
    let sent = serde_json::to_value(&requests[0].request)?;
    for (field, value) in [
        ("temperature", json!(1.0)),
        ("top_p", json!(1.0)),
        ("top_k", json!(0)),
        ("min_p", json!(0.0)),
        ("repetition_penalty", json!(1.0)),
        ("max_tokens", json!(3)),
        ("stop_token_ids", json!([5])),
        ("logprobs", json!(0)),
        ("return_token_ids", json!(true)),
    ] {
        assert_eq!(sent[field], value, "{field}");
    }
    Ok(())
}

/// Returns a right answer to the first request of [`prompts`].
fn answer(request: &CompletionRequest) -> CompletionResponse {
    let choice = |index| Choice {
        index,
        finish_reason: Some(if index == 0 { "stop" } else { "length" }.to_owned()),
        token_ids: Some(if index == 0 {
            vec![7, 5]
        } else {
            vec![7, 7, 7]
        }),
        prompt_token_ids: Some(vec![1]),
        logprobs: Some(LogProbs {
            token_logprobs: vec![Some(-0.5); if index == 0 { 2 } else { 3 }],
            ..LogProbs::default()
        }),
        ..Choice::default()
    };
    CompletionResponse {
        id: String::new(),
        object: String::new(),
        created: 0,
        model: request.model.clone(),
        // The order of the choices does not matter.
        choices: vec![choice(2), choice(0), choice(1)],
        usage: Usage::default(),
    }
}

fn read(change: impl FnOnce(&mut CompletionResponse)) -> Result<Vec<Completion>, String> {
    let requests = divide(&prompts(), &options(false), "m", 1);
    let mut answer = answer(&requests[0].request);
    change(&mut answer);
    completions(&requests[0], &prompts(), 8, answer)
}

#[test]
fn only_answers_that_can_be_trained_on_are_accepted() {
    let found = read(|_| ()).expect("a right answer");
    let first = Completion {
        ids: vec![7, 5],
        logps: vec![-0.5; 2],
        stopped: true,
    };
    assert!(found.len() == 3 && found[0] == first && !found[1].stopped);
    let refused = |change: fn(&mut CompletionResponse), word: &str| {
        let reason = read(change).expect_err(word);
        assert!(reason.contains(word), "{reason}");
    };
    refused(
        |a| a.model = "sentinel-v3".to_owned(),
        "model m was asked for, and sentinel-v3",
    );
    refused(
        |a| a.choices[0].prompt_token_ids = Some(vec![1, 1]),
        "not the tokens that were sent",
    );
    refused(
        |a| a.choices[0].prompt_token_ids = None,
        "no prompt_token_ids",
    );
    refused(|a| a.choices[0].token_ids = None, "no token_ids");
    refused(|a| a.choices[0].token_ids = Some(Vec::new()), "0 tokens");
    refused(|a| a.choices[0].token_ids = Some(vec![7; 4]), "4 tokens");
    refused(
        |a| a.choices[0].token_ids = Some(vec![7, 8, 7]),
        "token 8 is outside",
    );
    refused(
        |a| a.choices[0].token_ids = Some(vec![7, 7]),
        "2 tokens have 3 log-prob",
    );
    refused(|a| a.choices[0].logprobs = None, "no logprobs");
    refused(
        |a| a.choices[1].finish_reason = Some("abort".to_owned()),
        "abort",
    );
    refused(
        |a| a.choices[0].finish_reason = Some("stop".to_owned()),
        "ended with token 7",
    );
    refused(
        |a| a.choices[0].index = 1,
        "completion 1 of 3 is there twice",
    );
    refused(|a| a.choices[0].index = 9, "completion 9 of 3");
    refused(|a| a.choices.truncate(2), "completion 1 of 3 is missing");
    for wrong in [None, Some(f64::NAN), Some(f64::NEG_INFINITY)] {
        let set = |a: &mut CompletionResponse| {
            if let Some(logprobs) = &mut a.choices[0].logprobs {
                logprobs.token_logprobs[1] = wrong;
            }
        };
        let reason = read(set).expect_err("not finite");
        assert!(reason.contains("token 1 is not finite"), "{reason}");
    }
}

#[test]
fn options_are_checked_before_a_server_is_asked() {
    let with = |addresses: &str| RolloutEngineArgs {
        rollouts: Some(addresses.to_owned()),
        ..RolloutEngineArgs::default()
    };
    let refused = |args: &RolloutEngineArgs, full: bool, word: &str| {
        let reason = args.check(full).expect_err(word).to_string();
        assert!(reason.contains(word), "{reason}");
    };
    assert!(with("http://a:1, http://b:1/").check(false).is_ok());
    assert_eq!(
        with("http://a:1, http://b:1/").addresses(),
        ["http://a:1", "http://b:1"]
    );
    refused(&with("http://a:1"), true, "only adapters");
    refused(&with(" ,"), false, "names no server");
    refused(&with("a:1"), false, "a:1");
    refused(&with("http://a:1,http://a:1/"), false, "http://a:1 twice");
    for every in [0, 5] {
        let args = RolloutEngineArgs {
            rollout_sync_every: Some(every),
            ..with("http://a:1")
        };
        refused(&args, false, "from 1 to 4");
    }
    let alone = RolloutEngineArgs {
        rollout_timeout: Some(1),
        ..RolloutEngineArgs::default()
    };
    refused(&alone, false, "without --rollouts");
    assert!(RolloutEngineArgs::default().check(true).is_ok());
}

/// Returns an asked replica at `address` that waits 200 ms for an answer.
fn replica(address: &str) -> Result<Replica, super::RolloutEngineError> {
    Replica::new(address, Duration::from_millis(200))
}

#[test]
fn dead_and_slow_servers_are_named() -> Tested {
    let request = &divide(&prompts(), &options(false), "m", 1)[0].request;
    let slow = Loopback::start(|_, _| Reply::Silence)?;
    let message = replica(&slow.url)?
        .complete(request)
        .expect_err("slow")
        .to_string();
    assert!(
        message.contains(&slow.url) && message.contains("no complete answer within"),
        "{message}"
    );
    let url = slow.url.clone();
    drop(slow);
    let message = replica(&url)?
        .complete(request)
        .expect_err("dead")
        .to_string();
    assert!(
        message.starts_with(&format!("rollout server {url}")),
        "{message}"
    );
    let refusing = Loopback::start(|_, _| Reply::status(404, "The model `m` does not exist."))?;
    let message = replica(&refusing.url)?
        .complete(request)
        .expect_err("unknown")
        .to_string();
    assert!(
        message.contains("404") && message.contains("does not exist"),
        "{message}"
    );
    Ok(())
}

/// Adapters that an earlier process of the same run left behind are unloaded, those of others stay.
#[test]
fn connecting_checks_servers_and_unloads_what_the_run_left() -> Tested {
    let folder = tempfile::tempdir()?;
    let args = |url: &str| RolloutEngineArgs {
        rollouts: Some(url.to_owned()),
        ..RolloutEngineArgs::default()
    };
    let models = |ids: Vec<String>| {
        let data: Vec<_> = ids
            .iter()
            .map(|id| json!({"id": id, "max_model_len": 64}))
            .collect();
        Reply::json(&json!({"object": "list", "data": data}))
    };
    let own = folder.path().join("rollouts");
    let id = new_run_id(folder.path());
    write_run_id(&own, &id)?;
    let left = format!("sentinel-{id}-1f-v3");
    let other = "sentinel-00000000-1f-v3".to_owned();
    let ids = vec!["base".to_owned(), left.clone(), other];
    let server = Loopback::start(move |_, request| match request.target.as_str() {
        "/v1/models" => models(ids.clone()),
        _ => Reply::status(200, "Success"),
    })?;
    RolloutEngine::connect(&args(&server.url), folder.path(), 64)?;
    let received = server.received();
    let unloaded: Vec<_> = received.iter().filter(|one| one.method == "POST").collect();
    assert_eq!(unloaded.len(), 1);
    let body: serde_json::Value = serde_json::from_slice(&unloaded[0].body)?;
    assert_eq!(
        (&*unloaded[0].target, &body),
        ("/v1/unload_lora_adapter", &json!({"lora_name": left}))
    );
    assert_eq!(read_run_id(&own)?, Some(id.clone()));
    assert_ne!(
        new_run_id(folder.path()),
        id,
        "another run at the same path"
    );
    std::fs::write(own.join("run-id"), "../x")?;
    let broken = read_run_id(&own).expect_err("no id");
    assert!(broken.to_string().contains("run-id"), "{broken}");
    let elsewhere = folder.path().join("elsewhere");
    let short = RolloutEngine::connect(&args(&server.url), &elsewhere, 65);
    assert!(
        !elsewhere.exists(),
        "a run that did not start leaves no folder"
    );
    let message = short.expect_err("too short").to_string();
    assert!(
        message.contains(&server.url) && message.contains("fewer than --max-length 65"),
        "{message}"
    );
    Ok(())
}

/// A server of an earlier version is named, one that is none of vLLM's is not asked again.
#[test]
fn version_of_a_server_is_checked() -> Tested {
    let folder = tempfile::tempdir()?;
    let connect = |version: Option<&'static str>| {
        let server = Loopback::start(move |_, request| match (&*request.target, version) {
            ("/v1/models", _) => Reply::json(&json!({"object": "list", "data": []})),
            ("/version", Some("403")) => Reply::status(403, "only /v1"),
            ("/version", Some(version)) => Reply::json(&json!({"version": version})),
            _ => Reply::status(404, "Not Found"),
        })?;
        let args = RolloutEngineArgs {
            rollouts: Some(server.url.clone()),
            ..RolloutEngineArgs::default()
        };
        let engine = RolloutEngine::connect(&args, folder.path(), 64)?;
        Ok::<_, Box<dyn std::error::Error>>(engine.warnings)
    };
    for version in [
        None,
        Some("403"),
        Some("0.33.0"),
        Some("0.40.1rc2"),
        Some("1.0"),
        Some("dev"),
    ] {
        assert!(connect(version)?.is_empty(), "{version:?}");
    }
    for version in ["0.9.2", "0.32.1.dev3+g1a2b"] {
        let warnings = connect(Some(version))?;
        assert!(
            warnings.len() == 1 && warnings[0].contains(version),
            "{warnings:?}"
        );
    }
    Ok(())
}

/// A server that shares its GPU sleeps between generation and the next load, and is awake at the end.
#[test]
fn servers_sleep_while_the_run_trains() -> Tested {
    let folder = tempfile::tempdir()?;
    let server = Loopback::start(|_, request| match &*request.target {
        "/v1/models" => Reply::json(&json!({"object": "list", "data": []})),
        "/version" => Reply::status(404, "Not Found"),
        _ => Reply::status(200, "Success"),
    })?;
    let args = RolloutEngineArgs {
        rollouts: Some(server.url.clone()),
        rollout_sleep: true,
        ..RolloutEngineArgs::default()
    };
    let mut engine = RolloutEngine::connect(&args, folder.path(), 64)?;
    engine.sleep()?;
    engine.sleep()?;
    engine.wake_up()?;
    engine.sleep()?;
    engine.close();
    let received = server.received();
    let posts = received.iter().filter(|one| one.method == "POST");
    let routes: Vec<&str> = posts.map(|one| &*one.target).collect();
    assert_eq!(
        routes,
        [
            "/wake_up",
            "/sleep?level=1",
            "/wake_up",
            "/sleep?level=1",
            "/wake_up"
        ]
    );

    let unable = Loopback::start(|_, _| Reply::status(404, "Not Found"))?;
    let args = RolloutEngineArgs {
        rollouts: Some(unable.url.clone()),
        ..args
    };
    let error = RolloutEngine::connect(&args, folder.path(), 64).expect_err("cannot sleep");
    let message = error.to_string();
    assert!(
        message.contains(&unable.url) && message.contains("VLLM_SERVER_DEV_MODE=1"),
        "{message}"
    );
    let alone = RolloutEngineArgs {
        rollout_sleep: true,
        ..RolloutEngineArgs::default()
    };
    assert!(alone.check(false).is_err());
    Ok(())
}
