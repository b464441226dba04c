//! Drug interactions from an API, and from a document in its place.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use sentinel_base::provenance::Provenance;
use sentinel_http::{HttpClient, HttpConfig};
use sentinel_testkit::loopback::{Loopback, Received, Reply};
use serde_json::{Value, json};

use super::super::{BuildConfig, BuildError, SourceName, SourceStatus, build};
use super::{Tested, built, failure, network, rows};

fn config(folder: &tempfile::TempDir, api: &str) -> BuildConfig {
    BuildConfig {
        with_ddi_api: Some(api.to_owned()),
        ..BuildConfig::new(folder.path().join("corpus"))
    }
}

fn pair(n: u64) -> Value {
    json!({"drugs": [format!("drug {n}"), "aspirin"], "severity": "major",
        "description": format!("They bleed,\n {n} times.")})
}

/// Returns pages of `pairs`, ten each, that link to the next.
fn pages(request: &Received, pairs: &[Value]) -> Reply {
    let page: usize = request
        .parameter("page")
        .and_then(|n| n.parse().ok())
        .unwrap_or(0);
    let items: Vec<&Value> = pairs.iter().skip(page * 10).take(10).collect();
    let next = (page * 10 + 10 < pairs.len()).then(|| format!("/ddi?page={}", page + 1));
    Reply::json(&json!({"results": items, "next": next, "license": "cc0-1.0"}))
}

#[test]
fn api_rows_do_not_depend_on_page_order() -> Tested {
    let folder = tempfile::tempdir()?;
    let mut digests = Vec::new();
    for turn in 0..3 {
        let mut pairs: Vec<Value> = (0..25).map(pair).collect();
        // The names of a pair in another order are the same pair.
        pairs.push(json!({"drugs": ["aspirin", "drug 3"], "severity": "major",
            "description": "They bleed, 3 times."}));
        pairs.rotate_left(turn * 7);
        let server = Loopback::start(move |_, request| pages(request, &pairs))?;
        let mut config = config(&folder, &format!("{}/ddi?api_key=s3cret", server.url));
        config.output_dir = folder.path().join(format!("corpus{turn}"));
        let summary = built(&config, &server.url)?;
        let report = &summary.sources[&SourceName::DdiApi];
        assert_eq!(
            (report.read, report.rows, report.duplicates.exact),
            (26, 25, 1)
        );
        // No token for a server that is not the Hub's.
        let requests = server.received();
        assert!(
            requests.len() == 3 && requests.iter().all(|r| r.header("authorization").is_none())
        );
        let text = std::fs::read_to_string(config.output_dir.join("summary.json"))?;
        assert!(
            text.contains("api_key=***") && !text.contains("s3cret"),
            "{text}"
        );
        let (values, examples) = rows(&config.output_dir)?;
        assert_eq!(values[0]["url"], format!("{}/ddi", server.url));
        let lines = examples
            .iter()
            .map(|e| (e.prompt.question().to_owned(), e.completion.clone()));
        digests.push(lines.collect::<Vec<_>>());
    }
    assert!(digests.iter().all(|digest| *digest == digests[0]));
    let (question, answer) = &digests[0][0];
    let expected = "Reference text, not for patient care. How do aspirin and drug 0 interact?";
    assert_eq!(question, expected);
    assert_eq!(answer, "major: They bleed, 0 times.");
    Ok(())
}

