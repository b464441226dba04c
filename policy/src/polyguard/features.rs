//! The 23 features of a candidate that fitted policies use (spec polyguard §10).

use sentinel_env::polyguard::{ActKind, Candidate, LAB_COUNT, Medication, Observation};

/// Number of features of a candidate: 13 kinds of acts, a constant and 9 numbers.
pub const FEATURES: usize = 23;

/// Number of kinds of acts.
const KINDS: usize = ActKind::ALL.len();

/// Names of the features after the kinds, in order.
const NAMES: [&str; FEATURES - KINDS] = [
    "bias",
    "est_risk",
    "est_delta",
    "obs_risk",
    "burden",
    "uncertainty",
    "steps_left",
    "labs_missing",
    "suspicion",
    "no_indication",
];

/// The features of one candidate.
pub type Features = [f64; FEATURES];

/// Returns the names of all features, in order. The features of the kinds are a one-hot group.
pub fn feature_names() -> impl Iterator<Item = &'static str> {
    ActKind::ALL.iter().map(|kind| kind.name()).chain(NAMES)
}

/// Returns the features of a candidate of an observation, each of about unit size.
///
/// Five of the numbers, and the constant, are the same for all candidates of a step. They cannot
/// change how a linear model ranks candidates, but they help it to predict rewards.
#[must_use]
pub fn features(o: &Observation, candidate: &Candidate) -> Features {
    let row = candidate.act.drug.and_then(|drug| o.regimen.find(drug));
    let suspected = row.map_or(0, |row| o.count_suspected_pairs(row));
    let no_indication = row.is_some_and(|row: &Medication| row.indication.is_none());
    let left = f64::from(o.budget.saturating_sub(o.step_count));
    let numbers = [
        1.0,
        candidate.est_risk,
        candidate.est_delta,
        o.risk,
        o.burden,
        o.uncertainty,
        left / f64::from(o.budget.max(1)),
        o.labs.missing() as f64 / LAB_COUNT as f64,
        f64::from(suspected) / 5.0,
        if no_indication { 1.0 } else { 0.0 },
    ];
    let mut all = [0.0; FEATURES];
    all[candidate.act.kind as usize] = 1.0;
    all[KINDS..].copy_from_slice(&numbers);
    all
}

/// Returns the dot product, summed from left to right.
#[must_use]
pub(super) fn dot(a: &Features, b: &Features) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use sentinel_env::Environment;
    use sentinel_env::polyguard::{Episode, Setup, TaskSpec};

    use super::*;

    #[test]
    fn features_have_one_hot_kind_and_bounded_values() {
        assert_eq!(feature_names().count(), FEATURES);
        let (mut flagged, mut suspected) = (0, 0);
        for case in TaskSpec::ALL {
            for seed in 0..10 {
                let episode = Episode::reset(&Setup::new(case, seed));
                let o = episode.observation();
                for candidate in o.candidates.iter() {
                    let all = features(o, candidate);
                    assert_eq!(all[..KINDS].iter().sum::<f64>(), 1.0);
                    assert_eq!(all[candidate.act.kind as usize], 1.0);
                    assert_eq!(all[KINDS], 1.0, "bias");
                    assert_eq!(all[KINDS + 2], candidate.est_risk - o.risk);
                    assert_eq!(all[KINDS + 6], 1.0, "all steps are left");
                    assert!(all.iter().all(|v| (-1.0..=3.0).contains(v)), "{all:?}");
                    suspected += usize::from(all[FEATURES - 2] > 0.0);
                    flagged += usize::from(all[FEATURES - 1] > 0.0);
                }
            }
        }
        assert!(flagged > 20 && suspected > 200, "{flagged} {suspected}");
    }
}
