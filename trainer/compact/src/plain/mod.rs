//! Matrices with gradients in plain Rust, for programs without a tensor library: small, and with the
//! same bits on every target.
//!
//! A [`Matrix`] keeps the matrices that it was computed from, each with a function from the gradient
//! by the result to the gradient by that input (reverse-mode automatic differentiation). `ops.rs` has
//! the operations, `adamw.rs` the update of parameters. All sums have a fixed order, and `exp`, `ln`
//! and powers are those of [`libm`], since the ones of the standard library differ between targets.

mod adamw;
mod ops;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The processor, as the device of a [`Matrix`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu;

/// A matrix of `f32` in row-major order. A clone shares the numbers.
#[derive(Clone)]
pub struct Matrix(Arc<Node>);

/// A function from the gradient by a result to the gradient by one of its inputs.
type Pullback = Box<dyn Fn(&[f32]) -> Vec<f32> + Send + Sync>;

struct Node {
    /// A number larger than those of all matrices that this one was computed from.
    id: u64,
    shape: [usize; 2],
    values: Vec<f32>,
    is_parameter: bool,
    /// The inputs that depend on a parameter.
    inputs: Vec<(Matrix, Pullback)>,
}

impl Matrix {
    /// Creates a matrix from numbers in row-major order.
    fn new(shape: [usize; 2], values: Vec<f32>, is_parameter: bool) -> Self {
        Self::record(shape, values, is_parameter, Vec::new())
    }

    /// Creates a matrix that was computed from others. `inputs` returns each of them with its
    /// pullback; only those that depend on a parameter are kept.
    fn computed(
        shape: [usize; 2],
        values: Vec<f32>,
        inputs: impl IntoIterator<Item = (Self, Pullback)>,
    ) -> Self {
        let has_gradient = |(input, _): &(Self, _)| input.has_gradient();
        let inputs = inputs.into_iter().filter(has_gradient).collect();
        Self::record(shape, values, false, inputs)
    }

    fn record(
        shape: [usize; 2],
        values: Vec<f32>,
        is_parameter: bool,
        inputs: Vec<(Self, Pullback)>,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        debug_assert_eq!(values.len(), shape[0] * shape[1], "a matrix of {shape:?}");
        Self(Arc::new(Node {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            shape,
            values,
            is_parameter,
            inputs,
        }))
    }

    /// Returns `true` if the matrix is a parameter or was computed from one.
    fn has_gradient(&self) -> bool {
        self.0.is_parameter || !self.0.inputs.is_empty()
    }

    fn shape(&self) -> [usize; 2] {
        self.0.shape
    }

    fn numbers(&self) -> &[f32] {
        &self.0.values
    }

    /// Takes the numbers; copies them only if other matrices need them.
    fn into_numbers(self) -> Vec<f32> {
        match Arc::try_unwrap(self.0) {
            Ok(node) => node.values,
            Err(shared) => shared.values.clone(),
        }
    }
}

/// Computes the gradients by all parameters that `outputs` depend on, from the gradients by the
/// outputs.
///
/// The matrices are visited in the reverse order of their creation, so that the gradient by each is
/// complete before it is passed on.
fn backward(outputs: Vec<(Matrix, Vec<f32>)>) -> BTreeMap<u64, Vec<f32>> {
    let mut pending: BTreeMap<u64, (Matrix, Vec<f32>)> = BTreeMap::new();
    let mut found = BTreeMap::new();
    let add = |pending: &mut BTreeMap<u64, (Matrix, Vec<f32>)>, matrix: &Matrix, part: Vec<f32>| {
        debug_assert_eq!(
            part.len(),
            matrix.numbers().len(),
            "a gradient by {:?}",
            matrix.shape()
        );
        if let Some((_, sum)) = pending.get_mut(&matrix.0.id) {
            for (sum, part) in sum.iter_mut().zip(part) {
                *sum += part;
            }
        } else {
            pending.insert(matrix.0.id, (matrix.clone(), part));
        }
    };
    for (output, gradient) in outputs {
        add(&mut pending, &output, gradient);
    }
    while let Some((id, (matrix, gradient))) = pending.pop_last() {
        for (input, pullback) in &matrix.0.inputs {
            add(&mut pending, input, pullback(&gradient));
        }
        if matrix.0.is_parameter {
            found.insert(id, gradient);
        }
    }
    found
}
