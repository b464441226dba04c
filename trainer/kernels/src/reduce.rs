//! Sums and maxima of slices, in the same order of operations on every processor.

/// Number of sums that a reduction adds up separately.
const LANES: usize = 16;

/// Returns the sum of `f(a, b)` over the pairs of two slices of the same length.
#[inline(always)]
pub(crate) fn sum_pairs(a: &[f32], b: &[f32], f: impl Fn(f32, f32) -> f32) -> f32 {
    let (a_vectors, a_rest) = a.as_chunks::<LANES>();
    let (b_vectors, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0_f32; LANES];
    for (a, b) in a_vectors.iter().zip(b_vectors) {
        for lane in 0..LANES {
            sums[lane] += f(a[lane], b[lane]);
        }
    }
    for ((sum, a), b) in sums.iter_mut().zip(a_rest).zip(b_rest) {
        *sum += f(*a, *b);
    }
    sum_lanes(sums)
}

/// Returns the sum of `f(x)` over a slice.
#[inline(always)]
pub(crate) fn sum(x: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let (vectors, rest) = x.as_chunks::<LANES>();
    let mut sums = [0.0_f32; LANES];
    for x in vectors {
        for lane in 0..LANES {
            sums[lane] += f(x[lane]);
        }
    }
    for (sum, x) in sums.iter_mut().zip(rest) {
        *sum += f(*x);
    }
    sum_lanes(sums)
}

/// Returns the largest number of a slice; negative infinity if there is none.
#[inline(always)]
pub(crate) fn largest(x: &[f32]) -> f32 {
    let (vectors, rest) = x.as_chunks::<LANES>();
    let mut most = [f32::NEG_INFINITY; LANES];
    for x in vectors {
        for lane in 0..LANES {
            most[lane] = if x[lane] > most[lane] {
                x[lane]
            } else {
                most[lane]
            };
        }
    }
    let all = most.into_iter().chain(rest.iter().copied());
    all.fold(f32::NEG_INFINITY, f32::max)
}

#[inline(always)]
fn sum_lanes(mut sums: [f32; LANES]) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
    sums[0]
}
