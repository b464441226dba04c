//! Tests of the replay format: the accepted content of a file, and the diagnostics of invalid
//! lines.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_env::slot::Slot;
use sentinel_env::task::join_names;
use sentinel_env::trust::{Action, Task, TrustEnv};
use sentinel_env::{EpisodeSpec, WorldName};
use sentinel_policy::replay::{PROBLEMS_KEPT, Replay, ReplayFile, ReplayRow};

/// A line as written by the reference, with its six keys in sorted order.
const REFERENCE: &str = concat!(
    r#"{"action": {"action_type": "verify", "reasoning": "heuristic replay baseline", "#,
    r#""specialist_id": "S3", "subtask_response": null}, "model_source": "heuristic_fallback", "#,
    r#""scenario_id": "SCN-TASK3-025", "seed": 7, "step": 12, "task_type": "task3"}"#
);

/// Returns the reference line with one part replaced.
fn with(from: &str, to: &str) -> String {
    assert!(REFERENCE.contains(from), "{from}");
    REFERENCE.replace(from, to)
}

type Row = ReplayRow<TrustEnv>;

fn parse(text: &str) -> Replay<TrustEnv> {
    let file = ReplayFile::default().parse(text);
    file.into_replay()
}

/// Returns the diagnostic of a file with one invalid line.
fn problem(line: &str) -> String {
    let replay = parse(line);
    assert_eq!(replay.row_count(), 0, "{line}");
    assert_eq!(replay.problem_count(), 1, "{line}");
    assert_eq!(replay.problems()[0].line, 1);
    replay.problems()[0].reason.clone()
}

fn key(task: Task, seed: u64) -> EpisodeSpec<TrustEnv> {
    EpisodeSpec {
        rules: Rules::REFERENCE,
        streams: Streams::Reference,
        task,
        seed,
    }
}

fn clean(replay: &Replay<TrustEnv>) {
    assert!(replay.problems().is_empty(), "{:?}", replay.problems());
}

#[test]
fn reference_line_is_parsed() {
    let replay = parse(REFERENCE);
    clean(&replay);
    let row = replay
        .episode(&key(Task::Task3, 7))
        .unwrap()
        .get(12)
        .unwrap();
    assert_eq!(row.row.action.action, Action::Verify(Slot::ALL[3]));
    assert_eq!(
        row.row.action.reasoning.as_deref(),
        Some("heuristic replay baseline")
    );
    assert_eq!(row.row.model_source, "heuristic_fallback");
    assert_eq!(row.row.scenario_id, "SCN-TASK3-025");
}

#[test]
fn row_roundtrips_with_reference_keys() {
    let row: Row = serde_json::from_str(REFERENCE).unwrap();
    let text = serde_json::to_string(&row).unwrap();
    assert_eq!(
        text,
        concat!(
            r#"{"task_type":"task3","seed":7,"step":12,"action":{"action_type":"verify","#,
            r#""specialist_id":"S3","subtask_response":null,"#,
            r#""reasoning":"heuristic replay baseline"},"scenario_id":"SCN-TASK3-025","#,
            r#""model_source":"heuristic_fallback"}"#
        )
    );
    assert_eq!(serde_json::from_str::<Row>(&text).unwrap(), row);
}

#[test]
fn extension_keys_roundtrip_and_unknown_keys_are_ignored() {
    let mut row: Row = serde_json::from_str(REFERENCE).unwrap();
    row.origin.streams = Streams::Independent;
    row.probabilities = Some(vec![1.0 / 12.0; 12]);
    row.belief = Some(vec![vec![0.2; 5]; 5]);
    let text = serde_json::to_string(&row).unwrap();
    assert_eq!(serde_json::from_str::<Row>(&text).unwrap(), row);
    // A row may name the world, and unknown keys of later versions are ignored.
    let line = with(
        r#""seed": 7"#,
        r#""seed": 7, "world": "trust", "later": [1, {}]"#,
    );
    clean(&parse(&line));
}

