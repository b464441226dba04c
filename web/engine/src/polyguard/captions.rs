//! The notable events of an episode of the PolyGuard world, shown as captions.

use sentinel_env::Environment as _;
use sentinel_env::polyguard::{ActKind, PolyguardEnv};

use super::display_text;
use super::step::PublicStep;
use super::truth::headline;
use crate::caption::CaptionEvent;
use crate::format::{capitalized, counted};
use crate::run::{Frame, PublicFrame};

/// Smallest change of risk or burden that counts as one.
const CHANGED: f64 = 0.005;

/// Returns the notable events of the last step.
pub(super) fn caption_events(frame: &PublicFrame<'_, PolyguardEnv>) -> Vec<CaptionEvent> {
    if frame.step.is_none() {
        let (_, goal) = display_text::sub(frame.observation.task.sub_environment());
        return vec![CaptionEvent::new("The task", goal.to_owned())];
    }
    let all = [asked(frame), found(frame), substituted(frame)];
    all.into_iter().flatten().collect()
}

/// Returns the event in which a missing value is first asked for.
fn asked(frame: &PublicFrame<'_, PolyguardEnv>) -> Option<CaptionEvent> {
    let asks = |step: &PublicStep| {
        let kind = step.kind();
        matches!(
            kind,
            Some(ActKind::FetchExternalEvidence | ActKind::OrderMonitoring)
        )
    };
    let before = frame.before()?;
    let missing = before.labs.missing();
    let text = format!(
        "The agent asks before it acts: {} missing.",
        counted(missing, "laboratory value was", "laboratory values were")
    );
    (frame.is_first(asks) && missing > 0).then(|| CaptionEvent::new("A question first", text))
}

/// Returns the event in which an answer first brings a risk to light.
fn found(frame: &PublicFrame<'_, PolyguardEnv>) -> Option<CaptionEvent> {
    let first = frame.is_first(|step| {
        let asks = step.kind().is_some_and(ActKind::is_information);
        asks && step.risk[1] > step.risk[0] + CHANGED
    });
    let text = "The answer brings a risk to light that the chart did not show.";
    first.then(|| CaptionEvent::new("A risk found", text.to_owned()))
}

/// Returns the event of the first substitution that lowers the visible risk or the burden.
fn substituted(frame: &PublicFrame<'_, PolyguardEnv>) -> Option<CaptionEvent> {
    let first = frame.is_first(|step| is_substitution(step) && lightens(step));
    let step = frame.step?;
    let [was, now] = step.burden;
    let text = match was - now > CHANGED {
        true => format!("The burden of the regimen falls from {was:.2} to {now:.2}."),
        false => String::new(),
    };
    first.then(|| CaptionEvent::new("A safer substitute", text))
}

fn is_substitution(step: &PublicStep) -> bool {
    use ActKind::{RecommendAlternative, SubstituteWithinClass};
    matches!(
        step.kind(),
        Some(SubstituteWithinClass | RecommendAlternative)
    )
}

fn lightens(step: &PublicStep) -> bool {
    let falls = |[was, now]: [f64; 2]| was - now > CHANGED;
    falls(step.risk) || falls(step.burden)
}

/// Returns the hidden fact that belongs to a frame: the true risk at the start, when the first
/// issue is resolved, and at the end.
pub(super) fn true_caption(frames: &[Frame<PolyguardEnv>], index: usize) -> String {
    let frame = &frames[index];
    let resolves = |frame: &&Frame<PolyguardEnv>| {
        frame
            .info()
            .is_some_and(|step| step.resolved[1] > step.resolved[0])
    };
    let is_first = resolves(&frame) && frames[..=index].iter().filter(resolves).count() == 1;
    if index == 0 || is_first || frame.episode.observation().done() {
        let text = headline(&frame.episode, frame.info());
        return capitalized(text.strip_prefix("In truth ").unwrap_or(&text));
    }
    String::new()
}
