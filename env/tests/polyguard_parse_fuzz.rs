//! Tests with unforeseen completions: arbitrary text, damaged answers, and a megabyte of text.

use proptest::prelude::*;
use sentinel_env::polyguard::{Action, Choice, Formulary};

fn read(text: &str) -> Action {
    Action::parse(text, Formulary::extended())
}

/// Returns `true` if the text assigns the chosen id to `candidate_id`; without that, no candidate
/// may be chosen.
fn assigns(text: &str, choice: &Choice) -> bool {
    let plain: String = (text.to_lowercase().chars())
        .filter(|c| !c.is_whitespace() && *c != '"')
        .collect();
    ["=", ":"]
        .iter()
        .any(|sign| plain.contains(&format!("candidate_id{sign}{}", choice.id)))
}

#[derive(Clone, Debug)]
enum Mutation {
    Insert(usize, String),
    Remove(usize, usize),
    Double(usize, usize),
}

fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    let piece = prop_oneof![
        any::<char>().prop_map(|c| c.to_string()),
        proptest::sample::select(vec![
            "cand_0",
            "cand_02",
            "candidate_id=",
            ";",
            "=",
            "\"",
            "{",
            "}",
            "\n",
            "\\",
            "rationale",
            "\u{200b}",
            "reward=",
            ",",
            "null",
            "1e999",
            "\\u0000",
            "```",
            ":",
            "CAND_",
        ])
        .prop_map(str::to_owned),
    ];
    let one = prop_oneof![
        (any::<usize>(), piece).prop_map(|(at, text)| Mutation::Insert(at, text)),
        (any::<usize>(), 1..6usize).prop_map(|(at, n)| Mutation::Remove(at, n)),
        (any::<usize>(), 1..20usize).prop_map(|(at, n)| Mutation::Double(at, n)),
    ];
    proptest::collection::vec(one, 0..6)
}

fn mutated(text: &str, mutations: &[Mutation]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for mutation in mutations {
        let len = chars.len();
        match mutation {
            Mutation::Insert(at, piece) => {
                let at = at % (len + 1);
                chars.splice(at..at, piece.chars());
            }
            Mutation::Remove(at, n) => {
                let at = at % (len + 1);
                chars.drain(at..(at + n).min(len));
            }
            Mutation::Double(at, n) => {
                let at = at % (len + 1);
                let piece = chars[at..(at + n).min(len)].to_vec();
                chars.splice(at..at, piece);
            }
        }
    }
    chars.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn arbitrary_text_never_panics_or_chooses(text in any::<String>()) {
        let action = read(&text);
        prop_assert!(!matches!(action, Action::Choose(_)), "{text:?} is {action:?}");
    }

    #[test]
    fn mutated_answer_never_chooses_unstated_candidate(
        form in 0..4usize, id in 1..=10u8, mutations in mutations(),
    ) {
        let form = [
            "candidate_id=cand_ID; rationale=stop nsaid_like, pain",
            "Let me think.\ncandidate_id=cand_ID; rationale=egfr is missing\nSo be it.",
            r#"{"candidate_id":"cand_ID","rationale":"stop nsaid_like","confidence":0.5}"#,
            r#"{"candidate_id": "cand_ID", "rationale": "x", "drug": "nsaid_like", "args": {}}"#,
        ][form];
        let whole = form.replace("ID", &format!("{id:02}"));
        let text = mutated(&whole, &mutations);
        if let Action::Choose(choice) = read(&text) {
            prop_assert!(assigns(&text, &choice), "{text:?} is {choice:?}");
        }
        if mutations.is_empty() {
            prop_assert_eq!(read(&whole).id().map(|id| id.number()), Some(id));
        }
    }
}

#[test]
fn long_and_worst_case_texts_are_rejected_quickly() {
    for piece in [
        "a",
        "{",
        "candidate_id=cand_03; rationale=x\n",
        "\u{1F600}",
        " ",
    ] {
        let text = piece.repeat(1_000_000 / piece.len());
        let start = std::time::Instant::now();
        assert_eq!(read(&text), Action::Exploit);
        assert!(
            start.elapsed().as_secs() < 2,
            "{piece:?} took {:?}",
            start.elapsed()
        );
    }
    // The worst cases among the texts that are short enough to be parsed.
    for piece in [
        "{",
        "{\"a\":",
        "candidate_id=",
        "cand_",
        "reward",
        "\"",
        "\\",
    ] {
        let text: String = piece.chars().cycle().take(2_000).collect();
        let start = std::time::Instant::now();
        assert!(!matches!(read(&text), Action::Choose(_)));
        assert!(
            start.elapsed().as_secs() < 2,
            "{piece:?} took {:?}",
            start.elapsed()
        );
    }
}
