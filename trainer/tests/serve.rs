//! `sentinel serve` as a program: its address, its end by a signal, and a start after kill -9.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// Returns the options that choose a free port, unless one is named.
fn free_port(options: &[&str]) -> &'static [&'static str] {
    if options.contains(&"--port") {
        &[]
    } else {
        &["--port", "0"]
    }
}

/// A running server, killed when the test ends.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn start(options: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_sentinel"))
            .arg("serve")
            .args(options)
            .args(free_port(options))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        let mut address = String::new();
        let out = child.stdout.take().expect("a pipe");
        BufReader::new(out).read_line(&mut address).expect("a line");
        let address = address.trim().to_owned();
        assert!(address.starts_with("http://"), "{address:?}");
        Self { child, address }
    }

    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .build()
            .into();
        let url = format!("{}{path}", self.address);
        let mut answer = agent
            .post(url)
            .content_type("application/json")
            .send(body.to_string())
            .expect("an answer");
        let text = answer.body_mut().read_to_string().expect("a text");
        let body = serde_json::from_str(&text).expect("JSON");
        (answer.status().as_u16(), body)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn server_starts_again_after_a_kill() {
    let mut first = Serving::start(&[]);
    let (status, reply) = first.post("/reset", &json!({"seed": 3}));
    assert_eq!((status, &reply["done"]), (200, &json!(false)));
    first.child.kill().expect("kills");
    first.child.wait().expect("ends");
    let port = first.address.rsplit(':').next().expect("a port").to_owned();
    let second = Serving::start(&["--port", &port]);
    assert_eq!(second.address, first.address);
    let (_, again) = second.post("/reset", &json!({"seed": 3}));
    assert_eq!(again, reply, "equal seeds give equal observations");
}

#[cfg(unix)]
#[test]
fn signal_ends_the_server_well() {
    let mut serving = Serving::start(&["--world", "cluster"]);
    let id = serving.child.id().to_string();
    let sent = Command::new("kill")
        .args(["-TERM", &id])
        .status()
        .expect("kill");
    assert!(sent.success());
    assert!(serving.child.wait().expect("ends").success());
}

#[test]
fn policies_are_named_or_loaded() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let episode = json!({"episode": {"seed": 100_001, "actions": []}});
    let folder = format!("{root}/replays/grpo");
    for (policy, kind) in [("bayes", "scripted"), (folder.as_str(), "compact")] {
        let serving = Serving::start(&["--policy", policy]);
        let (status, answer) = serving.post("/act", &episode);
        assert_eq!(status, 200, "{answer}");
        assert!(answer["action"]["action_type"].is_string(), "{answer}");
        let url = format!("{}/policy/model_status", serving.address);
        let text = ureq::get(url)
            .call()
            .expect("an answer")
            .body_mut()
            .read_to_string();
        let model: Value = serde_json::from_str(&text.expect("a text")).expect("JSON");
        assert_eq!(model["kind"], kind);
    }
}

/// `--model` serves a language model with adapters below a folder.
#[test]
fn language_model_completes_prompts() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, model) = crate::common::lm::untrained(folder.path());
    let root = folder.path().display().to_string();
    let options = [
        "--model",
        &model,
        "--served-model-name",
        "tiny",
        "--adapter-root",
        &root,
    ];
    let serving = Serving::start(&options);
    let request = json!({"model": "tiny", "prompt": "action", "max_tokens": 3, "temperature": 0, "logprobs": 0});
    let (status, answer) = serving.post("/v1/completions", &request);
    assert_eq!(status, 200, "{answer}");
    let logps = &answer["choices"][0]["logprobs"]["token_logprobs"];
    assert!(logps[0].as_f64().is_some_and(|logp| logp < 0.0), "{answer}");
    // A chat is the completion of the prompt that the chat template makes of it.
    let chat = json!({"model": "tiny", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 3,
        "temperature": 0});
    let (status, answered) = serving.post("/v1/chat/completions", &chat);
    assert_eq!(status, 200, "{answered}");
    let prompt = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n";
    let request = json!({"model": "tiny", "prompt": prompt, "max_tokens": 3, "temperature": 0});
    let (_, completed) = serving.post("/v1/completions", &request);
    let text = &answered["choices"][0]["message"]["content"];
    assert_eq!(
        (text, &answered["usage"]),
        (&completed["choices"][0]["text"], &completed["usage"])
    );
    let unknown = json!({"model": "other", "prompt": "action"});
    let (status, answer) = serving.post("/v1/completions", &unknown);
    assert_eq!(
        (status, &answer["error"]["code"]),
        (404, &json!(404)),
        "{answer}"
    );
}

