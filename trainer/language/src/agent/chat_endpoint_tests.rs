//! Endpoints that fail in the ways in which endpoints do.

use sentinel_testkit::loopback::{Loopback, Reply};
use serde_json::{Value, json};

use super::{ChatEndpoint, GenerationArgs};

type Tested = Result<(), Box<dyn std::error::Error>>;

fn said(text: &str) -> Reply {
    Reply::json(&json!({
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
    }))
}

fn endpoint(server: &Loopback, options: &GenerationArgs) -> ChatEndpoint {
    ChatEndpoint::new(&format!("{}/v1/", server.url), "m", options).expect("an endpoint")
}

fn bodies(server: &Loopback) -> Vec<Value> {
    let received = server.received();
    let body = received.iter().map(|one| serde_json::from_slice(&one.body));
    body.collect::<Result<_, _>>().expect("JSON")
}

#[test]
fn request_has_the_fields_of_openai() -> Tested {
    let server = Loopback::start(|_, _| said("yes"))?;
    let asked = endpoint(&server, &GenerationArgs::default());
    assert_eq!(asked.complete("a")?, "yes");
    assert_eq!(
        bodies(&server),
        [
            json!({"model": "m", "messages": [{"role": "user", "content": "a"}], "max_tokens": 192, "temperature": 0.0})
        ]
    );
    assert_eq!(server.received()[0].target, "/v1/chat/completions");
    let usage = asked.usage();
    assert_eq!(
        (usage.requests, usage.prompt_tokens, usage.completion_tokens),
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

/// Models that take no temperature, or call the length otherwise, are asked again without, once.
#[test]
fn fields_that_are_refused_are_left_out() -> Tested {
    let server = Loopback::start(|_, request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let refused = ["max_tokens", "temperature", "seed"];
        match refused.into_iter().find(|field| !body[*field].is_null()) {
            Some(field) => Reply::status(400, &format!("Unsupported parameter: '{field}'")),
            None => said("yes"),
        }
    })?;
    let options = GenerationArgs {
        temperature: Some(1.0),
        ..GenerationArgs::default()
    };
    let asked = endpoint(&server, &options);
    assert_eq!(asked.complete("a")?, "yes");
    assert_eq!(asked.complete("a")?, "yes");
    assert_eq!(
        server.received().len(),
        5,
        "three refusals, then two answers"
    );
    assert_eq!(bodies(&server)[4]["max_completion_tokens"], 192);
    assert_eq!(asked.warnings().len(), 2, "{:?}", asked.warnings());
    Ok(())
}

#[test]
fn temporary_failures_and_half_answers_are_repeated() -> Tested {
    let server = Loopback::start(|number, _| match number {
        0 => Reply::status(429, "slow down").header("Retry-After", "0"),
        1 => Reply::Broken,
        2 => Reply::json(&json!({"choices": []})),
        3 => Reply::status(200, "<html>busy</html>"),
        _ => said("yes"),
    })?;
    let asked = endpoint(&server, &GenerationArgs::default());
    assert_eq!(asked.complete("a")?, "yes");
    assert_eq!(server.received().len(), 5);
    assert_eq!(asked.usage().requests, 1);
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
        let asked = endpoint(&server, &GenerationArgs::default());
        assert_eq!(asked.complete("a")?, text);
        assert_eq!(asked.usage().requests, 1);
    }
    Ok(())
}

#[test]
fn wrong_addresses_and_options_are_refused() {
    let refused = |address: &str, options: &GenerationArgs, word: &str| {
        let error = ChatEndpoint::new(address, "m", options).expect_err(word);
        assert!(error.to_string().contains(word), "{error}");
    };
    refused("localhost:80", &GenerationArgs::default(), "localhost:80");
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
    let whole = ChatEndpoint::new(
        "http://localhost/v1/chat/completions",
        "m",
        &GenerationArgs::default(),
    );
    assert_eq!(
        whole.expect("an endpoint").address(),
        "http://localhost/v1/chat/completions"
    );
}
