//! Numbers as text, by integer arithmetic: float formatting of the standard library would be a
//! noticeable part of the program.

/// Minus sign in text for people.
const MINUS: &str = "−";
/// Text in place of a number that is not finite.
const NONE: &str = "–";

/// Formats `value` with `digits` decimals, for people.
#[must_use]
pub fn fixed(value: f64, digits: u32) -> String {
    decimal(value, digits, MINUS)
}

/// Formats `value` with its sign and `digits` decimals, for people.
#[must_use]
pub fn signed(value: f64, digits: u32) -> String {
    let text = fixed(value, digits);
    if value.is_finite() && !text.starts_with(MINUS) {
        return format!("+{text}");
    }
    text
}

/// Formats a share as a percentage, for people.
#[must_use]
pub fn percent(share: f32) -> String {
    fixed(f64::from(share) * 100.0, 0) + " %"
}

/// Formats `value` with one decimal, for style sheets and SVG; 0 if it is not finite.
#[must_use]
pub fn css(value: f64) -> String {
    if value.is_finite() {
        decimal(value, 1, "-")
    } else {
        "0".to_owned()
    }
}

/// Returns the CSS transform that shrinks a bar to `share` of its length.
#[must_use]
pub fn scale_x(share: f32) -> String {
    let share = if share.is_finite() {
        share.clamp(0.0, 1.0)
    } else {
        0.0
    };
    format!("scaleX({})", decimal(f64::from(share), 3, "-"))
}

/// Formats a number with few digits, or as a power of ten if it is tiny.
#[must_use]
pub fn compact(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        small if small < 1e-3 => scientific(value, 2),
        small if small < 0.1 => fixed(value, 4),
        large if large >= 1000.0 => {
            let sign = if value < 0.0 { MINUS } else { "" };
            match large.is_finite() {
                true => sign.to_owned() + &grouped(large.round() as u64),
                false => NONE.to_owned(),
            }
        }
        _ => fixed(value, 3),
    }
}

/// Formats a number as a power of ten, such as `3.00e-4`.
#[must_use]
pub fn scientific(value: f64, digits: u32) -> String {
    if value == 0.0 || !value.is_finite() {
        return fixed(value, digits);
    }
    let (power, mut exponent) = power_of_ten(value.abs());
    let mut mantissa = value / power;
    // Rounding may add a digit: 9.999e-7 is 1.00e-6, not 10.00e-7.
    if fixed(mantissa.abs(), digits).starts_with("10") {
        mantissa /= 10.0;
        exponent += 1;
    }
    format!("{}e{exponent}", fixed(mantissa, digits))
}

/// Returns the highest power of ten that is not above a positive `value`, and its exponent.
#[must_use]
pub fn power_of_ten(value: f64) -> (f64, i32) {
    let (mut power, mut exponent) = (1.0, 0);
    if value > 0.0 && value.is_finite() {
        while power * 10.0 <= value {
            power *= 10.0;
            exponent += 1;
        }
        while power > value {
            power /= 10.0;
            exponent -= 1;
        }
    }
    (power, exponent)
}

/// Formats a whole number with thin spaces between groups of three digits.
#[must_use]
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

fn decimal(value: f64, digits: u32, minus: &str) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let scale = 10u64.pow(digits);
    // Saturates far above every number that is shown.
    let whole = (value.abs() * scale as f64).round() as u64;
    let sign = if value < 0.0 && whole > 0 { minus } else { "" };
    let mut out = format!("{sign}{}", whole / scale);
    if digits > 0 {
        let rest = (whole % scale).to_string();
        out.push('.');
        for _ in rest.len()..digits as usize {
            out.push('0');
        }
        out.push_str(&rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_rounded_and_padded() {
        assert_eq!(fixed(0.912_4, 3), "0.912");
        assert_eq!(fixed(0.05, 3), "0.050");
        assert_eq!(fixed(-1.25, 1), "−1.3");
        assert_eq!(fixed(-0.000_1, 2), "0.00");
        assert_eq!(fixed(12.0, 0), "12");
        assert_eq!(fixed(f64::NAN, 2), "–");
        assert_eq!(signed(0.5, 2), "+0.50");
        assert_eq!(signed(-0.5, 2), "−0.50");
        assert_eq!(css(-3.26), "-3.3");
        assert_eq!(css(f64::INFINITY), "0");
        assert_eq!(scale_x(f32::NAN), "scaleX(0.000)");
        assert_eq!(scale_x(0.5), "scaleX(0.500)");
        assert_eq!(percent(0.625), "63 %");
    }

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, 0.812_345_6, 0.012_345_67, 3e-4, -123_456.0].map(compact);
        assert_eq!(
            texts,
            ["0", "0.812", "0.0123", "3.00e-4", "−123\u{202f}456"]
        );
        assert_eq!(compact(f64::NEG_INFINITY), "–");
        let tiny = [1e-6, 9.999e-7, 9.99e-7, -9.999e-7, 1e-7].map(|value| scientific(value, 2));
        assert_eq!(
            tiny,
            ["1.00e-6", "1.00e-6", "9.99e-7", "−1.00e-6", "1.00e-7"]
        );
        assert_eq!(grouped(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(grouped(12), "12");
    }
}
