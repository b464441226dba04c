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
pub struct Matrix {
    node: Arc<Node>,
    values: Arc<Vec<f32>>,
}

/// A function from the gradient by a result to the gradient by one of its inputs. Only that of the
/// last input may change the gradient.
type Pullback = Box<dyn Fn(&mut Vec<f32>) -> Vec<f32> + Send + Sync>;

/// The origin of a matrix. The numbers of its inputs are kept only where a pullback needs them.
struct Node {
    /// A number larger than those of all matrices that this one was computed from.
    id: u64,
    shape: [usize; 2],
    is_parameter: bool,
    /// The inputs that depend on a parameter.
    inputs: Vec<(Arc<Self>, Pullback)>,
}

impl Node {
    /// Returns `true` for a parameter and for what was computed from one.
    fn has_gradient(&self) -> bool {
        self.is_parameter || !self.inputs.is_empty()
    }
}

impl Matrix {
    /// Creates a matrix from numbers in row-major order.
    fn new(shape: [usize; 2], values: Vec<f32>, is_parameter: bool) -> Self {
        Self::record(shape, Arc::new(values), is_parameter, Vec::new())
    }

    /// Creates a matrix that was computed from others. `inputs` returns each of them with its
    /// pullback; only those that depend on a parameter are kept.
    fn computed(
        shape: [usize; 2],
        values: impl Into<Arc<Vec<f32>>>,
        inputs: impl IntoIterator<Item = (Arc<Node>, Pullback)>,
    ) -> Self {
        let inputs = inputs.into_iter().filter(|(node, _)| node.has_gradient());
        Self::record(shape, values.into(), false, inputs.collect())
    }

    /// Creates a matrix that was computed from one other.
    fn computed_from(
        input: Arc<Node>,
        shape: [usize; 2],
        values: impl Into<Arc<Vec<f32>>>,
        pullback: impl Fn(&mut Vec<f32>) -> Vec<f32> + Send + Sync + 'static,
    ) -> Self {
        Self::computed(shape, values, [(input, Box::new(pullback) as Pullback)])
    }

    fn record(
        shape: [usize; 2],
        values: Arc<Vec<f32>>,
        is_parameter: bool,
        inputs: Vec<(Arc<Node>, Pullback)>,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        debug_assert_eq!(values.len(), shape[0] * shape[1], "a matrix of {shape:?}");
        let node = Arc::new(Node {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            shape,
            is_parameter,
            inputs,
        });
        Self { node, values }
    }

    fn shape(&self) -> [usize; 2] {
        self.node.shape
    }

    /// Returns the origin and the numbers, which are copied only if they are needed elsewhere.
    fn into_parts(self) -> (Arc<Node>, Vec<f32>) {
        let values = Arc::try_unwrap(self.values).unwrap_or_else(|shared| shared.to_vec());
        (self.node, values)
    }
}

/// Computes the gradients by all parameters that `outputs` depend on, from the gradients by the
/// outputs. The keys are the parameters' `id`.
///
/// The matrices are visited in the reverse order of their creation, so that the gradient by each is
/// complete before it is passed on.
fn backward(outputs: Vec<(Matrix, Vec<f32>)>) -> BTreeMap<u64, Vec<f32>> {
    let mut pending: BTreeMap<u64, (Arc<Node>, Vec<f32>)> = BTreeMap::new();
    let mut found = BTreeMap::new();
    for (output, gradient) in outputs {
        add(&mut pending, &output.node, gradient);
    }
    while let Some((id, (node, mut gradient))) = pending.pop_last() {
        for (input, pullback) in &node.inputs {
            add(&mut pending, input, pullback(&mut gradient));
        }
        if node.is_parameter {
            found.insert(id, gradient);
        }
    }
    found
}

/// Adds a part to the gradient by a matrix.
fn add(pending: &mut BTreeMap<u64, (Arc<Node>, Vec<f32>)>, node: &Arc<Node>, part: Vec<f32>) {
    let [rows, columns] = node.shape;
    debug_assert_eq!(part.len(), rows * columns, "a gradient by {:?}", node.shape);
    if let Some((_, sum)) = pending.get_mut(&node.id) {
        for (sum, part) in sum.iter_mut().zip(part) {
            *sum += part;
        }
    } else {
        pending.insert(node.id, (Arc::clone(node), part));
    }
}
