//! Number rules shared by all worlds: Python's rounding, clamping, and exact means.

/// Clamps a step or terminal reward to `[0.01, 0.99]` (spec trust §2).
#[must_use]
pub fn clamp_reward(value: f64) -> f64 {
    value.clamp(0.01, 0.99)
}

/// Clamps `value` to `[0, 1]`.
#[must_use]
pub fn clip01(value: f64) -> f64 {
    value.clamp(0.0, 1.0)
}

/// Rounds like Python's `round(x, places)`: the exact binary value to a decimal, exact ties to
/// even.
///
/// Away from a tie, the scaled value decides, and dividing two exactly represented integers gives
/// the double nearest to the decimal. Close to a tie, the exact binary value decides. `places`
/// above 6 count as 6.
#[must_use]
pub fn round_to(x: f64, places: usize) -> f64 {
    const SCALE: [f64; 7] = [1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6];
    let scale = SCALE[places.min(6)];
    let scaled = x * scale;
    let nearest = nearest_integer(scaled);
    let from_tie = 0.5 - (scaled - nearest).abs();
    if scaled.abs() < 1e6 && from_tie > NEAR_TIE {
        nearest.copysign(scaled) / scale
    } else {
        round_exactly(x, scale)
    }
}

/// Distance from a tie within which the scaled value does not decide. The rounding error of the
/// product is at most half an ulp, far below this distance for values below 1e6.
const NEAR_TIE: f64 = 1e-7;

/// Returns the nearest integer, ties to even. The standard library's function for this is slow if
/// the target CPU is not known to have the instruction.
#[inline]
fn nearest_integer(x: f64) -> f64 {
    // Adding and subtracting 1.5 * 2^52 leaves the nearest integer.
    const INTEGERS: f64 = 6_755_399_441_055_744.0;
    (x + INTEGERS) - INTEGERS
}

/// Returns [`round_to`] three decimals of a value in `[0, 1]`, with fewer branches.
#[inline]
pub(crate) fn round_to_thousandths(x: f64) -> f64 {
    let scaled = x * 1000.0;
    let nearest = nearest_integer(scaled);
    if 0.5 - (scaled - nearest).abs() > NEAR_TIE {
        nearest / 1000.0
    } else {
        round_to(x, 3)
    }
}

/// Returns the mean reward per event, clamped to `[0, 1]`; 0 without events.
#[must_use]
pub(crate) fn mean_reward(total_reward: f64, events: u16) -> f64 {
    if events == 0 {
        0.0
    } else {
        clip01(total_reward / f64::from(events))
    }
}

/// Iterates over the positions of the set bits, lowest first.
#[inline]
pub(crate) fn set_bits(mut bits: u64) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        if bits == 0 {
            return None;
        }
        let at = bits.trailing_zeros() as u8;
        bits &= bits - 1;
        Some(at)
    })
}

/// Rounds in integer arithmetic, which needs no decimal text and no allocation; `scale` is a power
/// of ten up to 1e6.
#[cold]
fn round_exactly(x: f64, scale: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1075;
    // A whole number, an infinity or not a number.
    if exponent >= 0 {
        return x;
    }
    let shift = exponent.unsigned_abs();
    // Below 2^-67, which is far below half of the last decimal place.
    if shift > 120 {
        return 0.0_f64.copysign(x);
    }
    let mantissa = u128::from((bits & ((1 << 52) - 1)) | (1 << 52));
    let product = mantissa * scale as u128;
    let (whole, rest) = (product >> shift, product & ((1 << shift) - 1));
    let half = 1 << (shift - 1);
    let up = rest > half || (rest == half && whole % 2 == 1);
    exact_ratio(whole + u128::from(up), scale as u64).copysign(x)
}

/// Reads a decimal of at most 15 digits, such as `0.35`, without sign or exponent: the nearest
/// double, since both parts of the fraction are exact. The parser of the standard library would add
/// 10 kB of tables to the page.
pub(crate) fn parse_decimal(text: &str) -> Option<f64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if digits().count() > 15 || whole.is_empty() || !digits().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let digits = digits().fold(0_u64, |sum, digit| 10 * sum + u64::from(digit - b'0'));
    let scale = 10_u64.pow(fraction.len() as u32);
    Some(digits as f64 / scale as f64)
}

/// Returns the exact rational mean of `values` in `[0, 2^16)`, rounded once to a double.
///
/// Sums in units of 2^-72, so every value must be 0 or at least 2^-19, as every ratio of two 16-bit
/// counts is. Returns 0 for an empty slice.
#[must_use]
pub fn exact_mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let sum: u128 = values.iter().map(|v| fixed_point(*v)).sum();
    let (scaled, n) = (sum << 32, values.len() as u128);
    // The sticky bit keeps a non-zero remainder from being taken for an exact tie.
    let quotient = (scaled / n) | u128::from(scaled % n != 0);
    quotient as f64 * 2f64.powi(-104)
}

