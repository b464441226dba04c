//! Products of activations with weights, each by a kernel that is fast for its shape on an H200: docs/benchmarks.md.

use burn::tensor::{DType, Tensor};
use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::NoCheckpointing;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, Ops, OpsKind};
use burn_backend::cubecl::dtype_to_elem_type;
use burn_cubecl::Cube;
use burn_cubecl::kernel::cast;
use burn_cubecl::tensor::CubeTensor;
use cubek::matmul::definition::{MatmulElems, MatmulGlobalElems};
use cubek::matmul::launch::launch_ref;
use cubek::matmul::multi_level::Strategy as Routine;
use cubek::matmul::routine::BlueprintStrategy;
use cubek::matmul::strategy::Strategy;
use cubek::std::InputBinding;

use super::device_tensor::{empty, on_device, with_contiguous_rows};

/// Largest weight, in numbers, that is read once for each of several rows: it stays in the cache.
const SMALL_WEIGHT: usize = 5 << 20;
/// Largest number of rows for which a small weight is read once for each row.
const FEW_ROWS: usize = 16;
/// The bytes of which the distance of two rows must be a multiple for the tensor memory accelerator.
const TMA_ALIGNMENT: usize = 16;
/// The inputs of which a product by `Gemm` reads several at once.
const GEMM_INPUTS: usize = 32;

/// Computes `x Wᵀ` for `x`, `[rows, inputs]`, and a weight without gradient, `[outputs, inputs]`, in bf16 if one of them
/// is in bf16; returns it in the format of `x`, and with its gradient if `x` has one.
#[must_use]
pub fn matmul_weight(x: &Tensor<2>, weight: &Tensor<2>) -> Option<Tensor<2>> {
    let (width, inputs) = (x.dims()[1], weight.dims()[1]);
    if width != inputs {
        return None;
    }
    let weight = on_device(weight)?;
    if !x.is_autodiff() {
        let out = product(on_device(x)?, weight, Side::Transposed)?;
        return Some(Tensor::from_primitive::<Cube>(out));
    }
    let x = x.clone().try_into_primitive::<Autodiff<Cube>>().ok()?;
    let (x, node) = x.into_parts();
    let out = product(x, weight.clone(), Side::Transposed)?;
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
            let grad = product(grad, ops.state, Side::AsStored);
            grads.register::<Cube>(parent.id, grad.expect("the forward pass had numbers"));
        }
    }
}

/// The side of a weight, `[outputs, inputs]`, that is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// Multiplies rows with the weight as it is stored.
    AsStored,
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
    // The library pads rows, and `cast` does: gaps between them are kept, since a copy would take longer.
    let x = with_contiguous_rows(cast(x, kind));
    let mut weight = with_contiguous_rows(cast(weight, kind));
    let shape = ProductShape {
        rows,
        inputs: x.meta.shape()[1],
        weight: outputs * inputs,
        is_aligned: [&x, &weight].iter().all(|matrix| {
            let bytes = matrix.meta.strides()[0] * kind.size();
            bytes.is_multiple_of(TMA_ALIGNMENT)
        }),
        side,
    };
    let mut width = inputs;
    if side == Side::Transposed {
        weight.meta.swap(0, 1);
        width = outputs;
    }
    let out = empty(&x, [rows, width], kind);
    let done = (shape.strategies().iter())
        .any(|strategy| launch(strategy, x.clone(), weight.clone(), &out));
    done.then(|| cast(out, format))
}

/// The properties of a product that decide how it is computed.
struct ProductShape {
    rows: usize,
    /// Length of the sums.
    inputs: usize,
    /// Numbers of the weight.
    weight: usize,
    /// The rows of both factors start at multiples of [`TMA_ALIGNMENT`].
    is_aligned: bool,
    side: Side,
}

impl ProductShape {
    /// Returns the strategies to try in this order. The first is refused where the device has no such instructions; other
    /// conditions are checked only when it runs, so they are checked here.
    fn strategies(&self) -> Vec<Strategy> {
        let is_small = self.rows == 1 || (self.rows <= FEW_ROWS && self.weight <= SMALL_WEIGHT);
        let reads_rows = self.side == Side::Transposed && self.inputs.is_multiple_of(GEMM_INPUTS);
        let mut all = Vec::new();
        if is_small && reads_rows {
            all.push(Routine::Gemm(BlueprintStrategy::default()).into());
        } else if self.is_aligned {
            all.push(Routine::SpecializedTmaMma(BlueprintStrategy::Inferred(().into())).into());
        }
        all.push(Strategy::Auto);
        all
    }
}

/// Returns `false` if the device does not support the strategy.
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
