//! Requests to an endpoint, its answers, and its failures.

use sentinel_testkit::loopback::{Loopback, Reply};
use serde_json::{Value, json};

use std::sync::atomic::{AtomicBool, Ordering};

use super::GenerationArgs;
use super::chat_endpoint::ChatEndpoint;

type Tested = Result<(), Box<dyn std::error::Error>>;

fn chat(text: &str) -> Reply {
    Reply::json(&json!({
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
    }))
}

fn endpoint(server: &Loopback, options: &GenerationArgs) -> ChatEndpoint {
    ChatEndpoint::with_key(&format!("{}/v1/", server.url), "m", options, None).expect("an endpoint")
}

fn bodies(server: &Loopback) -> Vec<Value> {
    let received = server.received();
    let body = received.iter().map(|one| serde_json::from_slice(&one.body));
    body.collect::<Result<_, _>>().expect("JSON")
}

#[test]
fn request_has_the_fields_of_openai() -> Tested {
    let server = Loopback::start(|_, _| chat("yes"))?;
    let model = endpoint(&server, &GenerationArgs::default());
    assert_eq!(model.complete("a")?, "yes");
    assert_eq!(
        bodies(&server),
        [
            json!({"model": "m", "messages": [{"role": "user", "content": "a"}], "max_tokens": 192, "temperature": 0.0})
        ]
    );
    assert_eq!(server.received()[0].target, "/v1/chat/completions");
    let usage = model.usage();
    assert_eq!(
        (
            usage.completions,
            usage.prompt_tokens,
            usage.completion_tokens
        ),
        (1, 7, 2)
    );
    // Sampling has a seed.
    let options = GenerationArgs {
        temperature: Some(0.5),
        seed: Some(3),
        ..GenerationArgs::default()
    };
    endpoint(&server, &options).complete("a")?;
    assert_eq!(bodies(&server)[1]["seed"], 3);
    Ok(())
}

/// Models that know no temperature, or call the length otherwise, are asked again without, once.
#[test]
fn unknown_fields_are_left_out() -> Tested {
    let server = Loopback::start(|_, request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let unknown = ["max_tokens", "temperature", "seed"];
        match unknown.into_iter().find(|field| !body[*field].is_null()) {
            Some(field) => Reply::status(400, &format!("Unsupported parameter: '{field}'")),
            None => chat("yes"),
        }
    })?;
    let model = endpoint(&server, &GenerationArgs::default());
    assert_eq!(model.complete("a")?, "yes");
    assert_eq!(model.complete("a")?, "yes");
    // Without a temperature the model samples, so that a seed is sent, and refused as well.
    assert_eq!(
        server.received().len(),
        5,
        "three refusals, then two answers"
    );
    assert_eq!(bodies(&server)[4]["max_completion_tokens"], 192);
    assert_eq!(model.warnings().len(), 2, "{:?}", model.warnings());
    Ok(())
}

/// A value that is refused, and a temperature that was chosen, are errors.
#[test]
fn refused_values_are_errors() -> Tested {
    let chosen = GenerationArgs {
        temperature: Some(3.0),
        ..GenerationArgs::default()
    };
    for (words, options) in [
        ("max_tokens is too large: 192", &GenerationArgs::default()),
        ("temperature must be at most 2", &chosen),
        (
            "Unsupported value: 'temperature' does not support 3",
            &chosen,
        ),
    ] {
        let server = Loopback::start(move |_, _| Reply::status(400, words))?;
        let error = endpoint(&server, options).complete("a").expect_err(words);
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(server.received().len(), 1, "{words}");
    }
    Ok(())
}