/// A model behind a server plays as it does in the process of the command.
#[test]
fn endpoint_plays_as_the_model_behind_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (corpus, model) = crate::common::lm::untrained(folder.path());
    let examples = folder.path().join("examples.jsonl");
    let rows = std::fs::read_to_string(corpus).expect("a corpus");
    let first = rows.lines().next().expect("a row");
    std::fs::write(&examples, first).expect("a file");
    let examples = examples.display().to_string();

    let serving = Serving::start(&["--model", &model, "--served-model-name", "tiny"]);
    let url = format!("{}/v1", serving.address);
    let run = |command: &str, options: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_sentinel"))
            .args(command.split_whitespace())
            .args([
                "--world",
                "trust",
                "--task",
                "task1",
                "--max-completion-length",
                "6",
            ])
            .args(["--examples", &examples])
            .args(options)
            .env_remove("SENTINEL_API_KEY")
            .env_remove("OPENAI_API_KEY")
            .output()
            .expect("runs");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        (
            output.status.code(),
            String::from_utf8(output.stdout).expect("a text"),
            error,
        )
    };
    let eval = |options: &[&str]| {
        let (code, printed, error) = run("lm eval --seeds 1000..1003", options);
        assert_eq!(code, Some(0), "{error}");
        serde_json::from_str::<Value>(&printed).expect("JSON")
    };
    let local = eval(&["--model", &model]);
    let remote = eval(&["--model", "tiny", "--endpoint", &url]);
    for key in ["score", "validity", "signals", "tokens", "examples"] {
        assert_eq!(remote[key], local[key], "{key}");
    }
    assert_eq!(remote["usage"]["completion_tokens"], remote["tokens"]);
    assert!(
        remote["usage"]["prompt_tokens"].as_u64() > Some(0),
        "{remote}"
    );
    assert_eq!(
        remote["sentinel"]["endpoint"],
        json!(format!("{url}/chat/completions"))
    );

    // A replay has the same rows, but for the name of the policy.
    let record = |name: &str, options: &[&str]| {
        let out = folder.path().join(name).display().to_string();
        let (code, _, error) = run(&format!("record --seeds 0..2 --out {out}"), options);
        assert_eq!(code, Some(0), "{error}");
        std::fs::read_to_string(out).expect("a replay")
    };
    let local = record("local.jsonl", &["--model", &model]);
    let remote = record("remote.jsonl", &["--model", "tiny", "--endpoint", &url]);
    let name = |text: &str| {
        let row: Value = serde_json::from_str(text.lines().next().expect("a row")).expect("JSON");
        row["model_source"].as_str().expect("a name").to_owned()
    };
    assert!(name(&remote).contains("tiny+1-shot"), "{}", name(&remote));
    assert_eq!(
        remote.replace(&name(&remote), ""),
        local.replace(&name(&local), "")
    );

    // Errors name the endpoint, and options of local models are refused before a request.
    let (code, _, error) = run(
        "lm eval --seeds 1000..1001",
        &["--model", "other", "--endpoint", &url],
    );
    assert_eq!(code, Some(1));
    assert!(
        error.contains("The model `other` does not exist"),
        "{error}"
    );
    let (code, _, error) = run("lm eval --seeds 1000..1001", &["--endpoint", &url]);
    assert!(code != Some(0) && error.contains("--model"), "{error}");
    for option in ["--constrained", "--device=cpu", "--adapter=x"] {
        let options = ["--model", "tiny", "--endpoint", &url, option];
        let (code, _, error) = run("lm eval --seeds 1000..1001", &options);
        assert_eq!(code, Some(1), "{option}");
        assert!(error.contains("left out with --endpoint"), "{error}");
    }
}

#[test]
fn wrong_options_are_errors_with_a_way_out() {
    let output = |options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sentinel"));
        let output = command
            .args(["serve", "--port", "0"])
            .args(options)
            .output()
            .expect("runs");
        assert!(!output.status.success(), "{options:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(output(&["--policy", "oracle"]).contains("hidden state"));
    assert!(output(&["--policy", "nobody"]).contains("bayes"));
    assert!(output(&["--host", "0.0.0.0"]).contains("--token"));
    assert!(output(&["--task", "task9"]).contains("task3"));
    assert!(output(&["--world", "nowhere"]).contains("polyguard"));
    assert!(output(&["--page", "/nowhere"]).contains("--page"));
    assert!(output(&["--model", "/nowhere"]).contains("/nowhere"));
    assert!(output(&["--adapter-root", "/nowhere"]).contains("--model"));
}
