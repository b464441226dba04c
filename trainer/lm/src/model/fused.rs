//! Operations of a layer as one pass each on the processor, with gradients, over the loops of
//! [`sentinel_lm_kernels`]. Graphics processors have the kernels of [`super::cube`], most of them
//! without gradients, and compose the rest of the tensor library's operations.

use std::fmt::Debug;

use burn::tensor::{DType, Device, Shape, Tensor, TensorData};
use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::NoCheckpointing;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, Ops, OpsKind};
use burn_flex::{Flex, FlexTensor};
use sentinel_lm_kernels::{
    CachedAttention, CachedHeads, HeadLayout, Rotation, Rows, TokenStats, cached_attention,
    masked_softmax, masked_softmax_backward, merge_heads, rms_norm, rms_norm_backward, split_heads,
    swiglu, swiglu_backward, token_stats, token_stats_backward,
};

/// Returns `true` if the operations of this module apply to a tensor: f32 on the processor.
pub(super) fn applies<const D: usize>(tensor: &Tensor<D>) -> bool {
    tensor.dtype() == DType::F32 && tensor.device().without_autodiff() == Device::flex()
}

/// An operation of `N` tensors, with its gradient.
pub(super) trait FusedOp<const N: usize>: Debug + Send + 'static {
    /// Data that the gradient needs.
    type Saved: Clone + Debug + Send + 'static;

    fn forward(&self, inputs: [FlexTensor; N]) -> (FlexTensor, Self::Saved);

    /// Returns the gradients with respect to the inputs from that of the result.
    fn backward(&self, saved: Self::Saved, grad: FlexTensor) -> [FlexTensor; N];
}

#[derive(Debug)]
struct Gradient<F>(F);

impl<const N: usize, F: FusedOp<N>> Backward<Flex, N> for Gradient<F> {
    type State = F::Saved;

    fn backward(self, ops: Ops<F::Saved, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let grad = grads.consume::<Flex>(&ops.node);
        let found = self.0.backward(ops.state, grad);
        for (parent, grad) in ops.parents.into_iter().zip(found) {
            if let Some(parent) = parent {
                grads.register::<Flex>(parent.id, grad);
            }
        }
    }
}

/// Applies an operation to tensors of the processor.
///
/// # Panics
/// If a tensor is on another device; callers check this with [`applies`].
pub(super) fn apply<const N: usize, const A: usize, const B: usize, F: FusedOp<N>>(
    op: F,
    inputs: [Tensor<A>; N],
) -> Tensor<B> {
    const ON_FLEX: &str = "a tensor of the processor";
    if !inputs.iter().any(Tensor::is_autodiff) {
        let inputs = inputs.map(|input| input.try_into_primitive::<Flex>().expect(ON_FLEX));
        return Tensor::from_primitive::<Flex>(op.forward(inputs).0);
    }
    let parts = inputs.map(|input| {
        let input = input.autodiff().try_into_primitive::<Autodiff<Flex>>();
        input.expect(ON_FLEX).into_parts()
    });
    let mut nodes = Vec::with_capacity(N);
    let inputs = parts.map(|(tensor, node)| {
        nodes.push(node);
        tensor
    });
    let nodes = nodes.try_into().expect("one node for each input");
    let (output, saved) = op.forward(inputs);
    let prepared = Gradient(op)
        .prepare::<NoCheckpointing>(nodes)
        .compute_bound()
        .stateful();
    Tensor::from_primitive::<Autodiff<Flex>>(match prepared {
        OpsKind::Tracked(prepared) => prepared.finish(saved, output),
        OpsKind::UnTracked(prepared) => prepared.finish(output),
    })
}

/// Creates a tensor from numbers in row-major order.
pub(super) fn dense(values: Vec<f32>, shape: impl Into<Shape>) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape))
}

/// Returns a tensor whose numbers are in row-major order.
pub(super) fn contiguous(tensor: FlexTensor) -> FlexTensor {
    if tensor.is_contiguous() {
        tensor
    } else {
        tensor.to_contiguous()
    }
}

