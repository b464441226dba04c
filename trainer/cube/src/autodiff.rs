//! Operations with gradients: a forward and a backward pass of kernels as one node of the library's graph.

use std::fmt::Debug;

use burn::tensor::Tensor;
use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::NoCheckpointing;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, NodeGuard, Ops, OpsKind};
use burn_cubecl::Cube;
use burn_cubecl::tensor::CubeTensor;

use super::device_tensor::{has_format, on_device};

/// An operation of `N` tensors on a graphics processor.
pub(crate) trait DeviceOp<const N: usize>: Debug + Send + 'static {
    /// Data that the gradient needs.
    type Saved: Clone + Debug + Send + 'static;

    /// Returns the result; `None` if no kernel computes these shapes.
    fn forward(&self, inputs: [CubeTensor; N]) -> Option<(CubeTensor, Self::Saved)>;

    /// Returns the gradients with respect to the inputs that are `wanted`, from that of the result.
    fn backward(
        &self,
        saved: Self::Saved,
        grad: CubeTensor,
        wanted: [bool; N],
    ) -> [Option<CubeTensor>; N];
}

#[derive(Debug)]
struct Gradient<Op>(Op);

impl<const N: usize, Op: DeviceOp<N>> Backward<Cube, N> for Gradient<Op> {
    type State = Op::Saved;

    fn backward(self, ops: Ops<Op::Saved, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let grad = grads.consume::<Cube>(&ops.node);
        let wanted = ops.parents.each_ref().map(Option::is_some);
        let found = self.0.backward(ops.state, grad, wanted);
        for (parent, grad) in ops.parents.into_iter().zip(found) {
            if let Some(parent) = parent {
                let grad = grad.expect("a gradient that was wanted");
                grads.register::<Cube>(parent.id, grad);
            }
        }
    }
}

/// Applies an operation, and records its gradient if an input has one; `None` for tensors of another device or format.
pub(crate) fn apply<const N: usize, const A: usize, const B: usize, Op: DeviceOp<N>>(
    op: Op,
    inputs: [&Tensor<A>; N],
) -> Option<Tensor<B>> {
    if !inputs.iter().any(|input| input.is_autodiff()) {
        let tensors: Option<Vec<_>> = inputs.into_iter().map(on_device).collect();
        let (out, _) = op.forward(tensors?.try_into().ok()?)?;
        return Some(Tensor::from_primitive::<Cube>(out));
    }
    let parts: Option<Vec<_>> = inputs.into_iter().map(with_node).collect();
    let (tensors, nodes): (Vec<_>, Vec<_>) = parts?.into_iter().unzip();
    let (out, saved) = op.forward(tensors.try_into().ok()?)?;
    let prepared = Gradient(op)
        .prepare::<NoCheckpointing>(nodes.try_into().ok()?)
        .compute_bound()
        .stateful();
    Some(Tensor::from_primitive::<Autodiff<Cube>>(match prepared {
        OpsKind::Tracked(prepared) => prepared.finish(saved, out),
        OpsKind::UnTracked(prepared) => prepared.finish(out),
    }))
}

/// Returns a tensor without its gradient, and its node in the graph.
fn with_node<const D: usize>(tensor: &Tensor<D>) -> Option<(CubeTensor, NodeGuard)> {
    has_format(tensor).then_some(())?;
    let tensor = tensor.clone().autodiff();
    let tensor = tensor.try_into_primitive::<Autodiff<Cube>>().ok()?;
    Some(tensor.into_parts())
}
