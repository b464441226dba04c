//! Descriptions and submissions of jobs.

use super::*;

/// The options of a job that trains and evaluates.
const FULL_TRAINING: [&str; 8] = [
    "--mode",
    "train-full",
    "--image",
    "me/sentinel",
    "--lora-rank",
    "4",
    "--epochs",
    "2",
];

#[test]
fn gpu_test_job_needs_no_secret_and_no_option() -> Tested {
    let spec = job(&["--flavor", "t4-small", "--timeout", "45m"], &[])?;
    let value = serde_json::to_value(&spec)?;
    assert_eq!(value["mode"], "gpu-test");
    assert_eq!(value["timeout_seconds"], 2700);
    assert_eq!(value["secrets"], json!([]));
    assert_eq!(value["missing"], json!([]));
    assert!(spec.command[2].starts_with("nvidia-smi"));
    Ok(())
}

#[test]
fn full_training_job_lists_missing_repositories() -> Tested {
    let spec = job(&FULL_TRAINING, &[("HF_NAMESPACE", "us")])?;
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
    let spec = job(&FULL_TRAINING, &variables)?;
    assert!(spec.missing.is_empty());
    assert_eq!(spec.environment["SENTINEL_MODEL_REPO"], "me/a");
    Ok(())
}

#[test]
fn job_without_image_clones_and_builds_the_program() -> Tested {
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
    Ok(())
}

#[test]
fn invalid_job_options_are_refused() {
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
}

#[test]
fn job_submission_sends_token_as_secret() -> Tested {
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
        found.follow_command(),
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
fn job_submission_is_never_retried_after_failure() -> Tested {
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
    let access = HfEnvironment {
        token: Ok(None),
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
