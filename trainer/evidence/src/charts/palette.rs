//! Colors that readers with a color vision deficiency can tell apart.
//!
//! The palette is that of Okabe and Ito (2008), "Color Universal Design", with a gray in front for
//! the baseline that all else is compared with.

/// The color of text, axes and whiskers.
pub(crate) const INK: &str = "#222222";
/// The color of secondary text and of reference lines.
pub(super) const MUTED: &str = "#666666";
/// The color of grid lines.
pub(super) const GRID: &str = "#E3E3E3";

/// Gray, for the baseline.
pub const GRAY: &str = "#8C8C8C";
/// Blue of Okabe and Ito.
pub const BLUE: &str = "#0072B2";
/// Vermillion of Okabe and Ito.
pub const VERMILLION: &str = "#D55E00";
/// Bluish green of Okabe and Ito.
pub const GREEN: &str = "#009E73";
/// Orange of Okabe and Ito.
pub const ORANGE: &str = "#E69F00";
/// Reddish purple of Okabe and Ito.
pub const PURPLE: &str = "#CC79A7";
/// Sky blue of Okabe and Ito.
pub const SKY: &str = "#56B4E9";

/// The colors of series without a color of their own, in order. Yellow is left out: thin lines of
/// it cannot be seen on white.
const CYCLE: [&str; 8] = [
    BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, "#444444", GRAY,
];

/// Returns the color of series number `index`; after eight series the colors repeat.
#[must_use]
pub const fn color(index: usize) -> &'static str {
    CYCLE[index % CYCLE.len()]
}

/// Returns the color of a policy that has one of its own in all charts: random is gray, scripted
/// ones are blue and orange, those that read hidden state green, trained ones vermillion.
#[must_use]
pub fn policy_color(name: &str) -> Option<&'static str> {
    Some(match name {
        "random" => GRAY,
        "heuristic" | "trust" | "greedy_regimen" => BLUE,
        "blind" | "no_change" => ORANGE,
        "oracle_lite" | "oracle" => GREEN,
        "trained" | "grpo" => VERMILLION,
        "bayes" | "planner" | "rules_only" => PURPLE,
        _ => return None,
    })
}

/// Returns a color for each policy of a chart: its own, or one that no other has taken, as long as
/// there are any.
#[must_use]
pub fn policy_colors(names: &[&str]) -> Vec<&'static str> {
    let mut taken: Vec<&str> = names.iter().filter_map(|name| policy_color(name)).collect();
    let mut colors = Vec::new();
    for (i, name) in names.iter().enumerate() {
        let own = policy_color(name).filter(|own| !colors.contains(own));
        let free = CYCLE.into_iter().find(|color| !taken.contains(color));
        let chosen = own.or(free).unwrap_or_else(|| color(i));
        taken.push(chosen);
        colors.push(chosen);
    }
    colors
}

/// Returns the name of a policy as charts write it: that of the page for a few, else the name itself
/// with spaces.
#[must_use]
pub fn policy_label(name: &str) -> String {
    match name {
        "random" => "Random".to_owned(),
        "heuristic" => "Heuristic".to_owned(),
        "oracle_lite" => "Heuristic with hidden state".to_owned(),
        "trained" => "Trained policy".to_owned(),
        _ => name.replace('_', " "),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn chart_policies_have_distinct_colors() {
        let names = [
            "random",
            "a",
            "trust",
            "heuristic",
            "b",
            "trained",
            "oracle",
            "blind",
        ];
        let colors: BTreeSet<&str> = policy_colors(&names).into_iter().collect();
        assert_eq!(colors.len(), names.len());
        assert_eq!(policy_colors(&["trained"]), [VERMILLION]);
    }

    #[test]
    fn eight_series_have_distinct_colors_then_repeat() {
        let colors: BTreeSet<&str> = (0..8).map(color).collect();
        assert_eq!(colors.len(), 8);
        assert_eq!(color(8), color(0));
    }
}
