//! Tests of the output formats of the PolyGuard world: rows of a trace, actions as JSON, prompts.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use sentinel_env::Environment;
mod polyguard_play;

use polyguard_play::{answer, cases, shown};
use sentinel_env::polyguard::{
    ANSWER_FORM, Action, ActionRow, Choice, Message, Observation, ObservationPayload, Rules,
    Session, Setup, TaskSpec, TraceFinal, TraceReset, TraceStep, prompt, text,
};

/// The types guarantee that both are built from the observation only.
const PROMPT: fn(&Observation) -> String = prompt;
const PAYLOAD: fn(&Observation) -> ObservationPayload = ObservationPayload::from_observation;

fn setup(name: &str, seed: u64) -> Setup {
    Setup::new(TaskSpec::parse(name).unwrap(), seed).with_rules(Rules::HARDENED)
}

/// Checks that an action from code and the message of its row are the same action.
#[test]
fn action_roundtrips_through_row_and_message() {
    for case in cases() {
        let session = Session::new(&Setup::new(case, 9));
        let o = session.episode().observation();
        let formulary = o.formulary();
        for n in 0..10 {
            let id = shown(o, n);
            let candidate = o.candidates.get(id).unwrap();
            let mut choice = Choice::with_grounded_rationale(o, id);
            if n % 2 == 0 {
                choice.claim.kind = Some(candidate.act.kind);
                choice.claim.drug = Some(candidate.act.drug);
                choice.claim.arg = Some(candidate.act.arg);
            }
            for action in [Action::Choose(choice), Action::Choose(Choice::new(id))] {
                let json = serde_json::to_string(&ActionRow::new(&action, formulary)).unwrap();
                let message: Message = serde_json::from_str(&json).unwrap();
                assert_eq!(message.parse(formulary).action, action, "{json}");
                assert_eq!(Message::from(action).parse(formulary).action, action);
            }
        }
    }
}

/// Returns the rows of an episode as JSON text.
fn rows(setup: &Setup, start: u32) -> String {
    let mut session = Session::new(setup);
    let mut rows = serde_json::to_string(&TraceReset::new(&session)).unwrap();
    for n in start.. {
        let o = session.episode().observation();
        let Ok(step) = session.act(answer(o, n)) else {
            break;
        };
        rows += &serde_json::to_string(&TraceStep::new(&session, &step.info)).unwrap();
    }
    let end = TraceFinal::new(&session, None).unwrap();
    rows + &serde_json::to_string(&end).unwrap()
}

#[test]
fn same_seed_and_actions_give_same_rows() {
    for case in cases() {
        for seed in 0..4 {
            let setup = Setup::new(case, seed);
            let first = rows(&setup, seed as u32 * 100);
            assert_eq!(first, rows(&setup, seed as u32 * 100));
            let other = Setup::new(case, seed + 50);
            assert_ne!(first, rows(&other, seed as u32 * 100));
        }
    }
}

/// Checks that a trace contains completions in their original text, so the episode can be replayed.
#[test]
fn trace_of_completions_can_be_replayed() {
    let mut session = Session::new(&setup("DDI-hard", 2));
    let mut actions = Vec::new();
    for text in [
        "candidate_id=cand_01; rationale=egfr",
        "Hm.\ncandidate_id=CAND_02; rationale=nsaid_like",
        "nothing",
        "<|im_end|>",
    ] {
        if session
            .step(&Message::completion(text.to_owned()), &mut ())
            .is_err()
        {
            break;
        }
        let step = session.steps().last().unwrap();
        let row = serde_json::to_value(TraceStep::new(&session, step)).unwrap();
        actions.push(row["action"].clone());
    }
    let mut again = Session::new(&setup("DDI-hard", 2));
    for action in actions {
        again
            .step(&serde_json::from_value(action).unwrap(), &mut ())
            .unwrap();
    }
    assert_eq!(again.steps().len(), session.steps().len());
    assert_eq!(again.reply(), session.reply());
}

#[test]
fn prompt_lists_candidates_and_medications_of_payload() {
    for case in cases() {
        let mut session = Session::new(&Setup::new(case, 3));
        for n in 0..3 {
            let o = session.episode().observation();
            if o.done() {
                break;
            }
            let (prompt_text, payload) = (PROMPT(o), PAYLOAD(o));
            assert!(prompt_text.starts_with(text::NOTICE) && prompt_text.contains(ANSWER_FORM));
            assert!(prompt_text.contains("Never for patient care"));
            for row in &payload.candidates {
                let line = format!("{} | {} | ", row.candidate_id, row.action_type);
                assert!(prompt_text.contains(&line), "{line} in {prompt_text}");
            }
            for row in &payload.medication_table {
                assert!(prompt_text.contains(&format!("- {} | {}", row.drug, row.dose_bucket)));
            }
            // Quoting the prompt must not count as an exploit.
            let quoted = format!("candidate_id=cand_01; rationale={}", "the prompt: ");
            let room: String = prompt_text
                .lines()
                .skip(1)
                .take(3)
                .collect::<Vec<_>>()
                .join(" ");
            let short: String = room.chars().take(300).collect();
            let action = Action::parse(&(quoted + &short), o.formulary());
            assert!(matches!(action, Action::Choose(_)), "{short}");
            let id = shown(o, n);
            session.act(Action::with_grounded_rationale(o, id)).unwrap();
        }
    }
}

#[test]
fn prompt_shows_candidate_on_one_line() {
    let mut seen = false;
    for seed in 0..50 {
        let session = Session::new(&setup("DDI-easy", seed));
        let prompt_text = prompt(session.episode().observation());
        let found = prompt_text
            .lines()
            .find(|line| line.contains("SUBSTITUTE_WITHIN_CLASS"));
        let Some(line) = found else { continue };
        let parts: Vec<&str> = line.split(" | ").collect();
        assert_eq!(parts.len(), 5, "{line}");
        assert!(
            parts[0].starts_with("cand_") && parts[2].contains("_like -> "),
            "{line}"
        );
        assert!(parts[3].starts_with("est_risk .") && parts[4].starts_with("est_delta "));
        assert!(!line.contains("0."), "{line}");
        seen = true;
    }
    assert!(seen);
}
