//! How likely the player is to take an action, beside the action.

use std::fmt::Write;

use sentinel_env::trust::Action;

use crate::ui::percent;

/// A bar and a number for each of these actions, as markup; `all` is in the order of [`Action::ALL`].
/// Every part of it is a number or a word of ours, so nothing needs escaping.
pub(super) fn odds(all: &[f64; 12], actions: &[Action]) -> String {
    let mut out = String::new();
    let most = all.iter().fold(0.0, |most: f64, p| most.max(*p));
    for (action, p) in Action::ALL.iter().zip(all) {
        if !actions.contains(action) {
            continue;
        }
        let name = match action {
            Action::Delegate(_) => "delegate",
            Action::Verify(_) => "verify",
            Action::SolveIndependently => "solve alone",
            Action::Skip => "skip",
        };
        let (class, share) = (if *p >= most { "odd most" } else { "odd" }, percent(*p));
        // A `String` takes all that is written to it.
        let _ = write!(
            out,
            "<div class=\"{class}\" role=\"img\" aria-label=\"Probability of {action}: {share}\" data-probability=\"{p:.6}\">\
            <span>{name}</span><div class=\"meter\"><span style=\"width:{:.1}%\"></span></div><span class=\"num\">{share}</span></div>",
            p * 100.0
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_env::slot::Slot;

    #[test]
    fn the_likeliest_action_stands_out() {
        let mut all = [0.05; 12];
        all[7] = 0.45;
        let slot = Slot::ALL[2];
        let shown = odds(&all, &[Action::Delegate(slot), Action::Verify(slot)]);
        assert_eq!(shown.matches("data-probability").count(), 2);
        let (first, second) = shown.split_once("odd most").expect("one stands out");
        assert!(
            first.contains("delegate") && second.contains("verify"),
            "{shown}"
        );
        assert!(second.contains("45 %"), "{shown}");
    }
}