/// Returns a matrix of the processor without gradients, whose numbers are in row-major order.
///
/// # Panics
/// If it is on another device.
pub(super) fn flex_matrix(matrix: Tensor<2>) -> FlexTensor {
    let matrix = matrix.without_autodiff().try_into_primitive::<Flex>();
    contiguous(matrix.expect("a tensor of the processor"))
}

/// Returns the numbers of a tensor that is contiguous.
pub(super) fn values(tensor: &FlexTensor) -> &[f32] {
    let layout = tensor.layout();
    let start = layout.start_offset();
    &tensor.storage()[start..start + layout.num_elements()]
}

/// Returns the numbers of a tensor in row-major order, without a copy if nothing else uses them.
fn into_values(tensor: FlexTensor) -> Vec<f32> {
    let values = tensor.into_data().try_into_vec::<f32>();
    values.expect("the numbers are f32")
}

/// A matrix whose rows are contiguous.
#[derive(Clone, Debug)]
struct Matrix(FlexTensor);

impl Matrix {
    fn new(tensor: FlexTensor) -> Self {
        match tensor.layout().strides() {
            [stride, 1]
                if usize::try_from(*stride).is_ok_and(|s| s >= tensor.layout().shape()[1]) =>
            {
                Self(tensor)
            }
            _ => Self(tensor.to_contiguous()),
        }
    }

    fn dims(&self) -> [usize; 2] {
        self.0.layout().shape().dims()
    }

    fn rows(&self) -> Rows<'_> {
        let layout = self.0.layout();
        let ([count, width], start) = (self.dims(), layout.start_offset());
        let stride = layout.strides()[0].unsigned_abs().max(width);
        let end = start + count.saturating_sub(1) * stride + width;
        Rows::new(&self.0.storage()[start..end], stride, width).expect("rows do not overlap")
    }
}

#[derive(Debug)]
struct RmsNorm {
    epsilon: f32,
}

impl FusedOp<2> for RmsNorm {
    type Saved = (Matrix, FlexTensor, Vec<f32>);

    fn forward(&self, [x, weight]: [FlexTensor; 2]) -> (FlexTensor, Self::Saved) {
        let (x, weight) = (Matrix::new(x), contiguous(weight));
        let [count, width] = x.dims();
        let (mut out, mut factors) = (vec![0.0; count * width], vec![0.0; count]);
        rms_norm(
            x.rows(),
            values(&weight),
            self.epsilon,
            &mut out,
            &mut factors,
        );
        (dense(out, [count, width]), (x, weight, factors))
    }

    fn backward(&self, (x, weight, factors): Self::Saved, grad: FlexTensor) -> [FlexTensor; 2] {
        let [count, width] = x.dims();
        let grad = contiguous(grad);
        let (mut x_grad, mut weight_grad) = (vec![0.0; count * width], vec![0.0; width]);
        let (weight, grad) = (values(&weight), values(&grad));
        rms_norm_backward(
            x.rows(),
            weight,
            &factors,
            grad,
            &mut x_grad,
            &mut weight_grad,
        );
        [
            dense(x_grad, [count, width]),
            dense(weight_grad, [1, width]),
        ]
    }
}

/// Applies the RMS norm to each row of `x`, and multiplies the result by `weight`, `[1, width]`.
pub(super) fn fused_rms_norm(x: Tensor<2>, weight: Tensor<2>, epsilon: f64) -> Tensor<2> {
    let epsilon = epsilon as f32;
    apply(RmsNorm { epsilon }, [x, weight])
}

#[derive(Debug)]
struct Swiglu;

impl FusedOp<2> for Swiglu {
    type Saved = [Matrix; 2];

    fn forward(&self, inputs: [FlexTensor; 2]) -> (FlexTensor, Self::Saved) {
        let [gate, up] = inputs.map(Matrix::new);
        let [count, width] = gate.dims();
        let mut out = vec![0.0; count * width];
        swiglu(gate.rows(), up.rows(), &mut out);
        (dense(out, [count, width]), [gate, up])
    }

    fn backward(&self, [gate, up]: Self::Saved, grad: FlexTensor) -> [FlexTensor; 2] {
        let [count, width] = gate.dims();
        let grad = contiguous(grad);
        let [mut gate_grad, mut up_grad] = [(); 2].map(|()| vec![0.0; count * width]);
        swiglu_backward(
            gate.rows(),
            up.rows(),
            values(&grad),
            &mut gate_grad,
            &mut up_grad,
        );
        [gate_grad, up_grad].map(|grad| dense(grad, [count, width]))
    }
}

