//! The inner loops of a forward pass, over slices of `f32`, and the products of matrices of training.
//!
//! They are a crate of their own because a Cargo profile applies to a whole crate: the page compiles
//! this one for speed and everything else for size. The order of the additions is part of the
//! contract: committed models choose the same actions, bit for bit, on every target. A vector
//! therefore holds four outputs, each of which is summed in the order of the inputs.
//!
//! In wasm the functions are not `inline`: an inlined one is compiled in the crate that calls it, for
//! size.

pub mod matmul;

use wide::f32x4;

/// Computes `out += x W`, with `W` of shape `[x.len(), out.len()]`, stored row by row. Skips inputs
/// that are zero, which after a ReLU is about half of them.
#[cfg_attr(not(target_family = "wasm"), inline)]
pub fn add_product(x: &[f32], w: &[f32], out: &mut [f32]) {
    for (x, row) in x.iter().zip(w.chunks_exact(out.len())) {
        if *x == 0.0 {
            continue;
        }
        let (vectors, rest) = out.as_chunks_mut::<4>();
        let (row_vectors, row_rest) = row.as_chunks::<4>();
        for (out, w) in vectors.iter_mut().zip(row_vectors) {
            *out = (f32x4::new(*out) + f32x4::splat(*x) * f32x4::new(*w)).to_array();
        }
        for (out, w) in rest.iter_mut().zip(row_rest) {
            *out += x * w;
        }
    }
}

/// Replaces negative values by 0, in place.
#[cfg_attr(not(target_family = "wasm"), inline)]
pub fn relu(values: &mut [f32]) {
    for value in values {
        *value = value.max(0.0);
    }
}
