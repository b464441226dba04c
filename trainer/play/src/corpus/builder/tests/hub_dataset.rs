//! Datasets of the Hub, as the API of the dataset viewer gives them.

use serde_json::{Value, json};

use super::super::{BuildConfig, Refusal, SourceName, SourceStatus};
use super::{SECRET, Tested, built, failure, rows};
use sentinel_testkit::loopback::{Loopback, Received, Reply};

/// Returns the answer of a server with one dataset of `total` rows, made by `row`.
fn serve(request: &Received, total: u64, row: impl Fn(u64) -> Value) -> Reply {
    let number = |name: &str| request.parameter(name).and_then(|text| text.parse().ok());
    match request.target.split('?').next().unwrap_or_default() {
        "/splits" => Reply::json(&json!({"splits": [
            {"dataset": "a/b", "config": "default", "split": "test"},
            {"dataset": "a/b", "config": "default", "split": "train"},
        ], "pending": [], "failed": []})),
        "/api/datasets/a/b" => Reply::json(&json!({"id": "a/b", "cardData": {"license": "mit"}})),
        "/rows" => {
            let offset: u64 = number("offset").unwrap_or(0);
            let length: u64 = number("length").unwrap_or(0);
            assert!(length <= 100, "the server gives at most 100 rows");
            let rows = (offset..total.min(offset + length))
                .map(|n| json!({"row_idx": n, "row": row(n), "truncated_cells": []}));
            Reply::json(&json!({
                "features": [],
                "rows": rows.collect::<Vec<_>>(),
                "num_rows_total": total,
                "num_rows_per_page": 100,
                "partial": false,
            }))
        }
        _ => Reply::status(404, "no such page"),
    }
}

fn question(n: u64) -> Value {
    json!({"instruction": format!("Question {n}?"), "context": "Of course.", "response": "Yes.",
        "category": "qa"})
}

fn config(folder: &tempfile::TempDir, server: &Loopback) -> BuildConfig {
    BuildConfig {
        with_hf: Some("a/b".to_owned()),
        hf_endpoint: server.url.clone(),
        ..BuildConfig::new(folder.path().join("corpus"))
    }
}

#[test]
fn hf_pages_are_read_to_row_limit_with_retries() -> Tested {
    let server = Loopback::start(|number, request| match number {
        // The second page is refused once, and its repetition is broken.
        3 => Reply::status(429, "slow down").header("retry-after", "3"),
        4 => Reply::Broken,
        _ => serve(request, 1000, question),
    })?;
    let folder = tempfile::tempdir()?;
    let mut config = config(&folder, &server);
    config.max_rows = Some(250);
    let summary = built(&config, &server.url)?;
    let report = &summary.sources[&SourceName::Hf];
    assert_eq!(
        (report.status, report.read, report.rows),
        (SourceStatus::Used, 250, 250)
    );
    assert_eq!(report.licenses.get("mit"), Some(&250));
    assert_eq!(report.from.as_deref(), Some("a/b"));
    let asked: Vec<_> = (server.received().iter())
        .filter(|request| request.target.starts_with("/rows"))
        .map(|request| (request.parameter("offset"), request.parameter("length")))
        .collect();
    let pair = |offset: &str, length: &str| (Some(offset.to_owned()), Some(length.to_owned()));
    let second = pair("100", "100");
    let expected = [
        pair("0", "100"),
        second.clone(),
        second.clone(),
        second,
        pair("200", "50"),
    ];
    assert_eq!(asked, expected);
    let is_train = |request: &Received| {
        let [dataset, config, split] =
            ["dataset", "config", "split"].map(|name| request.parameter(name));
        (dataset.as_deref(), config.as_deref(), split.as_deref())
            == (Some("a/b"), Some("default"), Some("train"))
    };
    assert!(server.received().iter().skip(2).all(is_train));
    let (values, examples) = rows(&config.output_dir)?;
    assert_eq!(examples[7].prompt.question(), "Question 7?\n\nOf course.");
    assert_eq!(examples[7].completion, "Yes.");
    assert_eq!(
        (&values[7]["row"], &values[7]["license"]),
        (&json!(7), &json!("mit"))
    );
    let url = values[7]["url"].as_str().unwrap_or_default();
    assert!(url.contains("/rows?dataset=a%2Fb&config=default&split=train&offset=7&length=1"));
    Ok(())
}

