//! A weight prepared for many products with few rows.

use std::sync::Arc;

use burn::tensor::{DType, Device, Tensor, TensorData};
use burn_flex::{Flex, FlexTensor};
use half::bf16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;
use sentinel_lm_kernels::{PackedWeight, multiplies_and_adds_at_once};

use super::precision::matmul_weight;

/// Smallest number of multiplications for which a product takes more than one core.
const MIN_SHARED_PRODUCT: usize = 1 << 20;

/// A frozen weight, `[outputs, inputs]`, in the order in which the device reads it best.
#[derive(Clone, Debug)]
pub(crate) enum PreparedWeight {
    /// On the processor: a copy in a format, which decoding reads at the speed of memory.
    Packed(Arc<PackedWeight>, DType),
    /// On a graphics processor, which has kernels for the tensor, or an old processor.
    Tensor(Tensor<2>),
}

impl PreparedWeight {
    /// Copies a weight of the processor, and takes another as it is.
    pub(crate) fn new(weight: Tensor<2>) -> Self {
        if weight.device() != Device::flex() || !multiplies_and_adds_at_once() {
            return Self::Tensor(weight);
        }
        let [outputs, inputs] = weight.dims();
        let is_half = weight.dtype() == DType::BF16;
        let kind = if is_half { DType::BF16 } else { DType::F32 };
        let weight = flex(weight.cast(kind));
        let start = weight.layout().start_offset();
        let numbers = start..start + outputs * inputs;
        let packed = if is_half {
            let numbers = &weight.storage::<bf16>()[numbers];
            PackedWeight::from_bf16_bits(numbers.reinterpret_cast(), outputs, inputs)
        } else {
            PackedWeight::from_f32(&weight.storage()[numbers], outputs, inputs)
        };
        Self::Packed(Arc::new(packed), kind)
    }

    /// Computes `x Wᵀ`, and returns it in the format of `x`. If the weight is in bf16, `x` and the product are rounded to
    /// it, as in [`matmul_weight`].
    pub(crate) fn product(&self, x: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Tensor(weight) => matmul_weight(x, weight.clone()),
            Self::Packed(weight, format) => {
                let (kind, rows) = (x.dtype(), x.dims()[0]);
                let x = flex(x.cast(*format).cast(DType::F32));
                let start = x.layout().start_offset();
                let x = &x.storage()[start..start + rows * weight.inputs()];
                let product = TensorData::new(product(weight, x, rows), [rows, weight.outputs()]);
                let product = FlexTensor::from_data(product);
                let product = Tensor::<2>::from_primitive::<Flex>(product);
                product.cast(*format).cast(kind)
            }
        }
    }
}

/// Returns the numbers of a tensor of the processor in row-major order.
///
/// # Panics
/// If the tensor is on another device.
fn flex(tensor: Tensor<2>) -> FlexTensor {
    let tensor = tensor.try_into_primitive::<Flex>();
    let tensor = tensor.expect("a tensor of the processor, without gradients");
    if tensor.is_contiguous() {
        tensor
    } else {
        tensor.to_contiguous()
    }
}

/// Returns `x Wᵀ`, `[rows, outputs]`. Large products are divided among the cores by their outputs.
fn product(weight: &PackedWeight, x: &[f32], rows: usize) -> Vec<f32> {
    let outputs = weight.outputs();
    let mut out = vec![0.0; rows * outputs];
    let cores = rayon::current_num_threads();
    if cores == 1 || rows * outputs * weight.inputs() < MIN_SHARED_PRODUCT {
        weight.product(x, 0, outputs, &mut out);
        return out;
    }
    let size = weight.part_size(cores);
    let starts: Vec<usize> = (0..outputs).step_by(size).collect();
    let of_part = |first: &usize| {
        let width = size.min(outputs - first);
        let mut part = vec![0.0; rows * width];
        weight.product(x, *first, width, &mut part);
        (*first, width, part)
    };
    let parts: Vec<_> = starts.par_iter().map(of_part).collect();
    for (first, width, part) in parts {
        let rows = out.chunks_exact_mut(outputs).zip(part.chunks_exact(width));
        rows.for_each(|(out, part)| out[first..first + width].copy_from_slice(part));
    }
    out
}
