//! Products of activations with weights, each by the kernel that was fastest for its shape on an H200
//! (docs/benchmarks.md).

use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::NoCheckpointing;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, Ops, OpsKind};
use burn_cubecl::kernel::cast;
use cubek::matmul::definition::{MatmulElems, MatmulGlobalElems};
use cubek::matmul::launch::launch_ref;
use cubek::matmul::multi_level::Strategy as Routine;
use cubek::matmul::routine::BlueprintStrategy;
use cubek::matmul::strategy::Strategy;
use cubek::std::InputBinding;

use super::*;

/// Largest weight that up to [`FEW_ROWS`] rows read once each: it stays in the cache.
const SMALL_WEIGHT: usize = 5 << 20;
/// Largest number of rows with a block for each output.
const FEW_ROWS: usize = 16;

/// Computes `x Wᵀ` for `x`, `[rows, inputs]`, and a weight without gradient, `[outputs, inputs]`, in bf16 if one of them
/// is in bf16; returns it in the format of `x`, and with its gradient if `x` has one.
#[must_use]
pub fn matmul_weight(x: &Tensor<2>, weight: &Tensor<2>) -> Option<Tensor<2>> {
    let weight = dense(weight)?;
    if !x.is_autodiff() {
        return Some(Tensor::from_primitive::<Cube>(product(
            dense(x)?,
            weight,
            Side::Transposed,
        )?));
    }
    let x = x.clone().try_into_primitive::<Autodiff<Cube>>().ok()?;
    let (x, node) = x.into_parts();
    let out = product(into_contiguous(x), weight.clone(), Side::Transposed)?;
    let prepared = FrozenProduct
        .prepare::<NoCheckpointing>([node])
        .compute_bound()
        .stateful();
    Some(Tensor::from_primitive::<Autodiff<Cube>>(match prepared {
        OpsKind::Tracked(prepared) => prepared.finish(weight, out),
        OpsKind::UnTracked(prepared) => prepared.finish(out),
    }))
}

/// The gradient of `x Wᵀ` with respect to `x`.
#[derive(Debug)]
struct FrozenProduct;

impl Backward<Cube, 1> for FrozenProduct {
    type State = CubeTensor;

    fn backward(self, ops: Ops<CubeTensor, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let grad = grads.consume::<Cube>(&ops.node);
        let [parent] = ops.parents;
        if let Some(parent) = parent {
            let grad = product(into_contiguous(grad), ops.state, Side::Plain);
            grads.register::<Cube>(parent.id, grad.expect("the forward pass had this shape"));
        }
    }
}

/// The side of a weight, `[outputs, inputs]`, that is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// Multiplies rows with the weight as it is stored.
    Plain,
    /// Multiplies rows with the transposed weight.
    Transposed,
}

/// Multiplies rows with a weight, and returns the product in the format of `x`; `None` if it has no numbers.
fn product(x: CubeTensor, weight: CubeTensor, side: Side) -> Option<CubeTensor> {
    let [rows, _] = x.meta.shape().dims::<2>();
    let [outputs, inputs] = weight.meta.shape().dims::<2>();
    if rows * inputs * outputs == 0 {
        return None;
    }
    let (format, half) = (
        x.dtype,
        x.dtype == DType::BF16 || weight.dtype == DType::BF16,
    );
    let kind = if half { DType::BF16 } else { DType::F32 };
    let (x, weight) = (cast(x, kind), cast(weight, kind));
    let (mut rhs, mut width) = (weight, inputs);
    if side == Side::Transposed {
        rhs.meta.swap(0, 1);
        width = outputs;
    }
    let out = empty(&x, [rows, width], kind);
    let strategies = strategies(rows, outputs * inputs);
    let done = (strategies.iter()).any(|strategy| launch(strategy, x.clone(), rhs.clone(), &out));
    done.then(|| cast(out, format))
}

/// Returns the strategies to try, in this order: what a device does not support is refused before anything runs.
fn strategies(rows: usize, weight: usize) -> [Strategy; 2] {
    let first = if rows == 1 || (rows <= FEW_ROWS && weight <= SMALL_WEIGHT) {
        Routine::Gemm(BlueprintStrategy::default())
    } else {
        Routine::SpecializedTmaMma(BlueprintStrategy::Inferred(().into()))
    };
    [first.into(), Strategy::Auto]
}

/// Returns `false` if the device does not support the strategy for these shapes.
fn launch(strategy: &Strategy, lhs: CubeTensor, rhs: CubeTensor, out: &CubeTensor) -> bool {
    let client = out.client.clone();
    let kind = dtype_to_elem_type(out.dtype);
    let mut elems = MatmulElems::from_globals(&MatmulGlobalElems {
        lhs: kind,
        rhs: kind,
        out: kind,
    });
    let input = |tensor: CubeTensor| InputBinding::new(tensor.binding(), kind);
    launch_ref(
        strategy,
        &client,
        input(lhs),
        input(rhs),
        out.clone().binding(),
        &mut elems,
    )
    .is_ok()
}
