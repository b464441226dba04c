//! The RMS norm of rows, with its gradient.

use pulp::Arch;

use crate::reduce::{sum, sum_pairs};
use crate::rows::Rows;

/// Computes `x / sqrt(mean(x²) + epsilon) * weight` for each row, and writes the factor of each row,
/// which the gradient needs, to `factors`.
pub fn rms_norm(x: Rows<'_>, weight: &[f32], epsilon: f32, out: &mut [f32], factors: &mut [f32]) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let width = x.width();
            for ((x, out), factor) in x.iter().zip(out.chunks_exact_mut(width)).zip(factors) {
                let mean = sum(x, |x| x * x) / width as f32;
                *factor = 1.0 / (mean + epsilon).sqrt();
                for ((out, x), weight) in out.iter_mut().zip(x).zip(weight) {
                    *out = x * *factor * weight;
                }
            }
        },
    );
}

/// Computes the gradient of [`rms_norm`] with respect to `x` from that of its result, `grad`, and adds
/// the gradient with respect to the weight to `weight_grad` if it is not empty.
pub fn rms_norm_backward(
    x: Rows<'_>,
    weight: &[f32],
    factors: &[f32],
    grad: &[f32],
    out: &mut [f32],
    weight_grad: &mut [f32],
) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let width = x.width();
            let rows = x.iter().zip(factors).zip(grad.chunks_exact(width));
            for (((x, factor), grad), out) in rows.zip(out.chunks_exact_mut(width)) {
                for ((out, grad), weight) in out.iter_mut().zip(grad).zip(weight) {
                    *out = grad * weight;
                }
                let along = sum_pairs(out, x, |a, b| a * b) * factor * factor / width as f32;
                for (out, x) in out.iter_mut().zip(x) {
                    *out = factor * (*out - x * along);
                }
                for ((sum, grad), x) in weight_grad.iter_mut().zip(grad).zip(x) {
                    *sum += grad * x * factor;
                }
            }
        },
    );
}
