//! The notable events of an episode of the trust world, shown as captions.

use sentinel_env::ledger::HIGH_STAKES;
use sentinel_env::slot::Slot;
use sentinel_env::trust::{Action, Behavior, Rules, TrustEnv};
use sentinel_env::{Environment as _, PrivilegedState as _};

use super::PublicStep;
use crate::actor::PolicyOutput;
use crate::caption::CaptionEvent;
use crate::format::percent;
use crate::run::{Frame, PublicFrame};

/// Believed probability of being the adversary from which a specialist counts as suspected.
const SUSPECTED: f64 = 0.8;

/// Returns the notable events of the last step.
pub(super) fn caption_events(frame: &PublicFrame<'_, TrustEnv>) -> Vec<CaptionEvent> {
    if frame.step.is_none() {
        let text = "One of them lies when it matters, and the agent must find out which.";
        return vec![CaptionEvent::new("The task", text.to_owned())];
    }
    let all = [saved(frame), lost(frame), failure(frame)];
    let later = [doubt(frame), stakes(frame)];
    all.into_iter().chain(later).flatten().collect()
}

/// Returns the event in which checking a wrong answer first saves a subtask.
fn saved(frame: &PublicFrame<'_, TrustEnv>) -> Option<CaptionEvent> {
    let is_saved = |step: &PublicStep| {
        let checked = matches!(step.action, Action::Verify(_));
        checked && step.answer == Some(false) && step.completed == Some(true)
    };
    let slot = frame.step?.action.slot()?;
    let before = &frame.before()?.ledger[slot];
    let record = match before.calls {
        0 => String::new(),
        calls => format!(
            "{slot} was right {} of {calls} until now. ",
            before.successes()
        ),
    };
    let text = format!("{record}Checking the answer saves the subtask.");
    frame
        .is_first(is_saved)
        .then(|| CaptionEvent::new("A subtask saved", text))
}

/// Returns the event in which a subtask first fails for good.
fn lost(frame: &PublicFrame<'_, TrustEnv>) -> Option<CaptionEvent> {
    let first = frame.before()?.progress.failed() == 0 && frame.observation.progress.failed() > 0;
    let text = || {
        format!(
            "Subtask {} is lost.",
            frame.step.map_or(0, |step| step.node + 1)
        )
    };
    first.then(|| CaptionEvent::new("A subtask lost", text()))
}

/// Returns the event of the first wrong answer.
fn failure(frame: &PublicFrame<'_, TrustEnv>) -> Option<CaptionEvent> {
    let slot = frame.step?.action.slot()?;
    let [was, now] = [frame.before()?, frame.observation].map(|o| o.ledger[slot].trust());
    let text = format!("Trust in {slot} falls from {was:.2} to {now:.2}.");
    let first = frame.is_first(|step| step.answer == Some(false));
    first.then(|| CaptionEvent::new("First failure", text))
}

/// Returns the specialist that the player most believes to be the adversary, if it suspects one.
fn suspect(policy_output: &PolicyOutput) -> Option<(Slot, f64)> {
    let rows = policy_output.belief.as_ref()?;
    let chance = |slot: Slot| rows.get(slot.index())?.get(Behavior::Adversarial as usize);
    let mut chances = Slot::ALL
        .into_iter()
        .filter_map(|slot| Some((slot, *chance(slot)?)));
    chances.find(|(_, chance)| *chance >= SUSPECTED)
}

/// Returns the event in which the player first takes a specialist for the adversary.
fn doubt(frame: &PublicFrame<'_, TrustEnv>) -> Option<CaptionEvent> {
    let (slot, chance) = suspect(frame.policy_output)?;
    let earlier = frame.assessments().take(frame.index);
    let is_first = earlier
        .filter_map(|(_, policy_output)| suspect(policy_output))
        .count()
        == 0;
    let evidence = &frame.observation.ledger[slot];
    let text = format!(
        "The agent now takes {slot}, right {} of {} so far, for the adversary ({}).",
        evidence.successes(),
        evidence.calls,
        percent(chance)
    );
    is_first.then(|| CaptionEvent::new("First doubt", text))
}

/// Returns the event in which the stakes first are high.
fn stakes(frame: &PublicFrame<'_, TrustEnv>) -> Option<CaptionEvent> {
    let is_high = frame.observation.stakes >= HIGH_STAKES;
    let was_high = frame.before()?.stakes >= HIGH_STAKES;
    let first = frame
        .assessments()
        .filter(|(o, _)| o.stakes >= HIGH_STAKES)
        .count()
        == 1;
    let text = format!(
        "The stakes are high from here on ({:.2}): the adversary’s turn.",
        frame.observation.stakes
    );
    (is_high && !was_high && first).then(|| CaptionEvent::new("High stakes", text))
}

/// Returns the hidden fact that belongs to a frame: who the adversary is, its first poisoned
/// answer, and why the player may keep asking it.
pub(super) fn true_caption(frames: &[Frame<TrustEnv>], index: usize) -> String {
    let poisoned = |frame: &&Frame<TrustEnv>| frame.info().is_some_and(|step| step.adversarial);
    let frame = &frames[index];
    let assignment = &frame.episode.hidden().assignment;
    let adversary = Slot::ALL
        .into_iter()
        .find(|slot| assignment[*slot] == Behavior::Adversarial);
    let Some(slot) = adversary else {
        return String::new();
    };
    if index == 0 {
        return format!("{slot} is the adversary. The agent cannot see it.");
    }
    let count = frames[..=index].iter().filter(poisoned).count();
    let checked = frame
        .info()
        .is_some_and(|step| matches!(step.action, Action::Verify(_)));
    match (poisoned(&frame), count, checked) {
        (true, 1, true) => format!("{slot} is the adversary: its answer was poison."),
        (true, 1, false) => format!("{slot} is the adversary: poison was believed."),
        (true, 2, true) if frame.episode.observation().rules == Rules::REFERENCE => {
            "Under the reference rules a check of the adversary always succeeds, so asking it pays."
                .to_owned()
        }
        _ => String::new(),
    }
}
