//! Products of activations with weights, each by a kernel that is fast for its shape on an H200: docs/benchmarks.md.

use burn::tensor::{DType, Tensor};
use burn_backend::cubecl::dtype_to_elem_type;
use burn_cubecl::kernel::cast;
use burn_cubecl::tensor::CubeTensor;
use cubek::matmul::definition::{MatmulElems, MatmulGlobalElems};
use cubek::matmul::launch::launch_ref;
use cubek::matmul::multi_level::Strategy as Routine;
use cubek::matmul::routine::BlueprintStrategy;
use cubek::matmul::strategy::Strategy;
use cubek::std::InputBinding;

use super::autodiff::{DeviceOp, apply};
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
    let weight = on_device(weight)?;
    apply(FrozenProduct { weight }, [x])
}

#[derive(Debug)]
struct FrozenProduct {
    weight: CubeTensor,
}

impl DeviceOp<1> for FrozenProduct {
    type Saved = ();

    fn forward(&self, [x]: [CubeTensor; 1]) -> Option<(CubeTensor, ())> {
        Some((product(x, self.weight.clone(), Side::Transposed)?, ()))
    }

    fn backward(&self, (): (), grad: CubeTensor, _: [bool; 1]) -> [Option<CubeTensor>; 1] {
        [product(grad, self.weight.clone(), Side::AsStored)]
    }
}

/// The side of a weight, `[outputs, inputs]`, that is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Multiplies rows with the weight as it is stored.
    AsStored,
    /// Multiplies rows with the transposed weight.
    Transposed,
}

/// Multiplies rows with a weight, and returns the product, in contiguous rows, in the format of `x`; `None` if it has no numbers
/// or the widths differ.
pub(crate) fn product(x: CubeTensor, weight: CubeTensor, side: Side) -> Option<CubeTensor> {
    let [rows, _] = x.meta.shape().dims::<2>();
    let [outputs, inputs] = weight.meta.shape().dims::<2>();
    let (width, read) = match side {
        Side::AsStored => (inputs, outputs),
        Side::Transposed => (outputs, inputs),
    };
    if rows * inputs * outputs == 0 || x.meta.shape()[1] != read {
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
        inputs: read,
        weight: outputs * inputs,
        is_aligned: [&x, &weight].iter().all(|matrix| {
            let bytes = matrix.meta.strides()[0] * kind.size();
            bytes.is_multiple_of(TMA_ALIGNMENT)
        }),
        side,
    };
    if side == Side::Transposed {
        weight.meta.swap(0, 1);
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