#[test]
fn bad_line_loses_only_its_row() {
    let good = |seed: u32| with(r#""seed": 7"#, &format!(r#""seed": {seed}"#));
    let bad = with("verify", "trust");
    let text = [
        good(1),
        bad,
        String::new(),
        good(2),
        REFERENCE[..90].to_owned(),
        good(3),
    ];
    let replay = parse(&text.join("\n"));
    assert_eq!(replay.row_count(), 3);
    let messages: Vec<String> = replay.problems().iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [
            "line 2: unknown action_type \"trust\": use delegate, verify, solve_independently or skip",
            "line 5: the line is cut off after 90 characters",
        ]
    );
}

#[test]
fn non_json_line_is_reported() {
    assert_eq!(problem("hello"), "not a JSON object: a row begins with {");
    assert_eq!(
        problem("{'seed': 7}"),
        "not JSON: key must be a string (column 2)"
    );
    assert_eq!(
        problem("{\"seed\""),
        "the line is cut off after 7 characters"
    );
    let later = parse(&format!("{REFERENCE}\n[\n{{"));
    let reasons: Vec<&str> = later.problems().iter().map(|p| p.reason.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "not a JSON object: a row begins with {",
            "the line is cut off after 1 characters"
        ]
    );
    assert!(problem(&format!("{REFERENCE} x")).starts_with("not JSON: trailing characters"));
}

