//! Corpora as other tools write them.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use sentinel_trainer::corpus::{parse_example, read_corpus};

fn refused(text: &str, what: &str) {
    let error = parse_example(text, 1).unwrap_err();
    assert!(error.contains(what), "{text}: {error}");
}

/// Libraries of columns write all keys of any row into each one.
#[test]
fn keys_without_a_value_count_as_absent() {
    let columns = r#""tools":null,"images":[],"chat_template_kwargs":{},"image":"""#;
    let turns = r#"{"role":"user","content":"a","name":null,"tool_calls":null},
        {"role":"assistant","content":"b","name":null}"#;
    let text = format!(r#"{{"messages":[{turns}],"prompt":null,{columns}}}"#);
    let example = parse_example(&text.replace('\n', " "), 1).unwrap();
    assert_eq!(example.completion, "b");
    let named = text.replacen("null", r#""Ada""#, 1);
    refused(&named.replace('\n', " "), "turn 1 of messages");
}

#[test]
fn files_of_another_kind_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.jsonl");
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:17600954\nsize 793297\n";
    let utf16 = "{\"prompt\"".encode_utf16().flat_map(u16::to_le_bytes);
    let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(utf16).collect();
    for (bytes, part) in [
        (pointer.as_bytes(), "git lfs pull"),
        (b"<!DOCTYPE html>", "web page"),
        (&utf16, "save it as UTF-8"),
        (b"\xe4", "not UTF-8"),
        (
            b"[\n{\"prompt\": \"a\", \"completion\": \"b\"}\n]",
            "one row per line",
        ),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let error = read_corpus(&path).unwrap_err().to_string();
        assert!(
            error.contains("rows.jsonl line 1") && error.contains(part),
            "{error}"
        );
    }
}
