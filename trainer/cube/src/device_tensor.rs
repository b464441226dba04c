//! The tensors that kernels read and write.

use burn::tensor::{DType, Int, Tensor};
use burn_backend::Shape;
use burn_cubecl::Cube;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;

/// Returns `true` for the formats of the kernels.
pub(crate) fn has_format<const D: usize>(tensor: &Tensor<D>) -> bool {
    matches!(tensor.dtype(), DType::F32 | DType::BF16)
}

/// Returns a tensor on a graphics processor, without gradients, in f32 or bf16; `None` for others.
pub(crate) fn on_device<const D: usize>(tensor: &Tensor<D>) -> Option<CubeTensor> {
    if !has_format(tensor) || tensor.is_autodiff() {
        return None;
    }
    tensor.clone().try_into_primitive::<Cube>().ok()
}

/// Returns `true` if the kernels can count this many numbers: they index with 32 bits.
fn can_count(numbers: usize) -> bool {
    u32::try_from(numbers).is_ok()
}

/// Returns a tensor with its numbers in row-major order without gaps, which can be a copy: the library pads rows on CUDA.
pub(crate) fn dense(tensor: CubeTensor) -> Option<CubeTensor> {
    can_count(tensor.meta.shape().num_elements()).then(|| into_contiguous(tensor))
}

/// Returns [`dense`] of a tensor in f32.
pub(crate) fn dense_f32(tensor: CubeTensor) -> Option<CubeTensor> {
    (tensor.dtype == DType::F32).then(|| dense(tensor))?
}

/// Returns a matrix whose rows are contiguous, with gaps between them or not; a copy of it if they are not.
pub(crate) fn with_contiguous_rows(matrix: CubeTensor) -> CubeTensor {
    let (width, strides) = (matrix.meta.shape()[1], matrix.meta.strides());
    if strides[1] == 1 && strides[0] >= width {
        return matrix;
    }
    let mut matrix = into_contiguous(matrix);
    if matrix.meta.shape()[0] == 1 {
        // Of a single row the library accepts any distance to the next one.
        matrix.meta.strides_mut()[0] = width;
    }
    matrix
}

/// Returns a matrix by [`with_contiguous_rows`], and the distance of the starts of its rows.
pub(crate) fn rows_of(matrix: CubeTensor) -> Option<(CubeTensor, usize)> {
    let matrix = with_contiguous_rows(matrix);
    let pitch = matrix.meta.strides()[0];
    can_count(matrix.meta.shape()[0] * pitch).then_some((matrix, pitch))
}

/// Returns `count` whole numbers of 32 bits on a graphics processor, without gaps; `None` for others.
pub(crate) fn whole_numbers(numbers: &Tensor<1, Int>, count: usize) -> Option<CubeTensor> {
    let numbers = into_contiguous(numbers.clone().try_into_primitive::<Cube>().ok()?);
    (numbers.dtype == DType::I32 && numbers.meta.shape()[0] == count).then_some(numbers)
}

/// Creates a tensor without values beside another one.
pub(crate) fn empty(beside: &CubeTensor, shape: impl Into<Shape>, kind: DType) -> CubeTensor {
    let (client, device) = (beside.client.clone(), beside.device.clone());
    empty_device_contiguous_dtype(client, device, shape.into(), kind)
}
