//! Checks recorded prompts and completions against the replayed episode and its actions.

use super::{InvalidActionPolicy, ParserStrictness, PromptState, PromptStyle, TextWorld};
use crate::replay::{Diagnostic, EpisodeId, EpisodeRows, LmTranscript};

/// Returns one diagnostic for each row whose prompt differs from what this build would generate, or
/// whose completion does not parse to the recorded action.
#[must_use]
pub fn check_transcripts<W: TextWorld>(rows: &EpisodeRows<W>, setup: &W::Setup) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    if rows.iter().all(|row| row.row.transcript.is_none()) {
        return faults;
    }
    let mut prompt_state = PromptState::<W>::new(setup);
    while !prompt_state.done() {
        let step = W::step_count(prompt_state.observation());
        let row = rows.get(step);
        if let Some(row) = row
            && let Some(transcript) = &row.row.transcript
            && let Some(what) = fault(&prompt_state, transcript, row.row.action.action)
        {
            let id = EpisodeId::from(row.row.origin);
            let reason = format!("{what} (step {step} of {id})");
            let line = row.line;
            faults.push(Diagnostic { line, reason });
        }
        let recorded = row.map(|row| row.row.action.action);
        let action = recorded.unwrap_or_else(|| W::fallback(prompt_state.observation()));
        if prompt_state.step(action).is_err() {
            break;
        }
    }
    faults
}

fn fault<W: TextWorld>(
    prompt_state: &PromptState<W>,
    text: &LmTranscript,
    action: W::Action,
) -> Option<String> {
    if let Some(prompt) = &text.prompt {
        let is_asked = |style| prompt_state.prompt(style) == *prompt;
        if !PromptStyle::ALL.into_iter().any(is_asked) {
            return Some("prompt is not one that this build writes here".to_owned());
        }
    }
    let completion = text.completion.as_deref()?;
    let reader = if text.repaired {
        ParserStrictness::Repair
    } else {
        ParserStrictness::Strict
    };
    let observation = prompt_state.observation();
    let parsed = W::parse_action(reader, completion, observation);
    if text.fallback {
        let parsed = parsed.ok()?;
        return Some(format!("completion says {}: no fallback", parsed.action));
    }
    let said = match parsed {
        Ok(parsed) if parsed.repaired == text.repaired => parsed.action,
        Ok(parsed) => {
            let repaired = parsed.repaired;
            return Some(format!("repaired should be {repaired}"));
        }
        Err(error) => match W::invalid_action_policy(completion, observation) {
            InvalidActionPolicy::Step(action) => action,
            InvalidActionPolicy::EndSample => {
                return Some(format!("completion is not an action: {error}"));
            }
        },
    };
    // Compares displayed forms, because replays do not store every detail of an action.
    let (said, done) = (said.to_string(), action.to_string());
    (said != done).then(|| format!("completion says {said}, and {done} was done"))
}
