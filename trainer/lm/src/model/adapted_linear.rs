//! A linear layer as one operation on the processor: with a frozen weight and perhaps a trained adapter, or with a
//! trained weight.
//!
//! Weights and inputs are not copied for a product, and the adapter takes no pass over the output of its own.

use burn::tensor::Tensor;
use burn_flex::{Flex, FlexTensor};
use rayon::prelude::*;
use sentinel_lm_kernels::{Adapter, Factors, LinearShape, has_fma, matmul, transpose};

use super::fused::{self, FusedOp, apply, contiguous, dense, flex_matrix, values};
use crate::parallel::rows_per_core;

/// Smallest number of rows that a core takes of a product. A core that computes a part of a batch is rarely helped by others.
const MIN_ROWS_PER_CORE: usize = 192;

/// A frozen weight, `[outputs, inputs]`, and the scale of the adapter.
#[derive(Clone, Debug)]
struct FrozenLinear {
    weight: FlexTensor,
    scale: f32,
}

/// The inputs of the gradients of a layer: its own input, the adapter, A and B, and `scale x Aᵀ`, `[rows, rank]`.
#[derive(Clone, Debug)]
struct SavedInput {
    x: FlexTensor,
    adapter: Option<[FlexTensor; 2]>,
    thin: Vec<f32>,
}

impl FrozenLinear {
    fn new(weight: Tensor<2>, scale: f64) -> Self {
        Self {
            weight: flex_matrix(weight),
            scale: scale as f32,
        }
    }

    /// Returns the sizes of the layer, and the number of rows of its input.
    fn shape(&self, x: &FlexTensor, adapter: Option<&[FlexTensor; 2]>) -> (LinearShape, usize) {
        let [outputs, inputs]: [usize; 2] = self.weight.layout().shape().dims();
        let rank = adapter.map_or(0, |[a, _]| a.layout().shape()[0]);
        let shape = LinearShape {
            inputs,
            outputs,
            rank,
        };
        (shape, x.layout().shape()[0])
    }

    fn compute(&self, x: FlexTensor, adapter: Option<[FlexTensor; 2]>) -> (FlexTensor, SavedInput) {
        let (x, adapter) = (contiguous(x), adapter.map(|pair| pair.map(contiguous)));
        let (shape, rows) = self.shape(&x, adapter.as_ref());
        let LinearShape {
            inputs,
            outputs,
            rank,
        } = shape;
        let [a, b] = adapter_values(adapter.as_ref());
        let adapter_values = Adapter {
            a,
            b,
            scale: self.scale,
        };
        let (mut y, mut thin) = (vec![0.0; rows * outputs], vec![0.0; rows * rank]);
        let size = rows_per_core(rows, MIN_ROWS_PER_CORE);
        let parts: Vec<_> = (values(&x).chunks((size * inputs).max(1)))
            .zip(y.chunks_mut((size * outputs).max(1)))
            .zip(row_chunks(&mut thin, size, rank))
            .collect();
        let weight = values(&self.weight);
        parts.into_par_iter().for_each(|((x, y), thin)| {
            sentinel_lm_kernels::adapted_linear(x, weight, adapter_values, shape, y, thin);
        });
        let saved = SavedInput { x, adapter, thin };
        (dense(y, [rows, outputs]), saved)
    }

    /// Returns the gradient with respect to the input, and those with respect to A and B.
    fn gradients(
        &self,
        saved: &SavedInput,
        grad: FlexTensor,
    ) -> (FlexTensor, Option<[FlexTensor; 2]>) {
        let (shape, rows) = self.shape(&saved.x, saved.adapter.as_ref());
        let LinearShape {
            inputs,
            outputs,
            rank,
        } = shape;
        let grad = contiguous(grad);
        let (grad, x) = (values(&grad), values(&saved.x));
        let [a, b] = adapter_values(saved.adapter.as_ref());
        let mut thin_grad = product(grad, outputs, b, rank);
        for value in &mut thin_grad {
            *value *= self.scale;
        }
        let mut x_grad = vec![0.0; rows * inputs];
        let size = rows_per_core(rows, MIN_ROWS_PER_CORE);
        let parts: Vec<_> = (grad.chunks((size * outputs).max(1)))
            .zip(x_grad.chunks_mut((size * inputs).max(1)))
            .zip(row_chunks(&mut thin_grad, size, rank))
            .collect();
        let weight = values(&self.weight);
        parts
            .into_par_iter()
            .for_each(|((grad, x_grad), thin_grad)| {
                let of_weight = Factors {
                    left: grad,
                    right: weight,
                    inputs: outputs,
                };
                let of_adapter = Factors {
                    left: thin_grad,
                    right: a,
                    inputs: rank,
                };
                matmul(&[of_weight, of_adapter], inputs, x_grad);
            });
        let of_adapter = saved.adapter.is_some().then(|| {
            let a_grad = product(&transpose(&thin_grad, rank), rows, x, inputs);
            let b_grad = product(&transpose(&saved.thin, rank), rows, grad, outputs);
            [
                dense(a_grad, [rank, inputs]),
                dense(transpose(&b_grad, outputs), [outputs, rank]),
            ]
        });
        (dense(x_grad, [rows, inputs]), of_adapter)
    }
}

