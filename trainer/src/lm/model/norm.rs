//! The norm of Qwen2.

use burn::tensor::Tensor;

/// Each row over the root of its mean square, times the weight.
pub(super) fn rms(x: Tensor<2>, weight: Tensor<2>, epsilon: f64) -> Tensor<2> {
    let mean = x.clone().square().mean_dim(1);
    let scale = mean.add_scalar(epsilon).sqrt().recip();
    x * scale * weight
}