#[test]
fn openfda_labels_are_paged_by_skip_and_total() -> Tested {
    let server = Loopback::start(|_, request| {
        let skip: u64 = request
            .parameter("skip")
            .and_then(|n| n.parse().ok())
            .unwrap_or(0);
        let label = |n: u64| {
            json!({"id": format!("label-{n}"), "drug_interactions": [format!("7 Text {n}")],
                "openfda": {"generic_name": [format!("DRUG {n}")]}})
        };
        let mut results: Vec<Value> = (skip..(skip + 4).min(10)).map(label).collect();
        results.push(json!({"id": "no name", "drug_interactions": ["Text"], "openfda": {}}));
        let counts = json!({"skip": skip, "limit": 5, "total": 11});
        let meta = json!({"license": "https://open.fda.gov/license/", "results": counts});
        Reply::json(&json!({"meta": meta, "results": results}))
    })?;
    let folder = tempfile::tempdir()?;
    let config = config(
        &folder,
        &format!("{}/drug/label.json?search=a:b&limit=5", server.url),
    );
    let summary = built(&config, &server.url)?;
    let report = &summary.sources[&SourceName::DdiApi];
    assert_eq!(
        report.licenses.keys().collect::<Vec<_>>(),
        ["https://open.fda.gov/license/"]
    );
    let skips: Vec<_> = (server.received().iter())
        .map(|request| (request.parameter("skip"), request.parameter("search")))
        .collect();
    let search = || Some("a:b".to_owned());
    let expected = [
        (None, search()),
        (Some("5".to_owned()), search()),
        (Some("10".to_owned()), search()),
    ];
    assert_eq!(skips, expected);
    let (values, examples) = rows(&config.output_dir)?;
    assert_eq!(
        values[0]["url"],
        format!("{}/drug/label.json?search=id:label-0", server.url)
    );
    assert_eq!(examples[0].completion, "7 Text 0");
    assert!(
        examples[0]
            .prompt
            .question()
            .ends_with("a label of DRUG 0 state about interactions?")
    );
    Ok(())
}

#[test]
fn unexpected_api_answer_error_describes_content() -> Tested {
    let folder = tempfile::tempdir()?;
    for (body, expected) in [
        (
            "{\"rows\": [1]}",
            "the answer has no list `results`; its keys are rows",
        ),
        ("7", "neither a list nor an object"),
        (
            "{\"results\": [{\"name\": \"a\"}]}",
            "the keys of the first are name; expected are drugs",
        ),
        ("{\"results\": []}", "/ddi has no rows"),
        ("{\"results\": [", "not the expected JSON"),
        ("<html>", "not the expected JSON"),
        (
            "[{\"drugs\": [\"a\", \"b\"], \"description\": \"c\"}]",
            "states no license: name it with --license ddi_api=ID",
        ),
        (
            "{\"results\": [{\"drugs\": [\"a\", \"b\"], \"description\": \"c\"}], \
             \"license\": \"x\", \"next\": \"https://example.org/ddi\"}",
            "next page is not on the same server",
        ),
        (
            "{\"results\": [{\"drugs\": [\"a\", \"b\"], \"description\": \"c\"}], \
             \"license\": \"x\", \"next\": \"/ddi\"}",
            "lead to each other in a circle",
        ),
    ] {
        let server = Loopback::start(move |_, _| Reply::status(200, body))?;
        let message = failure(
            &config(&folder, &format!("{}/ddi", server.url)),
            &server.url,
        )?;
        assert!(
            message.starts_with("source ddi_api: ") && message.contains(expected),
            "{message}"
        );
    }
    Ok(())
}

#[test]
fn oversized_or_missing_api_answer_is_an_error() -> Tested {
    let folder = tempfile::tempdir()?;
    let server = Loopback::start(|number, _| match number {
        0 => Reply::status(200, &"x".repeat(2000)),
        _ => Reply::Silence,
    })?;
    let mut network = network(&server.url)?;
    let config = config(&folder, &server.url);
    let mut message = |limits: HttpConfig| {
        network.client = HttpClient::new(limits).with_wait(|_| true);
        let error = build(&config, &network, &AtomicBool::new(false), &|| ()).err();
        error.map(|error| error.to_string()).unwrap_or_default()
    };
    let large = message(HttpConfig {
        max_bytes: 1000,
        ..HttpConfig::default()
    });
    assert!(large.contains("more than 1000 bytes"), "{large}");
    let silent = message(HttpConfig {
        timeout: Duration::from_millis(100),
        retries: 1,
        ..HttpConfig::default()
    });
    assert!(
        silent.contains("no complete answer within 0.1 s, 2 times"),
        "{silent}"
    );
    assert!(!config.output_dir.exists());
    Ok(())
}

