//! Dropout that depends on nothing but the seed and the place: a pass that is made twice, as
//! checkpointing does, leaves out the same numbers twice.

use burn::tensor::{Tensor, TensorData};

use crate::lm::random::Random;

/// Leaves out a share of the numbers and scales the others up.
pub(super) fn apply(x: Tensor<2>, share: f64, seed: u64, place: &str) -> Tensor<2> {
    let shape = x.dims();
    let mut random = Random::named(seed, place);
    let kept = (1.0 / (1.0 - share)) as f32;
    let draw = |_| if random.unit() < share { 0.0 } else { kept };
    let mask: Vec<f32> = (0..shape[0] * shape[1]).map(draw).collect();
    let device = x.device().without_autodiff();
    x * Tensor::from_data(TensorData::new(mask, shape), &device)
}
