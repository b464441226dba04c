//! Recognises what only looks like work (spec polyguard §8, anti-cheat).

use super::candidates::Kind;
use super::history::{Act, History};
use super::violation::Exploit;

/// What is known of a choice before it is carried out.
pub(super) struct Attempt {
    /// The act behind the id, if it is shown.
    pub act: Option<Act>,
    /// Whether what was stated beside the id differs.
    pub mismatch: bool,
    /// Times that something withheld was chosen, with this one.
    pub withheld_choices: u8,
    /// Whether a serious pair is flagged.
    pub serious_flag: bool,
    /// Steps of the history that got anywhere, as bits.
    pub progressed: u16,
}

/// The first rule that a choice breaks; `history` is without it.
pub(super) fn exploit(history: &History, attempt: &Attempt) -> Option<Exploit> {
    if attempt.mismatch {
        return Some(Exploit::CandidateMismatch);
    }
    if attempt.withheld_choices >= 2 {
        return Some(Exploit::IllegalChoice);
    }
    let act = attempt.act?;
    let again = history
        .iter()
        .rev()
        .take_while(|past| past.act == Some(act))
        .count();
    if again >= 3 {
        return Some(Exploit::ActionLoop);
    }
    let steps = history.len() + 1;
    let share = |is: fn(Kind) -> bool| history.count(is) + usize::from(is(act.kind));
    let keeps = share(|kind| kind == Kind::KeepRegimen);
    if steps >= 4 && keeps * 10 > steps * 6 && act.kind == Kind::KeepRegimen {
        return Some(Exploit::KeepAbuse);
    }
    let reviews = share(Kind::is_review);
    if reviews >= 2 && reviews * 2 > steps && act.kind.is_review() {
        return Some(Exploit::ReviewAbuse);
    }
    let kept = history.last().and_then(|past| past.act).map(|act| act.kind);
    if act.kind == Kind::KeepRegimen && kept == Some(Kind::KeepRegimen) && attempt.serious_flag {
        return Some(Exploit::NoopHighRisk);
    }
    retries(history, attempt.progressed, act).then_some(Exploit::FailedRetry)
}

/// Whether an act asks again for what brought nothing, with nothing else found out since.
fn retries(history: &History, progressed: u16, act: Act) -> bool {
    if !act.kind.is_information() {
        return false;
    }
    // The place behind the last step that got anywhere.
    let since = (u16::BITS - progressed.leading_zeros()) as usize;
    (history.iter().skip(since))
        .filter(|past| past.violation.is_none())
        .any(|past| past.act == Some(act))
}
