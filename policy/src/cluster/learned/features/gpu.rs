//! Features of one GPU.

use sentinel_env::cluster::{GPU_MEMORY, GpuState, GpuView};

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
    ],
);

/// Number of features of one GPU.
pub const PER_GPU: usize = SCHEMA.width();
const _: () = assert!(PER_GPU == 9, "a change needs a new feature version");

pub(super) fn features(view: &GpuView, odd: bool) -> [f32; PER_GPU] {
    let mut row = FeatureWriter::new(&SCHEMA);
    row.push_one_hot("state", GpuState::ALL.len(), Some(view.state as usize));
    row.push("free", f64::from(view.free) / f64::from(GPU_MEMORY));
    row.push("used", f64::from(view.used) / f64::from(GPU_MEMORY));
    row.push_bool("tampered", view.tampered);
    row.push_bool("odd", odd);
    row.finish()
}