/// Answers belong to their prompts, whichever request ends first; a failure ends the batch, and a stopped agent
/// sends nothing.
#[test]
fn prompts_are_answered_in_their_order() -> Tested {
    let server = Loopback::start(|_, request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        match body["messages"][0]["content"].as_str() {
            Some("bad") => Reply::status(400, "a bad prompt"),
            Some(prompt) => chat(&format!("re: {prompt}")),
            None => Reply::Broken,
        }
    })?;
    let model = endpoint(&server, &GenerationArgs::default());
    let prompts: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    let expected: Vec<String> = prompts
        .iter()
        .map(|prompt| format!("re: {prompt}"))
        .collect();
    assert_eq!(model.agent().answer(&prompts)?, expected);
    assert_eq!(model.usage().completions, 20);

    let mut with_failure = prompts.clone();
    with_failure[3] = "bad".to_owned();
    let error = model.agent().answer(&with_failure).expect_err("a failure");
    assert!(error.to_string().contains("a bad prompt"), "{error}");

    let before = server.received().len();
    let stop = AtomicBool::new(false);
    stop.store(true, Ordering::Relaxed);
    let error = model
        .agent()
        .with_stop(&stop)
        .answer(&prompts)
        .expect_err("stopped");
    assert!(error.is_interrupted(), "{error}");
    assert_eq!(server.received().len(), before);
    Ok(())
}

#[test]
fn temporary_failures_and_half_answers_are_repeated() -> Tested {
    let server = Loopback::start(|number, _| match number {
        0 => Reply::status(429, "slow down").header("Retry-After", "0"),
        1 => Reply::Broken,
        2 => Reply::json(&json!({"choices": []})),
        3 => Reply::status(200, "<html>busy</html>"),
        _ => chat("yes"),
    })?;
    let model = endpoint(&server, &GenerationArgs::default());
    assert_eq!(model.complete("a")?, "yes");
    assert_eq!(server.received().len(), 5);
    assert_eq!(model.usage().completions, 1);
    Ok(())
}

#[test]
fn lasting_failures_end_with_their_reason() -> Tested {
    for (reply, words, requests) in [
        (
            Reply::status(401, "no key"),
            "no key was sent: set SENTINEL_API_KEY",
            1,
        ),
        (Reply::status(404, "Not Found"), "mostly ends with /v1", 1),
        (
            Reply::status(400, "the prompt is too long"),
            "the prompt is too long",
            1,
        ),
        (
            Reply::json(&json!({"error": {"message": "no credits"}})),
            "is not that of a chat",
            3,
        ),
        (Reply::json(&json!({"choices": []})), "has no choice", 3),
    ] {
        let server = Loopback::start(move |_, _| reply.clone())?;
        let error = endpoint(&server, &GenerationArgs::default())
            .complete("a")
            .expect_err(words)
            .to_string();
        assert!(
            error.contains(words) && error.contains(&server.url),
            "{error}"
        );
        assert_eq!(server.received().len(), requests, "{words}");
    }
    Ok(())
}

/// A refusal, or thoughts that took all tokens, are no action, but no error either.
#[test]
fn content_can_be_null_or_parts() -> Tested {
    for (content, text) in [
        (json!(null), ""),
        (
            json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
            "ab",
        ),
    ] {
        let answer = json!({"choices": [{"message": {"role": "assistant", "content": content, "refusal": "no"}}]});
        let server = Loopback::start(move |_, _| Reply::json(&answer))?;
        let model = endpoint(&server, &GenerationArgs::default());
        assert_eq!(model.complete("a")?, text);
        assert_eq!(model.usage().completions, 1);
    }
    Ok(())
}

#[test]
fn wrong_addresses_and_options_are_refused() {
    let refused = |address: &str, options: &GenerationArgs, word: &str| {
        let error = ChatEndpoint::with_key(address, "m", options, None).expect_err(word);
        let message = error.to_string();
        assert!(
            message.contains(word) && !message.contains("SECRET"),
            "{message}"
        );
    };
    refused("localhost:80", &GenerationArgs::default(), "localhost:80");
    for address in [
        "http://localhost/v1?key=SECRET",
        "http://localhost/v1#SECRET",
    ] {
        refused(address, &GenerationArgs::default(), "without a query");
    }
    let options = GenerationArgs {
        generation_batch_size: Some(0),
        ..GenerationArgs::default()
    };
    refused("http://localhost", &options, "at least 1");
    let options = GenerationArgs {
        constrained: true,
        ..GenerationArgs::default()
    };
    refused("http://localhost", &options, "constrained");
    let route = "http://localhost/v1/chat/completions";
    let whole = ChatEndpoint::with_key(route, "m", &GenerationArgs::default(), None);
    assert_eq!(whole.expect("an endpoint").address(), route);
}
