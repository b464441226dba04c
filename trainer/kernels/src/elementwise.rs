//! The gated unit of a feed-forward layer, `silu(gate) * up`.

use pulp::Arch;

use crate::exp::exp;
use crate::rows::Rows;

#[inline(always)]
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// Computes `silu(gate) * up`.
pub fn swiglu(gate: Rows<'_>, up: Rows<'_>, out: &mut [f32]) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let rows = gate.iter().zip(up.iter());
            for ((gate, up), out) in rows.zip(out.chunks_exact_mut(gate.width())) {
                for ((out, gate), up) in out.iter_mut().zip(gate).zip(up) {
                    *out = gate * sigmoid(*gate) * up;
                }
            }
        },
    );
}

/// Computes the gradients of [`swiglu`] from that of its result, `grad`.
pub fn swiglu_backward(
    gate: Rows<'_>,
    up: Rows<'_>,
    grad: &[f32],
    gate_grad: &mut [f32],
    up_grad: &mut [f32],
) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let width = gate.width();
            let rows = gate.iter().zip(up.iter()).zip(grad.chunks_exact(width));
            let out = gate_grad
                .chunks_exact_mut(width)
                .zip(up_grad.chunks_exact_mut(width));
            for (((gate, up), grad), (gate_grad, up_grad)) in rows.zip(out) {
                for at in 0..width {
                    let open = sigmoid(gate[at]);
                    up_grad[at] = grad[at] * gate[at] * open;
                    gate_grad[at] = grad[at] * up[at] * open * (1.0 + gate[at] * (1.0 - open));
                }
            }
        },
    );
}