impl FusedOp<1> for FrozenLinear {
    type Saved = SavedInput;

    fn forward(&self, [x]: [FlexTensor; 1]) -> (FlexTensor, SavedInput) {
        self.compute(x, None)
    }

    fn backward(&self, saved: SavedInput, grad: FlexTensor) -> [FlexTensor; 1] {
        [self.gradients(&saved, grad).0]
    }
}

impl FusedOp<3> for FrozenLinear {
    type Saved = SavedInput;

    fn forward(&self, [x, a, b]: [FlexTensor; 3]) -> (FlexTensor, SavedInput) {
        self.compute(x, Some([a, b]))
    }

    fn backward(&self, saved: SavedInput, grad: FlexTensor) -> [FlexTensor; 3] {
        let (x, adapter) = self.gradients(&saved, grad);
        let [a, b] = adapter.expect("the layer has an adapter");
        [x, a, b]
    }
}

/// A trained weight, the second input of the operation.
#[derive(Debug)]
struct TrainedLinear;

impl FusedOp<2> for TrainedLinear {
    type Saved = (FrozenLinear, SavedInput);

    fn forward(&self, [x, weight]: [FlexTensor; 2]) -> (FlexTensor, Self::Saved) {
        let layer = FrozenLinear {
            weight: contiguous(weight),
            scale: 1.0,
        };
        let (y, saved) = layer.compute(x, None);
        (y, (layer, saved))
    }

    fn backward(&self, (layer, saved): Self::Saved, grad: FlexTensor) -> [FlexTensor; 2] {
        let grad = contiguous(grad);
        let [rows, outputs]: [usize; 2] = grad.layout().shape().dims();
        let inputs = saved.x.layout().shape()[1];
        let transposed = transpose(values(&grad), outputs);
        let weight_grad = product(&transposed, rows, values(&saved.x), inputs);
        let (x_grad, _) = layer.gradients(&saved, grad);
        [x_grad, dense(weight_grad, [outputs, inputs])]
    }
}

/// Returns the numbers of A and B, none without an adapter.
fn adapter_values(adapter: Option<&[FlexTensor; 2]>) -> [&[f32]; 2] {
    adapter.map_or([&[]; 2], |[a, b]| [values(a), values(b)])
}

/// Divides a matrix into parts of `size` rows; without columns, every part is empty.
fn row_chunks(
    matrix: &mut [f32],
    size: usize,
    columns: usize,
) -> Box<dyn Iterator<Item = &mut [f32]> + '_> {
    if columns == 0 {
        Box::new(std::iter::repeat_with(|| &mut [][..]))
    } else {
        Box::new(matrix.chunks_mut(size * columns))
    }
}

/// Returns the product of two matrices, `[rows, inputs]` and `[inputs, width]`; the cores divide a large one.
fn product(left: &[f32], inputs: usize, right: &[f32], width: usize) -> Vec<f32> {
    let rows = left.len().checked_div(inputs).unwrap_or(0);
    let (mut out, size) = (
        vec![0.0; rows * width],
        rows_per_core(rows, MIN_ROWS_PER_CORE),
    );
    let parts: Vec<_> = (left.chunks((size * inputs).max(1)))
        .zip(out.chunks_mut((size * width).max(1)))
        .collect();
    parts.into_par_iter().for_each(|(left, out)| {
        let factors = Factors {
            left,
            right,
            inputs,
        };
        matmul(&[factors], width, out);
    });
    out
}

/// Computes `x Wᵀ`; `None` if this module does not apply: a factor is not in f32 on the processor, or the processor is too
/// old.
pub(super) fn linear(x: &Tensor<2>, weight: &Tensor<2>) -> Option<Tensor<2>> {
    if !applies(x, weight) {
        return None;
    }
    Some(if weight.is_autodiff() {
        apply(TrainedLinear, [x.clone(), weight.clone()])
    } else {
        apply(FrozenLinear::new(weight.clone(), 1.0), [x.clone()])
    })
}

/// Computes `x Wᵀ + scale x Aᵀ Bᵀ` for a frozen weight; `None` where [`linear`] does not apply, and for a trained weight.
pub(super) fn adapted_linear(
    x: &Tensor<2>,
    weight: &Tensor<2>,
    [a, b]: [&Tensor<2>; 2],
    scale: f64,
) -> Option<Tensor<2>> {
    if !applies(x, weight) || weight.is_autodiff() {
        return None;
    }
    let op = FrozenLinear::new(weight.clone(), scale);
    Some(apply(op, [x.clone(), a.clone(), b.clone()]))
}

/// Computes the product of two matrices without gradients; `None` where [`linear`] does not apply.
pub(super) fn plain_product(left: &Tensor<2>, right: &Tensor<2>) -> Option<Tensor<2>> {
    if !applies(left, right) {
        return None;
    }
    let ([rows, inputs], [_, width]) = (left.dims(), right.dims());
    let [left, right] = [left, right].map(|matrix| flex_matrix(matrix.clone()));
    let product = product(values(&left), inputs, values(&right), width);
    Some(Tensor::from_primitive::<Flex>(dense(
        product,
        [rows, width],
    )))
}

fn applies(x: &Tensor<2>, weight: &Tensor<2>) -> bool {
    fused::applies(x) && fused::applies(weight) && has_fma()
}
