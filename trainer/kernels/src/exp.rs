//! The exponential of f32 numbers, without branches, so that a loop over it becomes vectors.

/// Below this the result is 0: the smallest normal number is about `exp(-87.34)`.
const LOWEST: f32 = -87.3;
/// Above this the result is infinite.
const HIGHEST: f32 = 88.72;
/// Adding and subtracting it rounds to an integer, which then stands in the lowest bits.
const ROUND: f32 = 12_582_912.0;
/// The logarithm of 2 in two parts; products of the first one with small integers are exact.
const LN_2_HIGH: f32 = 355.0 / 512.0;
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// Returns `e^x` with a relative error below 2e-7. Subnormal results are 0.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    let bounded = if x < LOWEST { LOWEST } else { x };
    let bounded = if bounded > HIGHEST { HIGHEST } else { bounded };
    let shifted = bounded * std::f32::consts::LOG2_E + ROUND;
    let whole = shifted - ROUND;
    let rest = (bounded - whole * LN_2_HIGH) - whole * LN_2_LOW;
    // The Taylor polynomial on [-ln 2 / 2, ln 2 / 2], whose next term is below 6e-9 of the result.
    let p = 1.0 / 5040.0;
    let p = p * rest + 1.0 / 720.0;
    let p = p * rest + 1.0 / 120.0;
    let p = p * rest + 1.0 / 24.0;
    let p = p * rest + 1.0 / 6.0;
    let p = p * rest + 0.5;
    let p = p * rest * rest + rest + 1.0;
    // Half of the exponent at a time, because 2^128 is no f32.
    let exponent = shifted
        .to_bits()
        .wrapping_sub(ROUND.to_bits())
        .cast_signed();
    let first = exponent >> 1;
    let power = |n: i32| f32::from_bits(((n + 127) << 23).cast_unsigned());
    let value = p * power(first) * power(exponent - first);
    if x < LOWEST {
        0.0
    } else if x > HIGHEST {
        f32::INFINITY
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::exp;

    #[test]
    fn exponentials_are_close_to_those_in_f64() {
        for step in 0..200_000 {
            let x = -87.2 + 175.9 * (step as f32 / 200_000.0);
            let (ours, exact) = (f64::from(exp(x)), f64::from(x).exp());
            assert!((ours / exact - 1.0).abs() < 2e-7, "{x}: {ours} {exact}");
        }
    }

    #[test]
    fn ends_are_zero_infinite_or_nan() {
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-1e30), 0.0);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp(1e30), f32::INFINITY);
        assert!(exp(f32::NAN).is_nan());
    }
}
