//! Broken files that the visitor drops.

mod common;

use common::{ask, deferred, drop_file, problems, repository};
use sentinel_env::trust::TrustEnv;
use sentinel_page_engine::Engine;
use sentinel_page_engine::world::weights_path;
use sentinel_page_protocol::{DeferredReply, Request};
use sentinel_policy::nn::Published;

/// Checks that no content makes the engine panic, and that a problem names the file.
#[test]
fn broken_files_are_named_with_their_place() {
    let mut engine = Engine::<TrustEnv>::default();
    let model = repository("replays/grpo/model.safetensors");
    let log = repository("replays/grpo/trainer_state.json");
    let evaluation = repository("docs/results/outputs/eval_post.json");
    let replay = repository("replays/bayes-independent.jsonl");
    for whole in [&model, &log, &evaluation, &replay] {
        for part in 0..40 {
            let cut = &whole[..whole.len().min(100_000) * part / 40];
            let replies = drop_file(&mut engine, "cut.bin", cut);
            let named = problems(&replies).iter().all(|text| text.contains("cut"));
            assert!(named && !replies.is_empty(), "{replies:?}");
        }
        // Some bytes are changed.
        for at in (0..whole.len().min(3000)).step_by(97) {
            let mut changed = whole[..whole.len().min(50_000)].to_vec();
            changed[at] = changed[at].wrapping_add(1);
            drop_file(&mut engine, "changed.json", &changed);
        }
    }
    let replace = |from: &str, to: &str| {
        let at = model
            .windows(from.len())
            .position(|part| part == from.as_bytes());
        let mut changed = model.clone();
        let at = at.expect("the header says it");
        changed[at..at + to.len()].copy_from_slice(to.as_bytes());
        changed
    };
    let shape = {
        let text = String::from_utf8_lossy(&model[8..2000]).into_owned();
        let (_, rest) = text.split_once("\"shape\":[").expect("a shape");
        format!("\"shape\":[{}]", rest.split(']').next().expect("numbers"))
    };
    let other = shape.replace(['2', '3', '4', '5', '6', '7', '8', '9'], "1");
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (replace(&shape, &other), "parameter "),
        (
            replace("\\\"world\\\":\\\"trust\\\"", "\\\"world\\\":\\\"trusx\\\""),
            "trusx",
        ),
        (b"garbage".to_vec(), "not a safetensors file"),
    ];
    for (content, part) in cases {
        let replies = drop_file(&mut engine, "my.safetensors", &content);
        let text = problems(&replies).join(" ");
        assert!(
            text.contains("my.safetensors") && text.contains(part),
            "{part}: {text}"
        );
    }
    let version = replace_version(&model);
    let replies = drop_file(&mut engine, "old.safetensors", &version);
    let text = problems(&replies).join(" ");
    assert!(
        text.contains("old.safetensors") && text.contains("version"),
        "{text}"
    );
    let mut lm = Vec::new();
    let header = br#"{"model.layers.0.self_attn.q_proj.weight":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}"#;
    lm.extend_from_slice(&(header.len() as u64).to_le_bytes());
    lm.extend_from_slice(header);
    let replies = drop_file(&mut engine, "model.safetensors", &lm);
    assert!(
        problems(&replies).join(" ").contains("language model"),
        "{replies:?}"
    );
    let mut lines = replay;
    lines.truncate(2000);
    let replies = drop_file(&mut engine, "my.jsonl", &lines);
    assert!(
        problems(&replies).join(" ").contains("my.jsonl, line "),
        "{replies:?}"
    );
}

/// Lines with the same fault are named together, and a file without any other line in one sentence.
#[test]
fn equal_faults_of_a_replay_are_one_sentence() {
    let replay = repository("replays/bayes-independent.jsonl");
    let replay = String::from_utf8(replay).expect("text");
    let rows: Vec<&str> = replay.lines().take(30).collect();
    let mars = |row: &&str| row.replacen('{', "{\"world\":\"mars\",", 1);
    let mars: Vec<String> = rows.iter().map(mars).collect();
    let mut engine = Engine::<TrustEnv>::default();
    let replies = drop_file(&mut engine, "mars.jsonl", mars.join("\n").as_bytes());
    let sentences = problems(&replies);
    assert_eq!(sentences.len(), 1, "{sentences:?}");
    let start = "mars.jsonl has no row that can be played: line 1 and 29 other lines: the row is of world mars";
    assert!(sentences[0].starts_with(start), "{sentences:?}");
    // The other rows of a file are played.
    let mixed = format!("{}\n{}\nno row", mars.join("\n"), rows.join("\n"));
    let replies = drop_file(&mut engine, "mixed.jsonl", mixed.as_bytes());
    let sentences = problems(&replies);
    let [of_mars, no_row] = &sentences[..] else {
        panic!("{sentences:?}");
    };
    assert!(
        of_mars.starts_with("mixed.jsonl, line 1 and 29 other lines: the row is of world mars")
    );
    assert!(no_row.starts_with("mixed.jsonl, line 61: not a JSON object"));
    assert!(
        deferred(&replies)
            .iter()
            .any(|reply| matches!(reply, DeferredReply::Opened(_)))
    );
}

