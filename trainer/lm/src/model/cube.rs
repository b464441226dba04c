//! Kernels of graphics processors, [`sentinel_lm_cube`]. Without the features `cuda` and `wgpu`, functions of
//! the same names return `None`.

#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub(crate) use sentinel_lm_cube::*;

#[cfg(not(any(feature = "cuda", feature = "wgpu")))]
pub(crate) use none::*;

#[cfg(not(any(feature = "cuda", feature = "wgpu")))]
mod none {
    use burn::tensor::{Int, Tensor};
    use sentinel_lm_kernels::HeadLayout;

    #[derive(Clone, Copy)]
    #[expect(dead_code, reason = "no kernel reads it")]
    pub(crate) struct SamplingOptions {
        pub(crate) temperature: f64,
        pub(crate) greedy: bool,
        pub(crate) seed: u32,
        pub(crate) step: u32,
    }

    pub(crate) const fn matmul_weight(_: &Tensor<2>, _: &Tensor<2>) -> Option<Tensor<2>> {
        None
    }

    pub(crate) const fn rms_norm(_: &Tensor<2>, _: &Tensor<2>, _: f64) -> Option<Tensor<2>> {
        None
    }

    pub(crate) const fn swiglu(_: &Tensor<2>) -> Option<Tensor<2>> {
        None
    }

    pub(crate) const fn split_heads<const D: usize>(
        _: &Tensor<2>,
        _: HeadLayout,
        _: [&Tensor<D>; 2],
        _: f64,
    ) -> Option<Tensor<4>> {
        None
    }

    pub(crate) const fn masked_softmax(_: &Tensor<4>, _: &Tensor<4>) -> Option<Tensor<4>> {
        None
    }

    pub(crate) const fn sample(
        _: &Tensor<2>,
        _: SamplingOptions,
    ) -> Option<(Tensor<2, Int>, Tensor<2>)> {
        None
    }

    pub(crate) const fn token_stats(
        _: &Tensor<2>,
        _: &Tensor<1, Int>,
        _: f64,
    ) -> Option<Tensor<2>> {
        None
    }

    pub(crate) const fn logit_grads(
        _: &Tensor<2>,
        _: &Tensor<1, Int>,
        _: f64,
        _: &Tensor<1>,
        _: Option<&Tensor<1>>,
    ) -> Option<Tensor<2>> {
        None
    }
}
