//! Text interface of the trust world.

use sentinel_env::Environment;
use std::fmt::{self, Write};

use sentinel_env::adaptive_difficulty::AdversaryProfile;
use sentinel_env::slot::{SLOTS, Slot};
use sentinel_env::trust::{
    Action, ActionType, Domain, Episode, Observation, TaskLayout, TrustEnv, episode_prompt,
};
use serde_json::json;

use super::SELF_SOLVED;
use super::bayes::Bayes;
use super::learned::TrustNet;
use super::learned::history::History;
use crate::nn::Network as _;
use crate::policy::Policy as _;
use crate::text::{
    CompletionObject, InvalidActionPolicy, ParseError, ParsedAction, ParserStrictness, PromptStyle,
    TextWorld, write_posterior,
};

/// Fields that a completion may have.
const FIELDS: [&str; 4] = [
    "action_type",
    "specialist_id",
    "subtask_response",
    "reasoning",
];

/// Names of the hidden behaviors in a detailed prompt, in the order of `Behavior::ALL`.
const BEHAVIORS: [&str; SLOTS] = [
    "accurate",
    "overconfident",
    "bound",
    "adversarial",
    "degrading",
];

/// Memory of earlier steps that the ledger does not hold: the number of steps of each slot's calls,
/// their reward beyond what the outcome explains, and the posterior over the slots' behaviors.
#[derive(Clone, Debug, Default)]
pub struct TrustMemory {
    history: History,
    bayes: Bayes,
}

impl TextWorld for TrustEnv {
    type Memory = TrustMemory;

    fn update_memory(memory: &mut TrustMemory, observation: &Observation) {
        memory.history.observe(observation);
        memory.bayes.observe(observation);
    }

    fn prompt(style: PromptStyle, memory: &TrustMemory, episode: &Episode) -> String {
        match style {
            PromptStyle::Reference => episode_prompt(episode),
            PromptStyle::Compact | PromptStyle::Detailed => {
                let mut out = String::with_capacity(600);
                let posterior = match style {
                    PromptStyle::Detailed => memory.bayes.belief(),
                    _ => None,
                };
                // Writing to a `String` cannot fail.
                let _ = compact(
                    &mut out,
                    &memory.history,
                    posterior.as_deref(),
                    episode.observation(),
                );
                out
            }
        }
    }

    fn format_action(_style: PromptStyle, _observation: &Observation, action: Action) -> String {
        let word = action.action_type().name();
        match action {
            Action::Delegate(slot) | Action::Verify(slot) => {
                json!({"action_type": word, "specialist_id": slot.name()})
            }
            Action::SolveIndependently => {
                json!({"action_type": word, "subtask_response": SELF_SOLVED})
            }
            Action::Skip => json!({"action_type": word}),
        }
        .to_string()
    }

    fn legal_actions(observation: &Observation) -> Vec<Action> {
        TrustNet::legal_actions(observation)
    }

    fn parse_action(
        reader: ParserStrictness,
        text: &str,
        _: &Observation,
    ) -> Result<ParsedAction<Action>, ParseError> {
        let mut object = CompletionObject::parse(reader, text, &FIELDS)?;
        object.take_string("reasoning")?;
        let word = object.take_required_string("action_type")?;
        let Some(kind) = ActionType::parse(&word) else {
            return Err(ParseError::unknown_action(&word));
        };
        let action = match kind {
            ActionType::Delegate => Action::Delegate(slot(&mut object)?),
            ActionType::Verify => Action::Verify(slot(&mut object)?),
            ActionType::SolveIndependently => {
                let answer = object.take_required_string("subtask_response")?;
                if answer.is_empty() {
                    return Err(ParseError::missing("subtask_response"));
                }
                Action::SolveIndependently
            }
            ActionType::Skip => Action::Skip,
        };
        let repaired = object.finish(kind.name())?;
        Ok(ParsedAction { action, repaired })
    }

    fn invalid_action_policy(_: &str, _: &Observation) -> InvalidActionPolicy<Action> {
        InvalidActionPolicy::EndSample
    }
}

fn slot(object: &mut CompletionObject) -> Result<Slot, ParseError> {
    let slot = object.take_parsed("specialist_id", Slot::parse)?;
    slot.ok_or_else(|| ParseError::missing("specialist_id"))
}

/// Writes the compact prompt: two lines for the current step, one for the last action, and one per
/// slot, with its row of `posterior`, `[slots, behaviors]`, in a detailed prompt.
fn compact(
    out: &mut String,
    history: &History,
    posterior: Option<&[Vec<f64>]>,
    o: &Observation,
) -> fmt::Result {
    let left = o.progress.remaining();
    let (step, budget) = (o.step_count, o.max_steps);
    writeln!(out, "trust {} step {step}/{budget} open {left}", o.task)?;
    let domain = o.domain.map_or("none", Domain::name);
    let attempt = o.progress.failed_attempts() + 1;
    write!(out, "subtask {domain} stakes {:.2} try {attempt}", o.stakes)?;
    if let Some((domain, stakes)) = TaskLayout::for_task(o.task).node(o.progress.position() + 1) {
        write!(out, " next {} {stakes:.2}", domain.name())?;
    }
    let AdversaryProfile {
        threshold,
        benign_confidence,
        poison_confidence,
    } = o.adversary;
    writeln!(
        out,
        " liar {threshold:.2} {benign_confidence:.2} {poison_confidence:.2}"
    )?;
    match &o.last {
        None => writeln!(out, "last none")?,
        Some(last) => {
            let came = match last.success {
                None => "",
                Some(true) => " right",
                Some(false) => " wrong",
            };
            let (action, reward) = (last.action, last.reward);
            writeln!(out, "last {action}{came} reward {reward:.2}")?;
        }
    }
    for slot in Slot::ALL {
        of_slot(out, history, o, slot)?;
        if let Some(posterior) = posterior {
            write_posterior(out, &BEHAVIORS, &posterior[slot.index()])?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Writes the line of one slot: trust, right and all reports by domain and at high stakes, mean
/// stated confidence of wrong reports, steps of the last call, and mean reward beyond the outcome.
fn of_slot(out: &mut String, history: &History, o: &Observation, slot: Slot) -> fmt::Result {
    let evidence = &o.ledger[slot];
    write!(out, "{slot} {:.2}", evidence.trust())?;
    if evidence.calls == 0 {
        return Ok(());
    }
    for (domain, rate) in Domain::ALL.into_iter().zip(evidence.domains) {
        if rate.count > 0 {
            let letter = &domain.name()[..1];
            write!(out, " {letter}{}/{}", rate.successes, rate.count)?;
        }
    }
    if evidence.high.count > 0 {
        write!(
            out,
            " hi{}/{}",
            evidence.high.successes, evidence.high.count
        )?;
    }
    if evidence.failures() > 0 {
        let sure = evidence.gap_sum / f64::from(evidence.failures());
        write!(out, " sure {sure:.2}")?;
    }
    let seen = history.slot_history(slot);
    write!(out, " cost {}", seen.cost)?;
    // A call within or outside a slot's domain changes the reward by about .02.
    let extra = seen.surprise_sum / f64::from(evidence.calls);
    if extra.abs() >= 0.005 {
        write!(out, " extra {extra:+.2}")?;
    }
    Ok(())
}