/// Computes `silu(gate) * up`.
pub(super) fn fused_swiglu(gate: Tensor<2>, up: Tensor<2>) -> Tensor<2> {
    apply(Swiglu, [gate, up])
}

/// Cosines and sines of the tokens, each `[rows * tokens, head / 2]`.
type Angles = Option<[FlexTensor; 2]>;

fn rotation(angles: &Angles) -> Option<Rotation<'_>> {
    let [cosine, sine] = angles.as_ref()?;
    Some(Rotation {
        cosine: values(cosine),
        sine: values(sine),
    })
}

/// Takes cosines and sines, which have no gradient, off their device.
fn angles(rope: Option<[Tensor<4>; 2]>) -> Angles {
    rope.map(|angles| {
        angles.map(|angles| {
            let angles = angles.without_autodiff().try_into_primitive::<Flex>();
            contiguous(angles.expect("a tensor of the processor"))
        })
    })
}

/// A division into heads, with the rotation and the scale that come with it.
#[derive(Debug)]
struct Division {
    layout: HeadLayout,
    scale: f32,
    angles: Angles,
}

impl Division {
    fn split(&self, x: FlexTensor) -> FlexTensor {
        let HeadLayout {
            rows,
            tokens,
            heads,
            head,
        } = self.layout;
        let (x, angles) = (Matrix::new(x), rotation(&self.angles));
        let mut out = vec![0.0; rows * tokens * heads * head];
        split_heads(x.rows(), self.layout, angles, self.scale, &mut out);
        dense(out, [rows, heads, tokens, head])
    }

    /// Undoes the division and the rotation, and scales as [`Self::split`] does: its gradient.
    fn merge(&self, x: FlexTensor) -> FlexTensor {
        let HeadLayout {
            rows,
            tokens,
            heads,
            head,
        } = self.layout;
        let (x, angles) = (contiguous(x), rotation(&self.angles));
        let mut out = vec![0.0; rows * tokens * heads * head];
        merge_heads(values(&x), self.layout, angles, self.scale, &mut out);
        dense(out, [rows * tokens, heads * head])
    }
}

#[derive(Debug)]
struct SplitHeads(Division);

impl FusedOp<1> for SplitHeads {
    type Saved = ();

    fn forward(&self, [x]: [FlexTensor; 1]) -> (FlexTensor, ()) {
        (self.0.split(x), ())
    }

    fn backward(&self, (): (), grad: FlexTensor) -> [FlexTensor; 1] {
        [self.0.merge(grad)]
    }
}

/// Maps `[rows * tokens, heads * head]` to `[rows, heads, tokens, head]`, rotates each head by the
/// angles of its token, given as cosines and sines, and multiplies it by `scale`.
pub(super) fn fused_split_heads(
    x: Tensor<2>,
    layout: HeadLayout,
    rope: Option<[Tensor<4>; 2]>,
    scale: f64,
) -> Tensor<4> {
    let division = Division {
        layout,
        scale: scale as f32,
        angles: angles(rope),
    };
    apply(SplitHeads(division), [x])
}

#[derive(Debug)]
struct MergeHeads(Division);

impl FusedOp<1> for MergeHeads {
    type Saved = ();

    fn forward(&self, [x]: [FlexTensor; 1]) -> (FlexTensor, ()) {
        (self.0.merge(x), ())
    }

    fn backward(&self, (): (), grad: FlexTensor) -> [FlexTensor; 1] {
        [self.0.split(grad)]
    }
}

/// Maps `[rows, heads, tokens, head]` to `[rows * tokens, heads * head]`.
pub(super) fn fused_merge_heads(x: Tensor<4>, layout: HeadLayout) -> Tensor<2> {
    let division = Division {
        layout,
        scale: 1.0,
        angles: None,
    };
    apply(MergeHeads(division), [x])
}

#[derive(Debug)]
struct MaskedSoftmax {
    /// `[rows, 1, queries, seen]`.
    mask: FlexTensor,
}