/// The page learns of every file whether another engine may need it, before it shows the file.
#[test]
fn every_file_is_answered_with_the_player_that_it_is() {
    let cases = [
        ("m.safetensors", "replays/grpo/model.safetensors", "model:m"),
        ("r.jsonl", "replays/bayes-independent.jsonl", "replay:r"),
        ("e.json", "docs/results/outputs/eval_post.json", ""),
        ("trainer_state.json", "replays/grpo/trainer_state.json", ""),
        ("page.png", "replays/manifest.json", ""),
    ];
    for (name, path, expected) in cases {
        let mut engine = Engine::<TrustEnv>::default();
        let content = repository(path);
        let dropped = Request::File {
            name: name.to_owned(),
            content: Ok(content.clone()),
            dropped: true,
        };
        let replies = deferred(&ask(&mut engine, dropped));
        let handled = replies.iter().position(|reply| {
            let found = DeferredReply::FileHandled {
                world: "trust".to_owned(),
                name: name.to_owned(),
                player: expected.to_owned(),
            };
            *reply == found
        });
        let opened = replies.iter().position(|reply| match reply {
            DeferredReply::Opened(episode) => episode.player == expected,
            _ => false,
        });
        assert_eq!(
            opened,
            handled.map(|at| at + 1).filter(|_| !expected.is_empty())
        );
        assert!(handled.is_some(), "{name}: {replies:?}");
        // A file that is lent has been answered by another engine.
        let name = name.to_owned();
        assert_eq!(
            deferred(&ask(&mut engine, Request::Lend { name, content })),
            []
        );
    }
}

/// Only the beginning of a long file is searched for a row.
#[test]
fn long_files_without_a_row_are_refused_early() {
    let mut engine = Engine::<TrustEnv>::default();
    let junk = "no row at all\n".repeat(50_000);
    let replies = drop_file(&mut engine, "junk.jsonl", junk.as_bytes());
    let sentences = problems(&replies);
    assert_eq!(sentences.len(), 1, "{sentences:?}");
    // The lines after the first thousand were not read.
    let start = "junk.jsonl has no row that can be played at its beginning: line 1 and 999 other lines: not a JSON object";
    assert!(sentences[0].starts_with(start), "{sentences:?}");
    // One row at the beginning is enough, and a short file is read whole.
    let replay = repository("replays/bayes-independent.jsonl");
    let row = replay.split(|byte| *byte == b'\n').next().expect("a row");
    for content in [
        [&b"no row\n"[..], row, b"\n", junk.as_bytes()].concat(),
        [&b"no row\n".repeat(900)[..], row].concat(),
    ] {
        let replies = drop_file(&mut engine, "one.jsonl", &content);
        assert!(
            deferred(&replies)
                .iter()
                .any(|reply| matches!(reply, DeferredReply::Opened(_)))
        );
    }
}

/// A file of another kind is named in one sentence, and nothing else is said about it.
#[test]
fn files_of_another_kind_are_named_in_one_sentence() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:17600954\nsize 793297\n";
    let page = "<!doctype html><html><head><title>401</title></head></html>";
    let array = r#"[{"task_type": "task1", "seed": 0, "step": 0}]"#;
    let pretty = "{\n  \"task_type\": \"task1\",\n  \"seed\": 0\n}\n";
    let utf16: Vec<u8> = "\u{feff}{}"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let mut engine = Engine::<TrustEnv>::default();
    for (name, content, part) in [
        ("model.safetensors", pointer.as_bytes(), "git lfs pull"),
        (
            "adapter_model.safetensors",
            pointer.as_bytes(),
            "git lfs pull",
        ),
        ("my.jsonl", pointer.as_bytes(), "git lfs pull"),
        ("model.safetensors", page.as_bytes(), "a web page"),
        ("my.jsonl", array.as_bytes(), "one row per line"),
        ("my.json", array.as_bytes(), "one row per line"),
        ("my.jsonl", pretty.as_bytes(), "one row per line"),
        ("my.jsonl", &utf16, "UTF-8"),
    ] {
        let replies = drop_file(&mut engine, name, content);
        let sentences = problems(&replies);
        assert!(
            sentences.len() == 1
                && sentences[0].starts_with(&format!("{name} is "))
                && sentences[0].contains(part),
            "{sentences:?}"
        );
    }
    // The weights that the page fetches are named too.
    let fetched = Request::File {
        name: weights_path(TrustEnv::MODELS[0]),
        content: Ok(pointer.as_bytes().to_vec()),
        dropped: false,
    };
    let sentences = problems(&ask(&mut engine, fetched));
    assert!(sentences[0].contains("git-lfs pointer"), "{sentences:?}");
}

/// Returns a model whose features have a version that this build does not compute.
fn replace_version(model: &[u8]) -> Vec<u8> {
    let length = u64::from_le_bytes(model[..8].try_into().expect("eight bytes")) as usize;
    let header = std::str::from_utf8(&model[8..8 + length]).expect("text");
    let key = ["feature_version\\\":", "schema\\\":", "version\\\":"];
    let key = key
        .into_iter()
        .find(|key| header.contains(key))
        .expect("a version in the header");
    let at = header.find(key).expect("the key") + key.len();
    let mut changed = model.to_vec();
    changed[8 + at] = b'9';
    changed
}

/// Weights may be finite and yet too large to compute with. Such a model is refused, so that nothing
/// stands in for its answers.
#[test]
fn model_whose_weights_overflow_is_refused() {
    let mut engine = Engine::<TrustEnv>::default();
    let mut model = repository("replays/grpo/model.safetensors");
    let length = u64::from_le_bytes(model[..8].try_into().expect("eight bytes"));
    let start = 8 + usize::try_from(length).expect("a short header");
    for weight in model[start..].chunks_exact_mut(4) {
        weight.copy_from_slice(&1e30_f32.to_le_bytes());
    }
    let replies = drop_file(&mut engine, "huge.safetensors", &model);
    let text = problems(&replies).join(" ");
    assert!(text.contains("huge.safetensors is not played"), "{text}");
}
