//! The worlds as Python sees them: features as one row of numbers, and actions as one number per
//! factor.

use std::ops::Range;

use sentinel_env::cluster::{ClusterEnv, GPUS_MAX, JOBS_MAX};
use sentinel_env::polyguard::{MAX_CANDIDATES, PolyguardEnv};
use sentinel_env::slot::SLOTS;
use sentinel_env::trust::TrustEnv;
use sentinel_env::{Environment, Protocol};
use sentinel_policy::cluster::learned::{ClusterNet, Factor};
use sentinel_policy::nn::{ActionOf, Choice, Network, NetworkWorld, ObservationOf, Published};
use sentinel_policy::text::TextWorld;

/// The features of a world's network.
pub(crate) type FeaturesOf<W> = <<W as NetworkWorld>::Net as Network>::Features;
/// The memory from which a world's features are computed.
pub(crate) type ObserverOf<W> = <<W as NetworkWorld>::Net as Network>::Observer;

/// A world of the Python package.
pub(crate) trait PythonWorld: Protocol + TextWorld + Published<Net: Default> {
    /// The number of rows of each of [`Network::FEATURE_SCHEMAS`].
    const ROWS: &'static [usize];

    /// Writes the features as one row: the rows of each schema after each other. `out` has the length
    /// of [`observation_size`].
    fn write_features(features: &FeaturesOf<Self>, out: &mut [f32]);

    /// Returns the number of values of each factor of an action in this episode's task.
    fn action_sizes(&self) -> Vec<usize> {
        let columns = <Self::Net as Network>::FACTOR_COLUMNS;
        columns.iter().map(ExactSizeIterator::len).collect()
    }

    /// Returns the name of each factor of an action.
    fn action_names() -> Vec<&'static str> {
        vec!["action"]
    }
}

/// Returns the number of features of an observation.
pub(crate) fn observation_size<W: PythonWorld>() -> usize {
    let schemas = <W::Net as Network>::FEATURE_SCHEMAS.iter();
    let sizes = schemas
        .zip(W::ROWS)
        .map(|(schema, rows)| schema.width() * rows);
    sizes.sum()
}

/// Copies rows of features into the beginning of `out`; returns the rest.
fn put<'a, const N: usize>(out: &'a mut [f32], rows: &[[f32; N]]) -> &'a mut [f32] {
    let (head, rest) = out.split_at_mut(rows.len() * N);
    head.copy_from_slice(rows.as_flattened());
    rest
}

impl PythonWorld for TrustEnv {
    const ROWS: &'static [usize] = &[SLOTS, 1];

    fn write_features(features: &FeaturesOf<Self>, out: &mut [f32]) {
        let rest = put(out, &features.slots);
        put(rest, &[features.global]);
    }
}

impl PythonWorld for ClusterEnv {
    const ROWS: &'static [usize] = &[JOBS_MAX, GPUS_MAX, SLOTS, 1];

    fn write_features(features: &FeaturesOf<Self>, out: &mut [f32]) {
        let rest = put(out, &features.jobs);
        let rest = put(rest, &features.gpus);
        let rest = put(rest, &features.workers);
        put(rest, &[features.global]);
    }

    /// Returns the sizes with the jobs and GPUs of the task, so that every action names something
    /// that exists.
    fn action_sizes(&self) -> Vec<usize> {
        let o = self.observation();
        let (jobs, gpus) = (o.jobs.rows().len(), o.gpus().len());
        let columns = <ClusterNet as Network>::FACTOR_COLUMNS.iter().enumerate();
        let size = |(index, columns): (usize, &Range<usize>)| match index {
            _ if index == Factor::AllocateGpu as usize => gpus,
            _ if columns.len() == JOBS_MAX => jobs,
            _ => columns.len(),
        };
        columns.map(size).collect()
    }

    fn action_names() -> Vec<&'static str> {
        vec![
            "kind",
            "allocate_job",
            "allocate_gpu",
            "allocate_worker",
            "preempt_job",
            "ask_job",
            "ask_worker",
            "verify_job",
            "verify_worker",
        ]
    }
}

impl PythonWorld for PolyguardEnv {
    const ROWS: &'static [usize] = &[MAX_CANDIDATES, 1];

    fn write_features(features: &FeaturesOf<Self>, out: &mut [f32]) {
        let rest = put(out, &features.candidates);
        put(rest, &[features.global]);
    }
}

/// The largest number of values of a factor.
pub(crate) const VALUES_MAX: usize = 1 << 16;

/// Converts the numbers of one action into `out`, which has one entry for each factor.
///
/// # Errors
/// Returns the error text if a number names no value of its factor, or is not below [`VALUES_MAX`].
pub(crate) fn check_values<W: PythonWorld>(
    values: &[i64],
    sizes: &[usize],
    out: &mut [u16],
) -> Result<(), String> {
    for (factor, ((value, size), out)) in values.iter().zip(sizes).zip(out).enumerate() {
        let known = u16::try_from(*value).ok();
        *out = known
            .filter(|known| usize::from(*known) < *size)
            .ok_or_else(|| {
                let (name, last) = (W::action_names()[factor], size - 1);
                format!("{name} is {value}, and must be 0 to {last}")
            })?;
    }
    Ok(())
}

/// Returns the action of checked values, one for each factor. Factors that the action does not use
/// are ignored.
pub(crate) fn decode<W: PythonWorld>(
    values: &[u16],
    observation: &ObservationOf<W::Net>,
) -> ActionOf<W::Net> {
    let mut choice = Choice::default();
    while let Some(factor) = <W::Net as Network>::next_factor(&choice) {
        let start = <W::Net as Network>::FACTOR_COLUMNS[factor].start;
        choice.push(start + usize::from(values[factor]));
    }
    <W::Net as Network>::decode_action(&choice, observation)
}

/// Returns the values of an action, 0 for unused factors; `None` if it leaves out a part that values
/// must name.
pub(crate) fn encode<W: PythonWorld>(
    action: ActionOf<W::Net>,
    observation: &ObservationOf<W::Net>,
) -> Option<Vec<i64>> {
    let columns = <W::Net as Network>::FACTOR_COLUMNS;
    let choice = <W::Net as Network>::encode_action(action, observation)?;
    let mut values = vec![0; columns.len()];
    for column in choice.chosen_columns() {
        let factor = columns.iter().position(|range| range.contains(&column))?;
        values[factor] = i64::try_from(column - columns[factor].start).ok()?;
    }
    Some(values)
}

/// Writes the mask of the values that can be chosen, factor after factor. `all` has room for every
/// column of the network, `out` for the values of [`PythonWorld::action_sizes`].
pub(crate) fn write_mask<W: PythonWorld>(
    observation: &ObservationOf<W::Net>,
    sizes: &[usize],
    all: &mut [bool],
    out: &mut [bool],
) {
    all.fill(false);
    <W::Net as Network>::action_mask(observation, all);
    let mut at = 0;
    for (columns, size) in <W::Net as Network>::FACTOR_COLUMNS.iter().zip(sizes) {
        let columns = columns.start..columns.start + size;
        out[at..at + size].copy_from_slice(&all[columns]);
        at += size;
    }
}
