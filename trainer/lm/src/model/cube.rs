//! Kernels of graphics processors, [`sentinel_lm_cube`]. Without the features `cuda` and `wgpu`, functions of
//! the same names return `None`.

#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub(crate) use sentinel_lm_cube::*;

#[cfg(not(any(feature = "cuda", feature = "wgpu")))]
pub(crate) use none::*;

#[cfg(not(any(feature = "cuda", feature = "wgpu")))]
mod none {
    use burn::tensor::{Device, Int, Tensor};
    use sentinel_lm_kernels::HeadLayout;

    #[derive(Clone, Copy)]
    #[expect(dead_code, reason = "no kernel reads it")]
    pub(crate) struct SamplingOptions {
        pub(crate) temperature: f64,
        pub(crate) greedy: bool,
        pub(crate) seed: u32,
        pub(crate) step: u32,
    }

    #[derive(Clone, Copy)]
    #[expect(dead_code, reason = "no kernel reads it")]
    pub(crate) struct AdamWStep {
        pub(crate) learning_rate: f64,
        pub(crate) betas: [f32; 2],
        pub(crate) epsilon: f32,
        pub(crate) weight_decay: f32,
        pub(crate) clip_factor: f64,
        pub(crate) time: usize,
    }

    pub(crate) const fn adamw(
        _: &Tensor<2>,
        _: &Tensor<2>,
        _: Option<[&Tensor<2>; 2]>,
        _: AdamWStep,
    ) -> Option<[Tensor<2>; 3]> {
        None
    }

    pub(crate) fn sums_of_squares<'a>(
        _: impl IntoIterator<Item = &'a Tensor<2>>,
    ) -> Option<Tensor<1>> {
        None
    }

    pub(crate) const fn matmul_weight(_: &Tensor<2>, _: &Tensor<2>) -> Option<Tensor<2>> {
        None
    }

    pub(crate) const fn rms_norm(_: &Tensor<2>, _: &Tensor<2>, _: f64) -> Option<Tensor<2>> {
        None
    }

    #[derive(Clone, Debug)]
    #[expect(dead_code, reason = "no kernel reads it")]
    pub(crate) struct DecodePlaces {
        pub(crate) rope: [Tensor<2>; 2],
        pub(crate) positions: Tensor<1, Int>,
        pub(crate) starts: Tensor<1, Int>,
        pub(crate) column: Tensor<1, Int>,
    }

    impl DecodePlaces {
        pub(crate) const fn are_supported(_: &Tensor<2>, _: [usize; 4]) -> bool {
            false
        }
    }

    pub(crate) struct StepState {
        pub(crate) ids: Tensor<1, Int>,
        pub(crate) places: DecodePlaces,
        pub(crate) tokens: Tensor<2, Int>,
        pub(crate) logps: Tensor<2>,
    }

    #[expect(dead_code, reason = "no kernel reads it")]
    pub(crate) struct StateOfRows<'a> {
        pub(crate) ids: &'a [u32],
        pub(crate) positions: &'a [usize],
        pub(crate) starts: &'a [usize],
        pub(crate) column: usize,
        pub(crate) step: u32,
    }

    impl StepState {
        pub(crate) fn new(_: &StateOfRows<'_>, _: [Tensor<2>; 2], _: usize, _: &Device) -> Self {
            unreachable!("no places are supported")
        }

        pub(crate) const fn draw_and_advance(
            &self,
            _: &Tensor<2>,
            _: SamplingOptions,
        ) -> Option<()> {
            None
        }
    }

    pub(crate) fn append_token(
        _: &Tensor<2>,
        _: Option<&Tensor<2>>,
        _: &DecodePlaces,
        _: [Tensor<4>; 2],
        _: f64,
    ) -> Option<(Tensor<2>, [Tensor<4>; 2])> {
        None
    }

    pub(crate) const fn cached_attention(
        _: &Tensor<2>,
        _: [&Tensor<4>; 2],
        _: &DecodePlaces,
    ) -> Option<Tensor<2>> {
        None
    }

    pub(crate) const fn add_rms_norm(
        _: &Tensor<2>,
        _: &Tensor<2>,
        _: &Tensor<2>,
        _: f64,
    ) -> Option<[Tensor<2>; 2]> {
        None
    }

    pub(crate) const fn swiglu(_: &Tensor<2>, _: &Tensor<2>) -> Option<Tensor<2>> {
        None
    }

    pub(crate) const fn swiglu_of_joined(_: &Tensor<2>) -> Option<Tensor<2>> {
        None
    }

    pub(crate) const fn adapted_linear(
        _: &Tensor<2>,
        _: &Tensor<2>,
        _: Option<&Tensor<2>>,
        _: [&Tensor<2>; 2],
        _: f64,
    ) -> Option<Tensor<2>> {
        None
    }

    pub(crate) const fn split_heads<const D: usize>(
        _: &Tensor<2>,
        _: HeadLayout,
        _: Option<[&Tensor<D>; 2]>,
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