#[test]
fn hf_token_is_sent_but_never_written_or_shown() -> Tested {
    let server = Loopback::start(|_, request| match request.header("authorization") {
        Some("Bearer hf_secret") if request.target.starts_with("/rows") => {
            Reply::status(401, "bad token hf_secret")
        }
        _ => serve(request, 10, question),
    })?;
    let folder = tempfile::tempdir()?;
    let config = config(&folder, &server);
    let message = failure(&config, &server.url)?;
    assert!(
        message.contains("answered 401: bad token ***; check the dataset's name"),
        "{message}"
    );
    assert!(
        server
            .received()
            .iter()
            .all(|request| request.header("authorization").is_some())
    );

    let server = Loopback::start(|_, request| serve(request, 10, question))?;
    let config = BuildConfig {
        hf_endpoint: server.url.clone(),
        ..config
    };
    built(&config, &server.url)?;
    for name in super::entries(&config.output_dir)? {
        let text = std::fs::read_to_string(config.output_dir.join(&name))?;
        assert!(!text.contains(SECRET), "{name}");
    }
    Ok(())
}

#[test]
fn unusable_hf_rows_are_counted_by_reason() -> Tested {
    let server = Loopback::start(|_, request| {
        let reply = serve(request, 6, |n| match n {
            0 => json!({"prompt": "Kept?", "completion": "Yes."}),
            1 => json!({"prompt": "Empty?", "completion": " "}),
            2 => json!({"prompt": null, "completion": "No question."}),
            3 => json!({"prompt": "Test seed?", "completion": "a", "world": "trust", "seed": 7}),
            4 => json!({"prompt": "Is a pde5 inhibitor safe?", "completion": "No."}),
            _ => json!({"prompt": [{"role": "user", "content": "Chat?"}],
                "completion": [{"role": "assistant", "content": "Also kept."}]}),
        });
        let Reply::Answer {
            status,
            headers,
            body,
        } = reply
        else {
            return reply;
        };
        // Row 5 stays whole, row 0 is cut in a repetition of it.
        let text = String::from_utf8_lossy(&body).replacen(
            "\"rows\":[",
            "\"rows\":[{\"row_idx\":9,\"row\":{\"prompt\":\"Cut\",\"completion\":\"o\"},\
             \"truncated_cells\":[\"prompt\"]},",
            1,
        );
        Reply::Answer {
            status,
            headers,
            body: text.into_bytes(),
        }
    })?;
    let folder = tempfile::tempdir()?;
    let config = config(&folder, &server);
    let report = &built(&config, &server.url)?.sources[&SourceName::Hf];
    let expected = [
        (Refusal::HeldOutArchetype, 1),
        (Refusal::EvaluationSeed, 1),
        (Refusal::Incomplete, 2),
        (Refusal::Truncated, 1),
    ];
    assert_eq!(report.refused, expected.into());
    assert_eq!((report.read, report.rows), (7, 2));
    let (_, examples) = rows(&config.output_dir)?;
    let answers: Vec<&str> = examples.iter().map(|e| e.completion.as_str()).collect();
    assert_eq!(answers, ["Yes.", "Also kept."]);
    Ok(())
}

#[test]
fn unknown_hf_columns_error_lists_columns() -> Tested {
    let server = Loopback::start(|_, request| {
        serve(
            request,
            3,
            |n| json!({"frage": format!("Frage {n}"), "antwort": "Ja"}),
        )
    })?;
    let folder = tempfile::tempdir()?;
    let mut config = config(&folder, &server);
    let message = failure(&config, &server.url)?;
    assert!(
        message.contains("source hf: a/b: its columns are antwort, frage"),
        "{message}"
    );
    assert!(message.contains("--hf-columns"), "{message}");
    config.hf_columns = Some(("frage".to_owned(), "fehlt".to_owned()));
    assert!(failure(&config, &server.url)?.contains("its columns are"));
    config.hf_columns = Some(("frage".to_owned(), "antwort".to_owned()));
    assert_eq!(built(&config, &server.url)?.sft.rows, 3);
    Ok(())
}