#[test]
fn nan_and_infinity_are_reported() {
    for (word, as_seed) in [
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
        ("-Infinity", "-Infinity"),
    ] {
        let line = with(r#""seed": 7"#, &format!(r#""seed": {as_seed}"#));
        assert_eq!(problem(&line), format!("{word} is not a number in JSON"));
    }
    // Inside of strings these words are ordinary text.
    let text = with("heuristic replay baseline", r#"NaN \" Infinity"#);
    clean(&parse(&text));
    let broken = with("heuristic replay baseline\"", r#"a \" NaN" x"#);
    assert!(
        problem(&broken).starts_with("not JSON: expected"),
        "{}",
        problem(&broken)
    );
    let huge = with(r#""seed": 7"#, r#""seed": 1e999"#);
    assert!(
        problem(&huge).starts_with("not JSON: number out of range"),
        "{}",
        problem(&huge)
    );
}

#[test]
fn unknown_name_error_lists_choices() {
    assert_eq!(
        problem(&with("task3", "task4")),
        "unknown task_type \"task4\": use task1, task2 or task3"
    );
    assert_eq!(
        problem(&with("S3", "S5")),
        "unknown specialist_id \"S5\": the specialists are S0, S1, S2, S3 and S4"
    );
    let named: Vec<&str> = (WorldName::ALL.iter().skip(1))
        .map(|world| world.name())
        .collect();
    assert_eq!(
        problem(&with(r#""seed": 7"#, r#""seed": 7, "world": "moon""#)),
        format!(
            "unknown world \"moon\": use trust (which a row without the key means), {}",
            join_names(&named, " or ")
        )
    );
    assert_eq!(
        problem(&with(r#""seed": 7"#, r#""seed": 7, "streams": "both""#)),
        "unknown streams \"both\": use reference (which a row without the key means) or independent"
    );
    let long = "x".repeat(1_000_000);
    for place in [
        with("task3", &long),
        with(r#""seed": 7"#, &format!(r#""seed": 7, "rules": "{long}""#)),
        with(
            r#""seed": 7"#,
            &format!(r#""seed": 7, "rules": "reference+{long}""#),
        ),
    ] {
        let problem = problem(&place);
        assert!(problem.len() < 250, "{problem}");
    }
}

#[test]
fn invalid_seed_error_names_range() {
    let range = "seeds are integers from 0 to 9223372036854775807";
    let bad = [
        "-1",
        "9223372036854775808",
        "7.5",
        "7.0",
        "true",
        "[7]",
        "{}",
        "1e20",
    ];
    let shown = [
        "-1",
        "9223372036854775808",
        "7.5",
        "7.0",
        "true",
        "a list",
        "an object",
        "1e+20",
    ];
    for (seed, shown) in bad.iter().zip(shown) {
        let line = with(r#""seed": 7"#, &format!(r#""seed": {seed}"#));
        assert_eq!(problem(&line), format!("seed is {shown}: {range}"));
    }
    let text = with(r#""seed": 7"#, r#""seed": "7""#);
    assert_eq!(problem(&text), format!("seed is the text \"7\": {range}"));
    clean(&parse(&with(
        r#""seed": 7"#,
        r#""seed": 9223372036854775807"#,
    )));
}

#[test]
fn out_of_range_step_error_names_task_range() {
    for step in ["45", "-1", "300", "1.5", "\"3\""] {
        let line = with(r#""step": 12"#, &format!(r#""step": {step}"#));
        let message = problem(&line);
        assert!(message.starts_with("step is "), "{message}");
        assert!(
            message.ends_with(": steps of task3 are integers from 0 to 44"),
            "{message}"
        );
    }
    let task1 = with("task3", "task1").replace(r#""step": 12"#, r#""step": 15"#);
    assert_eq!(
        problem(&task1),
        "step is 15: steps of task1 are integers from 0 to 14"
    );
    clean(&parse(&with(r#""step": 12"#, r#""step": 44"#)));
}

#[test]
fn wrong_type_or_missing_key_error_names_key() {
    assert_eq!(problem("{}"), "task_type is missing");
    assert_eq!(problem(&with(r#""seed": 7, "#, "")), "seed is missing");
    assert_eq!(
        problem(&with(r#""step": 12"#, r#""step": null"#)),
        "step is missing"
    );
    assert_eq!(
        problem(&with(r#""task3""#, "3")),
        "task_type is 3: it must be text"
    );
    assert_eq!(
        problem(&with(r#""SCN-TASK3-025""#, "[25]")),
        "scenario_id is a list: it must be text"
    );
    assert_eq!(
        problem(&with(r#""S3""#, "3")),
        "specialist_id is 3: it must be text"
    );
    assert_eq!(
        problem(&with(r#""S3""#, "null")),
        "action_type verify needs a specialist_id, one of S0..S4"
    );
    assert_eq!(
        problem(&with(r#""action_type": "verify", "#, "")),
        "action_type is missing"
    );
    assert_eq!(
        problem(&with(r#""verify""#, r#""solve_independently""#)),
        "action_type solve_independently needs a non-empty subtask_response"
    );
    let list = r#"{"task_type":"task1","seed":0,"step":0,"action":["skip"]}"#;
    assert_eq!(
        problem(list),
        "invalid type: sequence, expected action to be an object with action_type"
    );
    assert_eq!(problem(r#"{"seed":1,"seed":2}"#), "duplicate field `seed`");
    let long = problem(&format!(r#"{{"action":"{}"}}"#, "x".repeat(1_000_000)));
    assert!(
        long.starts_with("invalid type: string") && long.len() <= 200,
        "{}",
        long.len()
    );
}

#[test]
fn invalid_probabilities_and_beliefs_are_refused() {
    let line = |extra: &str| with(r#""seed": 7"#, &format!(r#""seed": 7, {extra}"#));
    let twelve = "probabilities must be a list of 12 numbers, each from 0 to 1";
    assert_eq!(problem(&line(r#""probabilities": [1]"#)), twelve);
    assert_eq!(
        problem(&line(r#""probabilities": [2,0,0,0,0,0,0,0,0,0,0,0]"#)),
        twelve
    );
    assert_eq!(problem(&line(r#""probabilities": "high""#)), twelve);
    let belief = "belief must be 5 lists of 5 numbers, each from 0 to 1";
    assert_eq!(problem(&line(r#""belief": [[1,0,0,0,0]]"#)), belief);
    assert_eq!(problem(&line(r#""belief": {}"#)), belief);
}

#[test]
fn duplicate_row_is_reported_and_first_is_kept() {
    let second = with("S3", "S1");
    let other_streams = with(r#""seed": 7"#, r#""seed": 7, "streams": "independent""#);
    let named = with(
        r#""seed": 7"#,
        r#""seed": 7, "streams": "reference", "world": "trust""#,
    );
    let replay = parse(&[REFERENCE, &second, &other_streams, &named].join("\n"));
    assert_eq!(replay.row_count(), 2);
    let row = replay
        .episode(&key(Task::Task3, 7))
        .unwrap()
        .get(12)
        .unwrap();
    let action = row.row.action.action;
    assert_eq!(action.slot(), Some(Slot::ALL[3]));
    let messages: Vec<String> = replay.problems().iter().map(ToString::to_string).collect();
    let reason = "a second row for task3 seed 7 (reference streams) step 12: \
                  the first, on line 1, is kept";
    assert_eq!(
        messages,
        [format!("line 2: {reason}"), format!("line 4: {reason}")]
    );
}

#[test]
fn file_of_another_format_is_named_once_with_remedy() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:17600954\nsize 793297\n";
    let page = "\n<!doctype html>\n<html>\n<body>404</body>\n</html>\n";
    let indented = REFERENCE.replace("{", "{\n").replace(",", ",\n");
    let array = format!("[\n{REFERENCE},\n{REFERENCE},\nnull\n]\n");
    for (text, expected) in [
        (
            pointer,
            "line 1: this is a git-lfs pointer, not the file itself: run `git lfs pull` in its folder",
        ),
        (
            page,
            "line 2: this is a web page: download the file itself, not the page that shows it",
        ),
        (
            &indented,
            "line 1: this is indented JSON: write one row per line (JSON lines)",
        ),
        (
            &array,
            "line 1: this is one JSON array: write one row per line (JSON lines)",
        ),
        (
            &format!("\u{feff}[{REFERENCE}]"),
            "line 1: this is one JSON array: write one row per line (JSON lines)",
        ),
    ] {
        let replay = parse(text);
        assert_eq!((replay.row_count(), replay.problem_count()), (0, 1));
        assert_eq!(replay.problems()[0].to_string(), expected);
    }
    // Rows that are there are read nevertheless.
    let replay = parse(&format!("[\n{REFERENCE}\n]"));
    assert_eq!((replay.row_count(), replay.problem_count()), (1, 1));
}

#[test]
fn utf16_is_named_once_with_remedy() {
    let units = format!("\u{feff}{REFERENCE}\n{REFERENCE}\n");
    let bytes: Vec<u8> = units.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut replay = ReplayFile::default();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        replay.push_bytes(line);
    }
    assert_eq!((replay.row_count(), replay.problem_count()), (0, 1));
    assert_eq!(
        replay.problems()[0].to_string(),
        "line 1: this is UTF-16 text: save it as UTF-8"
    );
}

#[test]
fn byte_order_mark_crlf_and_blank_lines_are_ignored() {
    let other = with(r#""seed": 7"#, r#""seed": 8"#);
    let replay = parse(&format!("\u{feff}{REFERENCE}\r\n\r\n   \n{other}"));
    clean(&replay);
    assert_eq!(replay.row_count(), 2);
    let seeds: Vec<u64> = replay.episodes().map(|key| key.seed).collect();
    assert_eq!(seeds, [7, 8]);
    clean(&parse(""));
}

#[test]
fn non_utf8_line_is_reported_with_byte_offset() {
    let mut replay = ReplayFile::default();
    replay.push_bytes(REFERENCE.as_bytes());
    replay.push_bytes(b"{\"seed\": \xff}\n");
    assert_eq!(replay.row_count(), 1);
    assert_eq!(
        replay.problems()[0].to_string(),
        "line 2: not UTF-8 text from byte 10 on"
    );
}

#[test]
fn problem_list_is_capped_but_count_is_not() {
    let replay = parse(&"x\n".repeat(PROBLEMS_KEPT + 5));
    assert_eq!(replay.problem_count(), PROBLEMS_KEPT + 5);
    assert_eq!(replay.problems().len(), PROBLEMS_KEPT);
}

#[test]
fn deeply_nested_line_is_refused() {
    let deep = format!("{{\"seed\":{}", "[".repeat(100_000));
    assert!(
        problem(&deep).contains("recursion limit"),
        "{}",
        problem(&deep)
    );
    let ignored = format!("{{\"later\":{}", "[".repeat(100_000));
    assert_eq!(
        problem(&ignored),
        "the line is cut off after 100009 characters"
    );
}

/// Real actions have few keys, but a file opened by a user may hold a hundred thousand.
#[test]
fn line_with_many_keys_is_parsed() {
    let keys: String = (0..100_000).map(|n| format!(r#""k{n}":0,"#)).collect();
    let many = with(r#""action_type""#, &format!("{keys}\"action_type\""));
    let replay = parse(&many);
    assert_eq!((replay.row_count(), replay.problem_count()), (1, 0));
    let twice = with(
        r#""action_type""#,
        &format!("{keys}\"k7\":0,\"action_type\""),
    );
    assert_eq!(problem(&twice), "duplicate field `k7`");
}
