//! AdamW on one parameter, and the squares of gradients for its clipping.

use burn::tensor::{DType, Tensor};
use burn_cubecl::Cube;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::{Tensor as Buffer, *};

use super::block::{MAX_UNITS, UNITS, block_sum, blocks_of_numbers, number_of_thread, units};
use super::device_tensor::{dense_f32, empty, on_device};

/// Largest number of numbers that one block adds.
const MAX_NUMBERS: usize = 1 << 20;

/// A step of AdamW.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamWStep {
    /// Learning rate, not yet corrected for the moments.
    pub learning_rate: f64,
    /// Decay rates of both moments.
    pub betas: [f32; 2],
    /// Term added to the square root of the second moment.
    pub epsilon: f32,
    /// Decoupled weight decay of AdamW.
    pub weight_decay: f32,
    /// Factor of the gradient.
    pub clip_factor: f64,
    /// Number of the step, 1 for the first.
    pub time: usize,
}

/// Applies a step to a parameter in f32 with both moments, which are 0 before the first step; returns the parameter and the
/// moments after it.
#[must_use]
pub fn adamw(
    value: &Tensor<2>,
    grad: &Tensor<2>,
    moments: Option<[&Tensor<2>; 2]>,
    step: AdamWStep,
) -> Option<[Tensor<2>; 3]> {
    let count = value.shape().num_elements();
    on_device(value)?;
    let [first, second] = match moments {
        Some(moments) => moments.map(Clone::clone),
        None => [(); 2].map(|()| Tensor::zeros(value.dims(), &value.device())),
    };
    let inputs: Option<Vec<CubeTensor>> = [value, grad, &first, &second]
        .into_iter()
        .map(|tensor| dense_f32(on_device(tensor)?))
        .collect();
    let inputs = inputs?;
    let has_count = |tensor: &CubeTensor| tensor.meta.shape().num_elements() == count;
    if count == 0 || !inputs.iter().all(has_count) {
        return None;
    }
    let [value, grad, first, second] = <[CubeTensor; 4]>::try_from(inputs).ok()?;
    let out = [(); 3].map(|()| empty(&value, value.meta.shape().clone(), DType::F32));
    let units = units(&value, UNITS);
    let time = i32::try_from(step.time).unwrap_or(i32::MAX);
    let [beta1, beta2] = step.betas;
    adamw_kernel::launch(
        &value.client.clone(),
        blocks_of_numbers(count, units),
        CubeDim::new_1d(units),
        value.into_tensor_arg(),
        grad.into_tensor_arg(),
        first.into_tensor_arg(),
        second.into_tensor_arg(),
        out[0].clone().into_tensor_arg(),
        out[1].clone().into_tensor_arg(),
        out[2].clone().into_tensor_arg(),
        count,
        step.clip_factor as f32,
        beta1,
        beta2,
        1.0 - beta1.powi(time),
        1.0 - beta2.powi(time),
        step.epsilon,
        (1.0 - step.learning_rate * f64::from(step.weight_decay)) as f32,
        step.learning_rate as f32,
    );
    Some(out.map(Tensor::from_primitive::<Cube>))
}

#[cube(launch)]
fn adamw_kernel(
    value: &Buffer<f32>,
    grad: &Buffer<f32>,
    first: &Buffer<f32>,
    second: &Buffer<f32>,
    new_value: &mut Buffer<f32>,
    new_first: &mut Buffer<f32>,
    new_second: &mut Buffer<f32>,
    count: usize,
    clip_factor: f32,
    beta1: f32,
    beta2: f32,
    correction1: f32,
    correction2: f32,
    epsilon: f32,
    kept: f32,
    learning_rate: f32,
) {
    let at = number_of_thread();
    if at < count {
        let grad = grad[at] * clip_factor;
        let first = first[at] * beta1 + grad * (f32::new(1.0) - beta1);
        let second = second[at] * beta2 + grad * grad * (f32::new(1.0) - beta2);
        let delta = first / correction1 / ((second / correction2).sqrt() + epsilon);
        new_first[at] = first;
        new_second[at] = second;
        new_value[at] = value[at] * kept - delta * learning_rate;
    }
}

/// Returns the sum of the squares of each tensor in f32; `None` if one has more numbers than a block should add.
#[must_use]
pub fn sums_of_squares<'a>(tensors: impl IntoIterator<Item = &'a Tensor<2>>) -> Option<Tensor<1>> {
    let small = |tensor: &Tensor<2>| tensor.shape().num_elements() <= MAX_NUMBERS;
    let tensors: Option<Vec<CubeTensor>> = (tensors.into_iter())
        .map(|tensor| small(tensor).then(|| dense_f32(on_device(tensor)?))?)
        .collect();
    let tensors = tensors?;
    let first = tensors.first()?;
    let (out, units) = (
        empty(first, [tensors.len()], DType::F32),
        units(first, MAX_UNITS),
    );
    for (index, tensor) in tensors.iter().enumerate() {
        sum_of_squares_kernel::launch(
            &tensor.client.clone(),
            CubeCount::Static(1, 1, 1),
            CubeDim::new_1d(units),
            tensor.clone().into_tensor_arg(),
            out.clone().into_tensor_arg(),
            tensor.meta.shape().num_elements(),
            index,
            units,
        );
    }
    Some(Tensor::from_primitive::<Cube>(out))
}

#[cube(launch)]
fn sum_of_squares_kernel(
    x: &Buffer<f32>,
    out: &mut Buffer<f32>,
    count: usize,
    index: usize,
    #[comptime] units: u32,
) {
    let mut shared = Shared::<[f32]>::new_slice(units as usize);
    let mut sum = f32::new(0.0);
    let mut i = UNIT_POS as usize;
    while i < count {
        sum += x[i] * x[i];
        i += units as usize;
    }
    let total = block_sum(sum, &mut shared, units);
    if UNIT_POS == 0 {
        out[index] = total;
    }
}
