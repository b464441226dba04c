//! A weight prepared for many products with few rows.

use std::sync::Arc;

use burn::tensor::{DType, Device, Tensor};
use burn_flex::Flex;
use half::bf16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;
use sentinel_lm_kernels::{PackedWeight, has_fma};

use super::fused::{dense, flex_matrix, values};
use super::precision::matmul_weight;
use crate::parallel::{core_count, rows_per_core};

/// Smallest number of multiplications for which a product takes more than one core.
const MIN_SHARED_PRODUCT: usize = 1 << 20;

/// Smallest number of rows of which a core takes all outputs.
const MIN_ROWS_PER_CORE: usize = 64;

/// A frozen weight, `[outputs, inputs]`, in the order in which the device reads it best.
#[derive(Clone, Debug)]
pub(crate) enum PreparedWeight {
    /// On the processor: a copy, which decoding reads at the speed of memory.
    Packed(Arc<PackedWeight>),
    /// On a graphics processor, which has kernels for the tensor, or an old processor.
    Tensor(Box<Tensor<2>>),
}

impl PreparedWeight {
    /// Copies a weight of the processor, and takes another as it is.
    pub(crate) fn new(weight: Tensor<2>) -> Self {
        if weight.device() != Device::flex() || !has_fma() {
            return Self::Tensor(Box::new(weight));
        }
        let [outputs, inputs] = weight.dims();
        let is_half = weight.dtype() == DType::BF16;
        let kind = if is_half { DType::BF16 } else { DType::F32 };
        let weight = flex_matrix(weight.cast(kind));
        let packed = if is_half {
            let start = weight.layout().start_offset();
            let numbers = &weight.storage::<bf16>()[start..start + outputs * inputs];
            PackedWeight::from_bf16_bits(numbers.reinterpret_cast(), outputs, inputs)
        } else {
            PackedWeight::from_f32(values(&weight), outputs, inputs)
        };
        Self::Packed(Arc::new(packed))
    }

    /// Computes `x Wᵀ`, and returns it in the format of `x`. If the weight is in bf16, `x` and the product are rounded to
    /// it, as in [`matmul_weight`].
    pub(crate) fn product(&self, x: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Tensor(weight) => matmul_weight(x, weight.as_ref().clone()),
            Self::Packed(weight) => {
                let format = if weight.is_bf16() {
                    DType::BF16
                } else {
                    DType::F32
                };
                let (kind, rows) = (x.dtype(), x.dims()[0]);
                let x = flex_matrix(x.cast(format).cast(DType::F32));
                let product = product(weight, values(&x), rows);
                let product = dense(product, [rows, weight.outputs()]);
                let product = Tensor::<2>::from_primitive::<Flex>(product);
                product.cast(format).cast(kind)
            }
        }
    }
}

/// Returns `x Wᵀ`, `[rows, outputs]`. Cores divide large products by rows, or if there are few, by outputs.
fn product(weight: &PackedWeight, x: &[f32], rows: usize) -> Vec<f32> {
    let (inputs, outputs) = (weight.inputs(), weight.outputs());
    let mut out = vec![0.0; rows * outputs];
    let cores = core_count();
    if cores == 1 || rows * outputs * inputs < MIN_SHARED_PRODUCT {
        weight.product(x, 0, outputs, &mut out);
        return out;
    }
    if rows >= MIN_ROWS_PER_CORE * cores {
        let size = rows_per_core(rows, MIN_ROWS_PER_CORE);
        let parts: Vec<_> = (x.chunks(size * inputs))
            .zip(out.chunks_mut(size * outputs))
            .collect();
        let work = |(x, out): (&[f32], &mut [f32])| weight.product(x, 0, outputs, out);
        parts.into_par_iter().for_each(work);
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

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_tensor::{matrix, numbers};

    /// Outputs that are not a multiple of the parts, and an odd number of inputs.
    #[test]
    fn cores_divide_products_without_a_difference() -> Result<(), Box<dyn std::error::Error>> {
        let (outputs, inputs) = (130, 301);
        let values = |count: usize| (0..count).map(|at| (at * 37 % 101) as f32 / 64.0 - 0.75);
        let weight: Tensor<2> = matrix(
            values(outputs * inputs).collect(),
            [outputs, inputs],
            &Device::flex(),
        );
        for kind in [DType::F32, DType::BF16] {
            let prepared = PreparedWeight::new(weight.clone().cast(kind));
            for rows in [3, 40, 400] {
                let x: Tensor<2> = matrix(
                    values(rows * inputs).collect(),
                    [rows, inputs],
                    &Device::flex(),
                );
                let on = |cores: usize| -> Result<Vec<f32>, Box<dyn std::error::Error>> {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(cores).build()?;
                    Ok(numbers(pool.install(|| prepared.product(x.clone())))?)
                };
                let one = on(1)?;
                assert_eq!(on(2)?, one);
                assert_eq!(on(5)?, one);
                let expected = matmul_weight(x.clone(), weight.clone().cast(kind));
                for (found, expected) in one.iter().zip(numbers(expected)?) {
                    let near = if kind == DType::F32 { 1e-4 } else { 1e-2 };
                    assert!((found - expected).abs() <= near * expected.abs().max(1.0));
                }
            }
        }
        Ok(())
    }
}
