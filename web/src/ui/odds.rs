//! What a player weighs: probabilities and ranked actions, as markup.

use std::fmt::Display;

use super::tip;
use sentinel_policy::insertion_sort::sort;

/// A probability as a person reads it.
#[must_use]
pub fn percent(probability: f64) -> String {
    match probability * 100.0 {
        tiny if tiny > 0.0 && tiny < 0.1 => "&lt;0.1 %".to_owned(),
        small if small < 9.95 => format!("{small:.1} %"),
        large => format!("{large:.0} %"),
    }
}

/// The three actions with the largest numbers. Words and numbers of ours only, so nothing needs escaping.
#[must_use]
pub fn ranked(
    values: impl IntoIterator<Item = (impl Display, f64)>,
    text: impl Fn(f64) -> String,
    label: &str,
    explanation: &str,
) -> String {
    let mut ranked: Vec<_> = values.into_iter().collect();
    sort(&mut ranked, |a, b| a.1 > b.1);
    let rows = ranked.iter().take(3).map(|(action, value)| {
        let number = text(*value);
        format!("<li><span>{action}</span><span class=\"num\">{number}</span></li>")
    });
    let rows: String = rows.collect();
    format!(
        "{}<ol class=\"ranked\">{rows}</ol>",
        tip(label, explanation)
    )
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn a_chance_is_never_rounded_to_nothing() {
        let texts = [0.0, 1e-9, 0.004, 0.0994, 0.0996, 0.5, 1.0].map(percent);
        assert_eq!(
            texts,
            [
                "0.0 %",
                "&lt;0.1 %",
                "0.4 %",
                "9.9 %",
                "10 %",
                "50 %",
                "100 %"
            ]
        );
    }
}
