//! Provenance of fitted policies: the data that the file of a policy was fitted on.

use std::ops::Range;

use sentinel_env::polyguard::{Rules, Setup, Split, TaskSpec};
use serde::{Deserialize, Serialize};

use super::features::feature_names;

/// Command that writes the files of the fitted policies.
const COMMAND: &str = "cargo run --release -p sentinel-policy --example polyguard_fit";

/// Seeds of the episodes for fitting. Like all training seeds they are below 1 000 000.
pub const FIT_SEEDS: Range<u64> = 100_000..102_000;

/// The episodes that a policy was fitted on: one per seed, with the cases in rotation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Command that writes the file.
    pub command: String,
    /// First seed of the range.
    pub first_seed: u64,
    /// Number of episodes, one per seed.
    pub episodes: u64,
    /// Names of the cases, used in rotation.
    pub cells: Vec<String>,
    /// Name of the rules that the episodes were played under.
    pub rules: String,
    /// Names of the features, in order.
    pub features: Vec<String>,
}

impl Provenance {
    /// Creates the provenance of fitting on `seeds`, with all cases of the split `train`, under the
    /// hardened rules.
    #[must_use]
    pub fn from_seeds(seeds: &Range<u64>) -> Self {
        Self {
            command: COMMAND.to_owned(),
            first_seed: seeds.start,
            episodes: seeds.end - seeds.start,
            cells: cells().map(|case| case.name().to_owned()).collect(),
            rules: Rules::HARDENED.to_string(),
            features: feature_names().map(str::to_owned).collect(),
        }
    }

    /// Returns the range of seeds.
    #[must_use]
    pub const fn seeds(&self) -> Range<u64> {
        self.first_seed..self.first_seed + self.episodes
    }
}

/// Returns the cases of the split `train`.
fn cells() -> impl Iterator<Item = TaskSpec> + Clone {
    TaskSpec::ALL
        .iter()
        .filter_map(|case| case.with_split(Split::Train).ok())
}

/// Returns the setups of the episodes to fit on.
pub(super) fn setups(seeds: Range<u64>) -> impl Iterator<Item = Setup> {
    let cases = cells().cycle();
    seeds
        .zip(cases)
        .map(|(seed, case)| Setup::new(case, seed).with_rules(Rules::HARDENED))
}

/// Parses a fitted policy that is compiled into the program.
pub(super) fn builtin<T: for<'a> Deserialize<'a>>(text: &'static str) -> T {
    match serde_json::from_str(text) {
        Ok(fitted) => fitted,
        // Does not happen: tests parse every file.
        Err(e) => unreachable!("a shipped file is wrong: {e}"),
    }
}

/// Asserts that a compiled-in policy was fitted on training data only.
#[cfg(test)]
pub(super) fn assert_training_data_only(provenance: &Provenance) {
    let seeds = provenance.seeds();
    assert_eq!(seeds, FIT_SEEDS);
    assert!(seeds.end <= 1_000_000, "seeds from 1 000 000 are for tests");
    assert_eq!(provenance.cells.len(), 24);
    for name in &provenance.cells {
        let case = TaskSpec::parse(name).expect("a cell");
        assert_eq!(case.split(), Split::Train, "{name}");
    }
    assert_eq!(
        *provenance,
        Provenance::from_seeds(&seeds),
        "the file is of another build"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fit_setups_cycle_through_train_cells() {
        let all: Vec<Setup> = setups(FIT_SEEDS).collect();
        assert_eq!(all.len(), 2000);
        assert_eq!(all[0].task, all[24].task);
        assert_ne!(all[0].task, all[1].task);
        assert!(all.iter().all(|setup| setup.task.split() == Split::Train));
    }
}
