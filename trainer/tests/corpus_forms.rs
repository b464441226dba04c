//! Corpora as other tools write them.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use sentinel_play::corpus::{parse_example, read_corpus};

fn refused(text: &str, what: &str) {
    let error = parse_example(text, 1).unwrap_err();
    assert!(error.contains(what), "{text}: {error}");
}

/// Libraries of columns write all keys of any row into each one.
#[test]
fn keys_without_a_value_count_as_absent() {
    let columns = r#""tools":null,"images":[],"chat_template_kwargs":{},"image":"""#;
    let turns = r#"{"role":"user","content":"a","name":null,"tool_calls":null},
        {"role":"assistant","content":"b","name":null,"tool_calls":[]}"#;
    let text = format!(r#"{{"messages":[{turns}],"prompt":null,{columns}}}"#);
    let example = parse_example(&text.replace('\n', " "), 1).unwrap();
    assert_eq!(example.completion, "b");
    let named = text.replacen("null", r#""Ada""#, 1);
    refused(&named.replace('\n', " "), "turn 1 of messages");
}

/// Keys and roles that a template may write into the prompt, or that only some templates take, are refused by name.
#[test]
fn turns_with_more_than_a_text_are_refused_with_a_way_out() {
    for (turn, what) in [
        (r#""role":"user","content":null"#, "content is null"),
        (
            r#""role":"user","content":[{"type":"text","text":"a"}]"#,
            "content is not a text",
        ),
        (r#""role":"user""#, "content is missing"),
        (r#""content":"a""#, "role is missing"),
        (r#""role":"tool","content":"42""#, "role \"tool\""),
        (r#""role":"developer","content":"a""#, "role \"developer\""),
        (
            r#""role":"user","content":"a","name":"Ada""#,
            "name can change",
        ),
        (
            r#""role":"user","content":"a","weight":0"#,
            "weight can change",
        ),
        (
            r#""role":"assistant","content":"a","reasoning_content":"b""#,
            "reasoning_content can change",
        ),
        (
            r#""role":"assistant","content":"a","tool_calls":[{"type":"function"}]"#,
            "tool_calls can change",
        ),
    ] {
        let end = r#"{"role":"user","content":"c"},{"role":"assistant","content":"d"}"#;
        let text = format!(r#"{{"messages":[{{{turn}}},{end}]}}"#);
        refused(&text, &format!("turn 1 of messages: {what}"));
    }
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
        (b"\x1f\x8b\x08\0\0\0", "unpack it"),
        (b"PAR1\x15\x04\x15\0", "to_json"),
        (b"prompt,completion\na,b\n", "CSV"),
        (b"{\"prompt\": \"a\", \"score\": NaN}", "write null"),
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
