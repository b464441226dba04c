//! What is shown of one GPU.

use sentinel_env::cluster::{GPU_MEMORY, GpuState, GpuView};

use crate::learned::Row;

/// Features of one GPU.
pub const PER_GPU: usize = 9;

pub(super) fn features(view: &GpuView, odd: bool) -> [f32; PER_GPU] {
    let mut row = Row::new();
    row.one_hot(GpuState::ALL.len(), Some(view.state as usize));
    row.push(f64::from(view.free) / f64::from(GPU_MEMORY));
    row.push(f64::from(view.used) / f64::from(GPU_MEMORY));
    row.flag(view.tampered);
    row.flag(odd);
    row.finish()
}