/// Returns `numerator / denominator`, rounded once to a double, or 0 if the denominator is 0.
#[must_use]
pub fn exact_ratio(numerator: u128, denominator: u64) -> f64 {
    if numerator == 0 || denominator == 0 {
        return 0.0;
    }
    let shift = numerator.leading_zeros();
    let (scaled, by) = (numerator << shift, u128::from(denominator));
    // As in `exact_mean`, the sticky bit keeps a remainder from being taken for an exact tie.
    let whole = scaled / by;
    let quotient = whole | u128::from(whole * by != scaled);
    quotient as f64 * 0.5f64.powi(shift.cast_signed())
}

/// Returns a non-negative double as an integer in units of 2^-72, exact for the range of
/// [`exact_mean`].
fn fixed_point(value: f64) -> u128 {
    let bits = value.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32;
    if exponent == 0 {
        return 0;
    }
    let mantissa = u128::from((bits & ((1 << 52) - 1)) | (1 << 52));
    let shift = exponent - 1075 + 72;
    if shift >= 0 {
        mantissa << shift.min(64)
    } else {
        mantissa >> (-shift).min(127)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_mean_is_rounded_once() {
        // Summing these in doubles gives 0.30000000000000004 / 3.
        assert_eq!(exact_mean(&[0.1, 0.2, 0.0]), 0.1);
        assert_eq!(exact_mean(&[1.0, 0.0, 0.0]), 1.0 / 3.0);
        assert_eq!(exact_mean(&[]), 0.0);
    }

    #[test]
    fn exact_ratio_is_rounded_once() {
        assert_eq!(exact_ratio(1, 3), 1.0 / 3.0);
        assert_eq!(exact_ratio(0, 3), 0.0);
        assert_eq!(exact_ratio(1, 0), 0.0);
        for n in 1..2000u64 {
            assert_eq!(exact_ratio(u128::from(n), 7), n as f64 / 7.0, "{n}");
        }
    }

    /// Rounds through the decimal expansion: `{:.k}` prints the exactly rounded decimal, and parsing
    /// gives its nearest double.
    fn through_text(x: f64, places: usize) -> f64 {
        format!("{x:.places$}").parse().expect("a number")
    }

    #[test]
    fn exact_ties_round_to_even() {
        for (x, places, rounded) in [
            (0.125, 2, 0.12),
            (0.375, 2, 0.38),
            (2.5, 0, 2.0),
            (-0.5, 0, -0.0),
            (-1.5, 0, -2.0),
            (0.031_25, 4, 0.0312),
        ] {
            assert_eq!(round_to(x, places).to_bits(), f64::to_bits(rounded), "{x}");
            assert_eq!(through_text(x, places).to_bits(), f64::to_bits(rounded));
        }
    }

    #[test]
    fn fast_rounding_matches_exact_rounding() {
        let mut x = 0.123_456_789_f64;
        for i in 0..200_000 {
            x = (x * 1_103.515_245 + 0.123_45).fract();
            // Every third value is moved next to a tie, where the two functions could differ.
            let y = if i % 3 == 0 {
                (x * 1000.0).floor() / 1000.0 + 0.0005
            } else {
                x
            };
            assert_eq!(
                round_to_thousandths(y).to_bits(),
                through_text(y, 3).to_bits()
            );
            for places in 0..5 {
                for y in [y, -y] {
                    assert_eq!(
                        round_to(y, places).to_bits(),
                        through_text(y, places).to_bits(),
                        "round({y}, {places})"
                    );
                }
            }
        }
    }

    #[test]
    fn decimals_are_read_as_the_standard_library_reads_them() {
        for text in ["0", "60", "0.35", "1.000", "0.1", "123456789.012345", "0.3"] {
            assert_eq!(parse_decimal(text), text.parse().ok(), "{text}");
        }
        for text in ["", ".5", "-1", "1e3", "0.12345678901234567", "1.2.3", "inf"] {
            assert_eq!(parse_decimal(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_of_all_sizes_are_rounded() {
        let mut bits = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..100_000 {
            bits = bits.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let size = (bits >> 40) % 200;
            let mantissa = f64::from_bits((bits >> 12) | 0x3ff0_0000_0000_0000);
            let x = mantissa * 2f64.powi(size as i32 - 100);
            for places in 0..7 {
                let rounded = round_to(x, places);
                assert_eq!(rounded, through_text(x, places), "round({x}, {places})");
            }
        }
        assert_eq!(round_to(f64::INFINITY, 3), f64::INFINITY);
        assert!(round_to(f64::NAN, 3).is_nan());
        assert_eq!(round_to(-1e-300, 4).to_bits(), f64::to_bits(-0.0));
    }
}
