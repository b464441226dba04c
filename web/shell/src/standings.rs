//! Formatting of tournament results.

use sentinel_page_protocol::{Difference, Standings};

use crate::number_format::{css, fixed, grouped, signed};

/// Formats a mean with its interval, such as `0.912 ± 0.004`.
#[must_use]
pub fn format_interval(mean: f64, half_width: f64) -> String {
    with_half_width(fixed(mean, 3), half_width)
}

/// Formats the paired difference of a player to the reference; empty for the reference.
#[must_use]
pub fn format_difference(standings: &Standings, player: &str) -> String {
    difference_of(standings, player).map_or_else(String::new, |difference| {
        with_half_width(signed(difference.mean, 3), difference.half_width)
    })
}

fn with_half_width(mean: String, half_width: f64) -> String {
    if half_width.is_finite() {
        mean + " ± " + &fixed(half_width, 3)
    } else {
        mean
    }
}

/// Returns the paired difference of a player to the reference; `None` for the reference.
#[must_use]
pub fn difference_of<'a>(standings: &'a Standings, player: &str) -> Option<&'a Difference> {
    standings.differences.iter().find(|d| d.player == player)
}

/// Returns the readable name of a player that takes part.
#[must_use]
pub fn label_of(standings: &Standings, player: &str) -> String {
    let found = standings.placements.iter().find(|p| p.player == player);
    found.map_or_else(String::new, |placement| placement.label.clone())
}

/// Returns a sentence about the pairs in which a player is ahead or behind.
#[must_use]
pub fn describe_pairs(difference: &Difference) -> String {
    let [higher, equal, lower] = difference.pairs.map(u64::from);
    format!(
        "Of {} episodes that both played, it scored higher in {}, equal in {} and lower in {}.",
        grouped(higher + equal + lower),
        grouped(higher),
        grouped(equal),
        grouped(lower)
    )
}

/// Estimates the rest of the work from the part that is done, such as `about 12 s left`; empty
/// before anything is done.
#[must_use]
pub fn format_rest(elapsed_ms: f64, done: u32, total: u32) -> String {
    if done == 0 || done >= total || elapsed_ms <= 0.0 {
        return String::new();
    }
    let rest = elapsed_ms / 1000.0 * f64::from(total - done) / f64::from(done);
    let (value, unit) = match rest {
        seconds if seconds < 90.0 => (seconds.max(1.0), "s"),
        seconds if seconds < 5400.0 => (seconds / 60.0, "min"),
        seconds => (seconds / 3600.0, "h"),
    };
    format!("about {} {unit} left", fixed(value, 0))
}

/// Returns the SVG path of a histogram's bars, in a box of `width` by `height` with its origin at
/// the top left.
#[must_use]
pub fn histogram_path(counts: &[u32], width: f64, height: f64) -> String {
    let peak = counts.iter().copied().max().unwrap_or(0).max(1);
    let slot = width / counts.len().max(1) as f64;
    let mut path = String::new();
    for (index, count) in counts.iter().enumerate() {
        if *count > 0 {
            // A single episode stays visible.
            let bar = (f64::from(*count) / f64::from(peak) * height).max(1.5);
            path = path + "M" + &css(slot * index as f64) + " " + &css(height);
            path = path + "v-" + &css(bar) + "h" + &css(slot - 1.0) + "V" + &css(height);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_named_where_they_exist() {
        assert_eq!(format_interval(0.9124, 0.004), "0.912 ± 0.004");
        assert_eq!(format_interval(0.5, f64::NAN), "0.500");
        let standings = Standings {
            differences: vec![Difference {
                player: "random".to_owned(),
                mean: -0.25,
                half_width: 0.02,
                pairs: [1, 2, 1200],
                ..Difference::default()
            }],
            ..Standings::default()
        };
        assert_eq!(format_difference(&standings, "random"), "−0.250 ± 0.020");
        assert_eq!(format_difference(&standings, "grpo"), "");
        let difference = difference_of(&standings, "random").expect("a difference");
        let text = describe_pairs(difference);
        assert!(
            text.contains("higher in 1, equal in 2 and lower in 1\u{202f}200"),
            "{text}"
        );
        assert!(difference_of(&standings, "grpo").is_none());
    }

    #[test]
    fn rest_is_estimated_from_what_is_done() {
        assert_eq!(format_rest(2000.0, 10, 100), "about 18 s left");
        assert_eq!(format_rest(60_000.0, 10, 100), "about 9 min left");
        assert_eq!(format_rest(3_600_000.0, 10, 100), "about 9 h left");
        assert_eq!(format_rest(50.0, 99, 100), "about 1 s left");
        assert_eq!(format_rest(2000.0, 0, 100), "");
        assert_eq!(format_rest(2000.0, 100, 100), "");
    }

    #[test]
    fn histogram_is_a_path_of_bars() {
        assert_eq!(
            histogram_path(&[0, 4, 2], 30.0, 20.0),
            "M10.0 20.0v-20.0h9.0V20.0M20.0 20.0v-10.0h9.0V20.0"
        );
        assert_eq!(histogram_path(&[], 30.0, 20.0), "");
        assert_eq!(histogram_path(&[0, 0], 30.0, 20.0), "");
    }
}
