//! How a step of the PolyGuard world turned out.

use sentinel_env::polyguard::Kind;

use super::does::does;
use super::turn::Turn;
use crate::play::Mark;

/// A change of the visible risk that is more than rounding.
const CHANGED: f64 = 0.005;

/// The mark of a step; which issues are resolved is hidden.
pub(super) fn mark(turn: &Turn, truth: bool) -> Mark {
    let step = &turn.step;
    let [was, now] = turn.seen;
    let [open, resolved] = step.resolved;
    if step.exploit.is_some() {
        return Mark::notable("!", "caught cheating", "poisoned");
    }
    if step.violation.is_some() {
        return Mark::notable("✗", "refused", "wrong");
    }
    match step.end {
        Some(end) if end.is_success() => {
            return Mark::notable("◆", "the episode ended well", "caught");
        }
        Some(end) if !end.is_truncated() => {
            return Mark::notable("!", "the episode ended badly", "poisoned");
        }
        _ => {}
    }
    if truth && resolved != open {
        return if resolved > open {
            Mark::notable("✓", "an issue was resolved", "right")
        } else {
            Mark::notable("✗", "a resolved issue came back", "wrong")
        };
    }
    let kind = step.act.map(|act| act.kind);
    match kind {
        // What is found out may be a risk that nobody saw before: that is no fault of the step.
        Some(kind) if kind.is_information() && step.gained => {
            Mark::plain("?", "something was found out", "right")
        }
        Some(kind) if kind.is_information() => {
            Mark::notable("∅", "nothing was found out", "skipped")
        }
        _ if now < was - CHANGED => Mark::plain("▾", "the risk that can be seen fell", "right"),
        _ if now > was + CHANGED => Mark::notable("▴", "the risk that can be seen rose", "wrong"),
        Some(Kind::KeepRegimen) => Mark::plain("–", "kept", "skipped"),
        Some(kind) if kind.is_review() => Mark::plain("…", "asked for review", "solved"),
        _ => Mark::plain("▸", "changed", "solved"),
    }
}

/// A step as the list of actions has it.
pub(super) fn line(turn: &Turn) -> String {
    match turn.step.act {
        Some(act) => does(&turn.before, act),
        None => format!("no candidate ({})", turn.step.action),
    }
}
