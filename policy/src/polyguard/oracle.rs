//! A privileged policy that looks one or two steps ahead in the true episode (spec polyguard §10).
//! It is a short-sighted reference, not a proven optimum.

use sentinel_env::PrivilegedState;
use sentinel_env::polyguard::{Action, CandidateId, Drug, EndReason, Episode, Issue, PolyguardEnv};
use sentinel_env::{Environment, Transition};

use crate::policy::PrivilegedPolicy;

/// A privileged policy that tries every candidate on a copy of the true episode.
#[derive(Clone, Copy, Debug)]
pub struct LookaheadOracle {
    depth: u8,
}

impl LookaheadOracle {
    /// Creates the policy with a look-ahead of `depth` steps.
    #[must_use]
    pub const fn new(depth: u8) -> Self {
        Self { depth }
    }
}

impl PrivilegedPolicy<PolyguardEnv> for LookaheadOracle {
    fn choose(&mut self, episode: &Episode) -> Action {
        let o = episode.observation();
        let best = best(episode, self.depth).map_or(CandidateId::FIRST, |(id, _)| id);
        Action::with_grounded_rationale(o, best)
    }
}

/// Returns the best candidate and its value; the first one on a tie.
fn best(episode: &Episode, depth: u8) -> Option<(CandidateId, f64)> {
    let mut best: Option<(CandidateId, f64)> = None;
    for candidate in episode.observation().candidates.iter() {
        let value = value(episode, candidate.id, depth);
        if best.is_none_or(|(_, known)| value > known) {
            best = Some((candidate.id, value));
        }
    }
    best
}

fn value(episode: &Episode, id: CandidateId, depth: u8) -> f64 {
    let mut next = episode.clone();
    let Ok(Transition { info: step, .. }) =
        next.step(Action::with_grounded_rationale(episode.observation(), id))
    else {
        return f64::NEG_INFINITY;
    };
    // A problem that is handed over for review does not count as solved.
    let handed_over = step
        .act
        .is_some_and(|act| act.kind.is_review() && step.violation.is_none());
    let now = step.total - if handed_over { 1.0 } else { 0.0 };
    match step.end {
        Some(EndReason::SafeResolution) => now + 3.0 * potential(&next) + 5.0 + ahead_of_end(&next),
        Some(EndReason::StepBudgetExhausted) => now + 3.0 * potential(&next),
        Some(_) => now + 3.0 * potential(&next) - 5.0,
        None if depth > 1 => now + best(&next, depth - 1).map_or(0.0, |(_, value)| value),
        None => now + 3.0 * potential(&next),
    }
}

/// Returns the number of steps that an early good end saves, so that ending is not delayed.
fn ahead_of_end(episode: &Episode) -> f64 {
    let o = episode.observation();
    f64::from(o.budget - o.step_count)
}

/// Returns a measure of the problems solved so far, with partial credit for those in progress.
fn potential(episode: &Episode) -> f64 {
    let hidden = episode.hidden();
    let new_pairs = episode.serious_pairs() & !hidden.start.serious;
    let mut sum = -1.2 * f64::from(episode.count_untreated()) - f64::from(new_pairs.count_ones());
    for issue in hidden.issues() {
        sum += if episode.is_resolved(issue) {
            1.0
        } else {
            on_its_way(episode, issue)
        };
    }
    sum
}

/// Returns the partial credit of an issue that is not resolved yet.
fn on_its_way(episode: &Episode, issue: Issue) -> f64 {
    let (o, hidden) = (episode.observation(), episode.hidden());
    let tapering = |ends: u64| {
        let rows = o
            .regimen
            .iter()
            .filter(|row| row.tapering && o.known_archetypes(row.drug) & ends != 0);
        let credits = rows.map(|row| 0.3 + 0.2 * (2.0 - f64::from(row.bucket as u8)));
        credits.fold(0.0, f64::max)
    };
    match issue {
        Issue::Pair(pair) | Issue::ComponentPair(pair) => {
            let pair = o.formulary().pair(pair);
            tapering(pair.first.bit() | pair.second.bit())
        }
        Issue::Set(rule) => {
            let members = o
                .regimen
                .iter()
                .filter(|row| row.tapering && o.is_member(rule, row));
            members
                .map(|row| tapering(o.known_archetypes(row.drug)))
                .fold(0.0, f64::max)
        }
        Issue::NoIndication(mark) => {
            let marked = (0..o.regimen.len()).filter(|at| hidden.truth(*at).mark == mark);
            marked
                .map(|at| tapering(o.known_archetypes(o.regimen[at].drug)))
                .fold(0.0, f64::max)
        }
        Issue::Culprit(culprit) => {
            let off =
                |row: &&sentinel_env::polyguard::Medication| row.prior > 0 && !row.is_active();
            let held = o.regimen.iter().filter(off).map(|row| row.drug);
            held.map(|drug| {
                if drug == Drug::Known(culprit) {
                    0.6
                } else {
                    -0.3
                }
            })
            .sum()
        }
        Issue::Dose(id) => o.regimen.position(Drug::Known(id)).map_or(0.0, |place| {
            let row = &o.regimen[place];
            let (low, high) = row.window(o.formulary());
            let met = row.is_active()
                && !row.tapering
                && (low..=high).contains(&episode.steady_state_exposure(place));
            let measured = if row.level.is_some() { 0.3 } else { 0.0 };
            measured + if met { 0.5 } else { 0.0 }
        }),
        _ => 0.0,
    }
}
