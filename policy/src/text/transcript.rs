//! Checks recorded prompts and completions against the replayed episode and its actions.

use super::{Consequence, PromptStyle, Reader, Situation, TextWorld};
use crate::replay::{Diagnostic, EpisodeId, EpisodeRows, LmTranscript};

/// Returns one diagnostic for each row whose prompt differs from what this build would generate, or
/// whose completion does not parse to the recorded action.
#[must_use]
pub fn check_transcripts<W: TextWorld>(rows: &EpisodeRows<W>, setup: &W::Setup) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    if rows.iter().all(|row| row.row.transcript.is_none()) {
        return faults;
    }
    let mut situation = Situation::<W>::new(setup);
    while !situation.done() {
        let step = W::step_count(situation.observation());
        let row = rows.get(step);
        if let Some(row) = row
            && let Some(transcript) = &row.row.transcript
            && let Some(what) = fault(&situation, transcript, row.row.action.action)
        {
            let id = EpisodeId::from(row.row.origin);
            let reason = format!("{what} (step {step} of {id})");
            let line = row.line;
            faults.push(Diagnostic { line, reason });
        }
        let recorded = row.map(|row| row.row.action.action);
        let action = recorded.unwrap_or_else(|| W::fallback(situation.observation()));
        if situation.step(action).is_err() {
            break;
        }
    }
    faults
}

fn fault<W: TextWorld>(
    situation: &Situation<W>,
    text: &LmTranscript,
    action: W::Action,
) -> Option<String> {
    if let Some(prompt) = &text.prompt {
        let is_asked = |style| situation.prompt(style) == *prompt;
        if !PromptStyle::ALL.into_iter().any(is_asked) {
            return Some("prompt is none that this build asks here".to_owned());
        }
    }
    let completion = text.completion.as_deref()?;
    let reader = if text.repaired {
        Reader::Repair
    } else {
        Reader::Strict
    };
    let observation = situation.observation();
    let heard = W::hear(reader, completion, observation);
    if text.fallback {
        let heard = heard.ok()?;
        return Some(format!("completion says {}: no fallback", heard.action));
    }
    let said = match heard {
        Ok(heard) if heard.repaired == text.repaired => heard.action,
        Ok(heard) => {
            let repaired = heard.repaired;
            return Some(format!("repaired should be {repaired}"));
        }
        Err(error) => match W::consequence(completion, observation) {
            Consequence::Step(action) => action,
            Consequence::Ends => return Some(format!("completion is no action: {error}")),
        },
    };
    // Compares displayed forms, because replays do not store every detail of an action.
    let (said, done) = (said.to_string(), action.to_string());
    (said != done).then(|| format!("completion says {said}, and {done} was done"))
}