impl FusedOp<1> for MaskedSoftmax {
    type Saved = FlexTensor;

    fn forward(&self, [scores]: [FlexTensor; 1]) -> (FlexTensor, FlexTensor) {
        let [rows, heads, queries, seen] = scores.layout().shape().dims();
        let mut weights = into_values(scores);
        masked_softmax(&mut weights, values(&self.mask), heads, queries, seen);
        let weights = dense(weights, [rows, heads, queries, seen]);
        (weights.clone(), weights)
    }

    fn backward(&self, weights: FlexTensor, grad: FlexTensor) -> [FlexTensor; 1] {
        let shape: [usize; 4] = weights.layout().shape().dims();
        let mut grad = into_values(grad);
        masked_softmax_backward(values(&weights), &mut grad, shape[3]);
        [dense(grad, shape)]
    }
}

/// Returns the softmax of `scores + mask` over the last axis, for scores
/// `[rows, heads, queries, seen]` and a mask `[rows, 1, queries, seen]` without gradient.
pub(super) fn fused_masked_softmax(scores: Tensor<4>, mask: Tensor<4>) -> Tensor<4> {
    let mask = mask.without_autodiff().try_into_primitive::<Flex>();
    let mask = contiguous(mask.expect("a tensor of the processor"));
    apply(MaskedSoftmax { mask }, [scores])
}

/// Computes attention from one new token per row, `[rows, heads, 1, head]`, to cached keys and values,
/// `[rows, groups, capacity, head]`, of which the mask's columns are read; returns
/// `[rows, heads * head]`. Queries are scaled already, and the mask is `[rows, 1, 1, seen]`. Needs tensors
/// without gradients.
pub(super) fn fused_cached_attention(
    query: Tensor<4>,
    keys: Tensor<4>,
    cached: Tensor<4>,
    mask: Tensor<4>,
) -> Tensor<2> {
    let ([rows, heads, _, head], [_, groups, capacity, _]) = (query.dims(), keys.dims());
    let seen = mask.dims()[3];
    let [query, keys, cached, mask] = [query, keys, cached, mask].map(|tensor| {
        let tensor = tensor.try_into_primitive::<Flex>();
        contiguous(tensor.expect("a tensor of the processor"))
    });
    let mut out = vec![0.0; rows * heads * head];
    let heads_of = |tensor| CachedHeads {
        values: values(tensor),
        capacity,
    };
    let shape = CachedAttention {
        heads,
        groups,
        head,
        seen,
    };
    let (keys, cached) = (heads_of(&keys), heads_of(&cached));
    cached_attention(values(&query), keys, cached, values(&mask), shape, &mut out);
    Tensor::from_primitive::<Flex>(dense(out, [rows, heads * head]))
}

/// Returns the statistics of tokens from the logits before them, `[n, vocabulary]`.
pub(super) fn token_stats_of(
    logits: Tensor<2>,
    targets: &[u32],
    temperature: f32,
) -> Vec<TokenStats> {
    let logits = logits.try_into_primitive::<Flex>();
    let logits = contiguous(logits.expect("a tensor of the processor"));
    let width = logits.layout().shape()[1].max(1);
    let rows = values(&logits).chunks_exact(width).zip(targets);
    rows.map(|(row, target)| token_stats(row, *target as usize, temperature))
        .collect()
}

/// Returns the derivatives with respect to logits, `[n, vocabulary]`, from those with respect to the
/// log-probabilities of tokens and to the entropies.
pub(super) fn logit_grads(
    logits: Tensor<2>,
    targets: &[u32],
    temperature: f32,
    by_logp: &[f32],
    by_entropy: Option<&[f32]>,
) -> Tensor<2> {
    let shape = logits.dims();
    let logits = logits.try_into_primitive::<Flex>();
    let mut all = into_values(logits.expect("a tensor of the processor"));
    for (index, row) in all.chunks_exact_mut(shape[1].max(1)).enumerate() {
        let by_entropy = by_entropy.map_or(0.0, |all| all[index]);
        token_stats_backward(
            row,
            targets[index] as usize,
            temperature,
            by_logp[index],
            by_entropy,
        );
    }
    Tensor::from_primitive::<Flex>(dense(all, shape))
}
