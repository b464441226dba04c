//! Whether what a replay says was asked and said fits the episode and the action.

use super::{EpisodeRows, Problem, ReplayRow, Spoken};
use crate::text::{Consequence, PromptStyle, Reader, Situation, TextWorld};

/// One problem for each row whose prompt this build would not ask, or whose completion is not its
/// action.
pub(super) fn faults<W: TextWorld>(rows: &EpisodeRows, setup: &W::Setup) -> Vec<Problem> {
    let mut faults = Vec::new();
    if rows.iter().all(|row| row.row.text.is_none()) {
        return faults;
    }
    let mut situation = Situation::<W>::new(setup);
    while !situation.done() {
        let step = W::steps_used(situation.observation());
        let row = rows.get(step);
        let recorded = row.and_then(|row| W::narrow(row.row.action.action));
        if let (Some(row), Some(action)) = (row, recorded)
            && let Some(text) = &row.row.text
            && let Some(what) = fault(&situation, text, action)
        {
            let reason = format!("{what} (step {step} of {})", name(&row.row));
            let line = row.line;
            faults.push(Problem { line, reason });
        }
        let action = recorded.unwrap_or_else(|| W::fallback(situation.observation()));
        if situation.step(action).is_err() {
            break;
        }
    }
    faults
}

fn name(row: &ReplayRow) -> String {
    super::EpisodeKey::of(row).to_string()
}

fn fault<W: TextWorld>(
    situation: &Situation<W>,
    text: &Spoken,
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
    // What an answer states beside its action is not kept in full.
    let (said, done) = (said.to_string(), action.to_string());
    (said != done).then(|| format!("completion says {said}, and {done} was done"))
}
