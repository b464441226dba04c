//! Formatting of tournament results.

use sentinel_page_protocol::Standings;

use crate::number_format::{fixed, signed};

/// Formats a mean with its interval, such as `0.912 ± 0.004`.
#[must_use]
pub fn format_interval(mean: f64, half_width: f64) -> String {
    if half_width.is_finite() {
        format!("{} ± {}", fixed(mean, 3), fixed(half_width, 3))
    } else {
        fixed(mean, 3)
    }
}

/// Formats the paired difference of a player to the best one; empty for the best player.
#[must_use]
pub fn format_difference(standings: &Standings, player: &str) -> String {
    let found = standings.differences.iter().find(|d| d.player == player);
    found.map_or_else(String::new, |difference| {
        let mean = signed(difference.mean, 3);
        if difference.half_width.is_finite() {
            format!("{mean} ± {}", fixed(difference.half_width, 3))
        } else {
            mean
        }
    })
}

/// Returns `true` if the difference of a player to the best one exceeds its 95 % interval.
#[must_use]
pub fn is_significant(standings: &Standings, player: &str) -> bool {
    let found = standings.differences.iter().find(|d| d.player == player);
    found.is_some_and(|d| d.mean.abs() > d.half_width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_page_protocol::Difference;

    #[test]
    fn intervals_are_named_where_they_exist() {
        assert_eq!(format_interval(0.9124, 0.004), "0.912 ± 0.004");
        assert_eq!(format_interval(0.5, f64::NAN), "0.500");
        let standings = Standings {
            differences: vec![Difference {
                player: "random".to_owned(),
                mean: -0.25,
                half_width: 0.02,
            }],
            ..Standings::default()
        };
        assert_eq!(format_difference(&standings, "random"), "−0.250 ± 0.020");
        assert_eq!(format_difference(&standings, "grpo"), "");
        assert!(is_significant(&standings, "random") && !is_significant(&standings, "grpo"));
    }
}
