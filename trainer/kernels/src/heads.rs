//! The division of projections into heads, with the rotary position embedding.

use pulp::Arch;

use crate::rows::Rows;

/// The shape of queries, keys or values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadLayout {
    /// Number of rows of the batch.
    pub rows: usize,
    /// Number of tokens of each row.
    pub tokens: usize,
    /// Number of heads of each token.
    pub heads: usize,
    /// Width of a head.
    pub head: usize,
}

/// The rotation of every token: cosines and sines, `[rows * tokens, head / 2]`, of the angles between
/// the two halves of a head.
#[derive(Clone, Copy, Debug)]
pub struct Rotation<'a> {
    /// Cosines of the angles, token by token.
    pub cosine: &'a [f32],
    /// Sines of the angles, token by token.
    pub sine: &'a [f32],
}

impl HeadLayout {
    fn check(&self, length: usize, rotation: Option<Rotation<'_>>) {
        let tokens = self.rows * self.tokens;
        assert_eq!(length, tokens * self.heads * self.head, "result");
        for angles in rotation.iter().flat_map(|r| [r.cosine, r.sine]) {
            assert_eq!(angles.len(), tokens * (self.head / 2), "rotation");
        }
    }
}

/// Maps `[rows * tokens, heads * head]` to `[rows, heads, tokens, head]`, rotates each head and
/// multiplies it by `scale`.
///
/// # Panics
/// If the lengths do not fit the layout.
pub fn split_heads(
    x: Rows<'_>,
    layout: HeadLayout,
    rotation: Option<Rotation<'_>>,
    scale: f32,
    out: &mut [f32],
) {
    let HeadLayout {
        tokens,
        heads,
        head,
        ..
    } = layout;
    layout.check(out.len(), rotation);
    assert_eq!(x.width(), heads * head, "width");
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for (index, x) in x.iter().enumerate() {
                let (row, token) = (index / tokens, index % tokens);
                for (number, x) in x.chunks_exact(head).enumerate() {
                    let start = ((row * heads + number) * tokens + token) * head;
                    let Some(out) = out.get_mut(start..start + head) else {
                        return;
                    };
                    rotate(x, rotation, index, [1.0, scale], out);
                }
            }
        },
    );
}

/// Maps `[rows, heads, tokens, head]` to `[rows * tokens, heads * head]`, with the inverse of the
/// rotation, and multiplies by `scale`: the gradient of [`split_heads`].
///
/// # Panics
/// If the lengths do not fit the layout.
pub fn merge_heads(
    x: &[f32],
    layout: HeadLayout,
    rotation: Option<Rotation<'_>>,
    scale: f32,
    out: &mut [f32],
) {
    let HeadLayout {
        tokens,
        heads,
        head,
        ..
    } = layout;
    layout.check(out.len(), rotation);
    assert_eq!(x.len(), out.len(), "input and result");
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for (place, x) in x.chunks_exact(head).enumerate() {
                let (token, above) = (place % tokens, place / tokens);
                let (number, row) = (above % heads, above / heads);
                let index = row * tokens + token;
                let start = (index * heads + number) * head;
                let Some(out) = out.get_mut(start..start + head) else {
                    return;
                };
                rotate(x, rotation, index, [-1.0, scale], out);
            }
        },
    );
}

#[inline(always)]
fn angles<'a>(rotation: Rotation<'a>, index: usize, half: usize) -> (&'a [f32], &'a [f32]) {
    let range = index * half..(index + 1) * half;
    let of = |all: &'a [f32]| all.get(range.clone()).unwrap_or_default();
    (of(rotation.cosine), of(rotation.sine))
}

/// Rotates a head by the angles of its token, times `direction`, and scales it.
#[inline(always)]
fn rotate(
    x: &[f32],
    rotation: Option<Rotation<'_>>,
    index: usize,
    [direction, scale]: [f32; 2],
    out: &mut [f32],
) {
    let Some(rotation) = rotation else {
        for (out, x) in out.iter_mut().zip(x) {
            *out = x * scale;
        }
        return;
    };
    let half = x.len() / 2;
    let (cosine, sine) = angles(rotation, index, half);
    let (a, b) = x.split_at(half);
    let (out_a, out_b) = out.split_at_mut(half);
    let halves = a.iter().zip(b).zip(out_a.iter_mut().zip(out_b));
    for (((a, b), (out_a, out_b)), (cosine, sine)) in halves.zip(cosine.iter().zip(sine)) {
        let sine = sine * direction;
        *out_a = (a * cosine - b * sine) * scale;
        *out_b = (b * cosine + a * sine) * scale;
    }
}