#[test]
fn missing_hf_split_error_lists_splits() -> Tested {
    let server = Loopback::start(|_, request| serve(request, 3, question))?;
    let folder = tempfile::tempdir()?;
    let mut config = config(&folder, &server);
    config.with_hf = Some("a/b:default:dev".to_owned());
    // A split that is named in full is read as it is.
    assert_eq!(built(&config, &server.url)?.sft.rows, 3);
    config.output_dir = folder.path().join("other");
    config.with_hf = Some("a/b:small".to_owned());
    let message = failure(&config, &server.url)?;
    assert!(
        message.contains("no split train in subset \"small\""),
        "{message}"
    );
    assert!(
        message.contains("a/b:default:test, a/b:default:train"),
        "{message}"
    );
    Ok(())
}

#[test]
fn hf_dataset_without_license_needs_license_option() -> Tested {
    let server = Loopback::start(|_, request| match request.target.as_str() {
        "/api/datasets/a/b" => Reply::json(&json!({"tags": ["license:unknown"]})),
        _ => serve(request, 3, question),
    })?;
    let folder = tempfile::tempdir()?;
    let mut config = config(&folder, &server);
    let message = failure(&config, &server.url)?;
    assert!(
        message.contains("a/b states no license: name it with --license hf=ID"),
        "{message}"
    );
    let license = "hf=cc-by-4.0";
    config = with_license(config, license)?;
    let summary = built(&config, &server.url)?;
    assert_eq!(summary.licenses.get("cc-by-4.0"), Some(&3));
    let command = summary.provenance.command.unwrap_or_default();
    assert!(command.contains("--license hf=cc-by-4.0") && command.contains("--with-hf a/b"));
    Ok(())
}

/// Returns a configuration with the license that a command line names.
fn with_license(config: BuildConfig, license: &str) -> Result<BuildConfig, clap::Error> {
    use clap::{Args as _, FromArgMatches as _};

    let command = BuildConfig::augment_args(clap::Command::new("build").no_binary_name(true));
    let words = ["--output-dir", "x", "--license", license];
    let parsed = BuildConfig::from_arg_matches(&command.try_get_matches_from(words)?)?;
    Ok(BuildConfig {
        licenses: parsed.licenses,
        ..config
    })
}

#[test]
fn failed_hf_source_ends_build_unless_skipping_is_allowed() -> Tested {
    let folder = tempfile::tempdir()?;
    for (body, expected) in [
        ("{\"rows\": [", "not the expected JSON: EOF"),
        ("{\"rows\": 3}", "not the expected JSON: invalid type"),
        ("{\"rows\": [], \"num_rows_total\": 0}", "a/b has no rows"),
    ] {
        let server =
            Loopback::start(
                move |_, request| match request.target.starts_with("/rows") {
                    true => Reply::status(200, body),
                    false => serve(request, 3, question),
                },
            )?;
        let message = failure(&config(&folder, &server), &server.url)?;
        assert!(message.contains(expected), "{message}");
    }
    let server = Loopback::start(|_, _| Reply::status(500, "oops"))?;
    let mut config = config(&folder, &server);
    let message = failure(&config, &server.url)?;
    assert!(
        message.contains("answered 500, 3 times: oops; leave the source out"),
        "{message}"
    );
    // Without any other source, nothing is left.
    config.skip_failed_sources = true;
    let message = failure(&config, &server.url)?;
    assert!(
        message.contains("no row is left") && message.contains("answered 500"),
        "{message}"
    );
    config.with_local = true;
    let summary = built(&config, &server.url)?;
    let report = &summary.sources[&SourceName::Hf];
    assert_eq!((report.status, report.rows), (SourceStatus::Skipped, 0));
    assert!(
        report
            .reason
            .as_ref()
            .is_some_and(|why| why.contains("answered 500"))
    );
    assert!(
        summary
            .to_string()
            .contains("hf            skipped: GET http://127.0.0.1")
    );
    Ok(())
}