#[test]
fn document_fallback_replaces_api_and_marks_corpus() -> Tested {
    let server = Loopback::start(|_, request| match request.target.as_str() {
        "/list.jsonl" => {
            let lines: Vec<String> = (0..3)
                .map(|n| {
                    let mut item = pair(n);
                    item["license"] = json!("cc-by-4.0");
                    item["url"] = json!(format!("https://example.org/{n}"));
                    item.to_string()
                })
                .collect();
            Reply::status(200, &lines.join("\n"))
        }
        _ => Reply::status(503, "gone fishing"),
    })?;
    let folder = tempfile::tempdir()?;
    let mut config = config(&folder, &format!("{}/ddi", server.url));
    config.with_web_fallback = Some(format!("{}/list.jsonl", server.url));
    let summary = built(&config, &server.url)?;
    let api = &summary.sources[&SourceName::DdiApi];
    assert_eq!((api.status, api.rows), (SourceStatus::Skipped, 0));
    assert!(
        api.reason
            .as_ref()
            .is_some_and(|why| why.contains("gone fishing"))
    );
    let document = &summary.sources[&SourceName::WebFallback];
    assert_eq!((document.status, document.rows), (SourceStatus::Used, 3));
    assert!(
        document
            .reason
            .as_ref()
            .is_some_and(|why| why.starts_with("in place of http"))
    );
    let (values, examples) = rows(&config.output_dir)?;
    assert!(examples.iter().all(|example| example.fallback));
    assert_eq!(values[2]["url"], "https://example.org/2");
    assert_eq!(summary.provenance.fallbacks.len(), 1);
    // A model that is trained on it inherits the mark.
    let mut inherited = Provenance::new();
    inherited.add_corpus_fallbacks(&config.output_dir.join("sft.jsonl"), 3, 0)?;
    assert_eq!(inherited.fallbacks, summary.provenance.fallbacks);
    Ok(())
}

#[test]
fn document_fallback_is_unused_if_api_answers() -> Tested {
    let server = Loopback::start(|_, request| {
        let pairs: Vec<Value> = (0..3).map(pair).collect();
        pages(request, &pairs)
    })?;
    let folder = tempfile::tempdir()?;
    let mut config = config(&folder, &format!("{}/ddi", server.url));
    config.with_web_fallback = Some(format!("{}/list.jsonl", server.url));
    let summary = built(&config, &server.url)?;
    assert_eq!(server.received().len(), 1);
    let document = &summary.sources[&SourceName::WebFallback];
    assert_eq!(document.reason.as_deref(), Some("the API answered"));
    assert!(!summary.provenance.is_fallback());
    Ok(())
}

#[test]
fn failed_document_fallback_error_names_both_failures() -> Tested {
    let server = Loopback::start(|_, request| match request.target.as_str() {
        "/list" => Reply::status(200, "<html>"),
        _ => Reply::status(404, "no api"),
    })?;
    let folder = tempfile::tempdir()?;
    let mut config = config(&folder, &format!("{}/ddi", server.url));
    config.with_web_fallback = Some(format!("{}/list", server.url));
    let message = failure(&config, &server.url)?;
    assert!(
        message.contains("no api; the document in its place failed too"),
        "{message}"
    );
    assert!(
        message.contains("it is not JSON, and neither is line 1"),
        "{message}"
    );
    Ok(())
}

#[test]
fn offline_build_sends_no_request_and_stop_interrupts() -> Tested {
    let server = Loopback::start(|_, _| Reply::status(500, ""))?;
    let folder = tempfile::tempdir()?;
    let mut network = network(&server.url)?;
    network.is_offline = true;
    let config = config(&folder, &server.url);
    let error = build(&config, &network, &AtomicBool::new(false), &|| ()).err();
    assert!(
        matches!(error, Some(BuildError::Source { .. })),
        "{error:?}"
    );
    assert!(server.received().is_empty());
    // A build that is stopped while it waits is interrupted, and not skipped.
    network.is_offline = false;
    network.client = HttpClient::new(HttpConfig::default()).with_wait(|_| false);
    let config = BuildConfig {
        skip_failed_sources: true,
        with_local: true,
        ..config
    };
    let error = build(&config, &network, &AtomicBool::new(false), &|| ()).err();
    assert!(matches!(error, Some(BuildError::Interrupted)), "{error:?}");
    assert!(!config.output_dir.exists());
    Ok(())
}
