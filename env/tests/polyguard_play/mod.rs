//! A cheap sequence of answers for the PolyGuard world, for tests.
#![allow(dead_code, reason = "not every test uses everything")]

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use sentinel_env::polyguard::{
    Action, CandidateId, Choice, Episode, FormularyName, Observation, Split, TaskSpec, Violation,
};

/// Returns all cells of both formularies and all splits.
pub(crate) fn cases() -> Vec<TaskSpec> {
    let mut all = Vec::new();
    for case in TaskSpec::ALL {
        for split in Split::ALL {
            all.extend(case.with_split(split));
        }
        all.extend(TaskSpec::new(
            FormularyName::Reference,
            case.sub_environment(),
            case.difficulty(),
            Split::All,
        ));
    }
    assert_eq!(all.len(), 76);
    assert_eq!(TaskSpec::ALL.len(), 24);
    all
}

/// Iterates over the cells of the extended formulary with a split.
pub(crate) fn cells(split: Split) -> impl Iterator<Item = TaskSpec> {
    let cases = TaskSpec::ALL.iter().map(move |case| case.with_split(split));
    cases.map(|case| case.expect("the extended formulary has splits"))
}

/// Returns one of the shown candidates, or the first id if none is shown, as after the end.
pub(crate) fn shown(o: &Observation, n: u32) -> CandidateId {
    let count = o.candidates.count().max(1);
    let shown = o.candidates.iter().nth(n as usize % count);
    shown.map_or(CandidateId::FIRST, |candidate| candidate.id)
}

/// Returns the `n`-th number of a cheap pseudo-random sequence.
pub(crate) fn noise(n: u32) -> u32 {
    n.wrapping_mul(2_654_435_761) >> 12
}

/// Returns the `n`-th answer: usually a shown candidate, sometimes any id or an unreadable answer.
pub(crate) fn answer(o: &Observation, n: u32) -> Action {
    let r = noise(n);
    match r % 24 {
        0 => Action::Invalid(Violation::ALL[(r >> 5) as usize % Violation::ALL.len()]),
        1 => CandidateId::new((1 + (r >> 5) % 10) as u8)
            .map_or(Action::Exploit, |id| Action::Choose(Choice::new(id))),
        2 if r.is_multiple_of(5) => Action::Exploit,
        3..14 => Action::with_grounded_rationale(o, shown(o, r >> 5)),
        _ => Action::Choose(Choice {
            repaired: r.is_multiple_of(3),
            fallback: r.is_multiple_of(31),
            ..Choice::new(shown(o, r >> 5))
        }),
    }
}

/// Plays shown candidates until the end.
pub(crate) fn play_out(episode: &mut Episode, start: u32) {
    let mut n = start;
    while !episode.observation().done() {
        let id = shown(episode.observation(), noise(n));
        assert!(episode.step(Action::Choose(Choice::new(id))).is_ok());
        n += 1;
    }
}

/// Checks that a refused step changed nothing but the counts of steps and refusals.
pub(crate) fn only_time_passed(before: &Episode, after: &Episode) {
    let (a, b) = (before.observation(), after.observation());
    assert_eq!(a.regimen, b.regimen);
    assert_eq!(a.flagged, b.flagged);
    assert_eq!(a.components, b.components);
    assert_eq!(a.conflict, b.conflict);
    assert_eq!(
        (a.step_count + 1, a.invalid_count + 1),
        (b.step_count, b.invalid_count)
    );
    assert_eq!(before.hidden().risk, after.hidden().risk);
    assert_eq!(before.hidden().stability, after.hidden().stability);
    for place in 0..a.regimen.len() {
        assert_eq!(before.hidden().truth(place), after.hidden().truth(place));
    }
}
