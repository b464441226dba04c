//! Features of one GPU.

use sentinel_env::cluster::{GPU_MEMORY, GpuState, GpuView};

use super::facts::ObservationFacts;
use crate::nn::{FeatureSchema, FeatureWriter};

/// Names of the features of one GPU, in order.
pub const SCHEMA: FeatureSchema = FeatureSchema::new(
    "gpu",
    &[
        "state=idle",
        "state=allocated",
        "state=overloaded",
        "state=failed",
        "state=recovering",
        "free",
        "used",
        "tampered",
        "odd",
        "fits_next",
        "left_after_next",
    ],
);

/// Number of features of one GPU.
pub const PER_GPU: usize = SCHEMA.width();
const _: () = assert!(PER_GPU == 11, "a change needs a new feature version");

pub(super) fn features(
    facts: &ObservationFacts<'_>,
    index: usize,
    view: &GpuView,
) -> [f32; PER_GPU] {
    let mut row = FeatureWriter::new(&SCHEMA);
    let share = |memory: f64| memory / f64::from(GPU_MEMORY);
    row.push_one_hot("state", GpuState::ALL.len(), Some(view.state as usize));
    row.push("free", share(f64::from(view.free)));
    row.push("used", share(f64::from(view.used)));
    row.push_bool("tampered", view.tampered);
    row.push_bool("odd", facts.odd[index]);
    let next = facts.next.and_then(|id| facts.o.jobs.get(id));
    let left = next.map(|job| f64::from(view.free) - f64::from(job.memory));
    row.push_bool("fits_next", left.is_some_and(|left| left >= 0.0));
    row.push("left_after_next", share(left.unwrap_or(0.0)));
    row.finish()
}
