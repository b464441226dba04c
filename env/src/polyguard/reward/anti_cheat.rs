//! Detection of exploits: behavior that earns reward without solving the task (spec polyguard §8,
//! anti-cheat).

use crate::polyguard::model::candidate::{Act, ActKind};
use crate::polyguard::model::history::{Exploit, History, PastStep};
use crate::polyguard::model::observation::Observation;

/// A choice before it is carried out.
pub(crate) struct Attempt {
    /// The act behind the id, if it is shown.
    pub(crate) act: Option<Act>,
    /// `true` if a detail stated beside the id differs from the act.
    pub(crate) mismatch: bool,
    /// Number of choices of withheld candidates, this one included.
    pub(crate) withheld_choices: u8,
    /// Bit mask of the steps in the history that made progress.
    pub(crate) progressed: u16,
}

/// Returns the first rule that a choice breaks, if any. `o` is the observation before the choice.
pub(crate) fn find_exploit(o: &Observation, attempt: &Attempt) -> Option<Exploit> {
    let history = &o.history;
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
    let share = |is: fn(ActKind) -> bool| history.count(is) + usize::from(is(act.kind));
    let keeps = share(|kind| kind == ActKind::KeepRegimen);
    if steps >= 4 && keeps * 10 > steps * 6 && act.kind == ActKind::KeepRegimen {
        return Some(Exploit::KeepAbuse);
    }
    let reviews = share(ActKind::is_review);
    if reviews >= 2 && reviews * 2 > steps && act.kind.is_review() {
        return Some(Exploit::ReviewAbuse);
    }
    let kept = history.last().and_then(|past| past.act).map(|act| act.kind);
    if act.kind == ActKind::KeepRegimen
        && kept == Some(ActKind::KeepRegimen)
        && o.has_serious_flag()
    {
        return Some(Exploit::NoopHighRisk);
    }
    retries(history, attempt.progressed, act).then_some(Exploit::FailedRetry)
}

impl Observation {
    /// Returns the exploit that an act would count as now, if any. The rules are public, but
    /// whether a step lowered the true risk is not; a repeated act is therefore predicted to be a
    /// failed retry unless a step since made visible progress.
    #[must_use]
    pub fn predicted_exploit(&self, act: Act) -> Option<Exploit> {
        let attempt = Attempt {
            act: Some(act),
            mismatch: false,
            withheld_choices: 0,
            progressed: self.visibly_progressed(),
        };
        find_exploit(self, &attempt)
    }

    /// Returns a bit mask of the steps that made visible progress.
    fn visibly_progressed(&self) -> u16 {
        let tapers = |past: &PastStep| past.act.is_some_and(|act| act.kind.is_taper());
        let seen = |past: &PastStep| past.gained || tapers(past) && past.violation.is_none();
        let steps = self.history.iter().enumerate();
        steps.fold(0, |bits, (at, past)| bits | u16::from(seen(past)) << at)
    }
}

/// Returns `true` if an information act repeats an earlier one without any progress since.
fn retries(history: &History, progressed: u16, act: Act) -> bool {
    if !act.kind.is_information() {
        return false;
    }
    // Index of the first step after the last one that made progress.
    let since = (u16::BITS - progressed.leading_zeros()) as usize;
    (history.iter().skip(since))
        .filter(|past| past.violation.is_none())
        .any(|past| past.act == Some(act))
}
