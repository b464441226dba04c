//! The final score of an episode beside those of the policies on the same episode.

use std::sync::Arc;

use sentinel_page_protocol::{Placement, WorldInfo};

use crate::dom::IntoView;
use crate::dom::html::{b, p, section, small, span};
use crate::dom::{El, View};
use crate::number_format::fixed;
use crate::page::{Comparison, Page};
use crate::reactive::{effect, memo};

/// Name of the policy that acts at random.
const RANDOM: &str = "random";

/// Returns a line about the final score of the main episode, which is shown at its end. The policies
/// play in an engine of their own, and only once the end is shown, so playback never waits for them.
#[must_use]
pub fn yardstick(page: Page) -> View {
    let shown = memo(move || page.shows_end());
    effect(move || {
        if shown.get() {
            page.compare_quickly();
        }
    });
    let line = move || {
        let found = page.comparison().filter(|_| shown.get())?;
        let info = page.info.get()?;
        let player = page
            .main
            .status
            .with(|status| status.episode.player.clone());
        let score = page.main.last_score()?;
        Some(line(&found, &info, &player, score))
    };
    line.into_view()
}

fn line(found: &Comparison, info: &Arc<WorldInfo>, player: &str, score: f64) -> El {
    let line = section()
        .class("yardstick")
        .label("How good is this score?");
    let status = p().attr("role", "status");
    if !found.is_complete() {
        return line.child(
            status
                .class("quiet")
                .child("The policies play this episode, too…"),
        );
    }
    let placements = found.standings.as_ref().map_or(&[][..], |s| &s.placements);
    let mut facts = p().class("facts");
    for (name, score) in landmarks(placements, info) {
        let value = b().class("num").child(fixed(score, 3));
        facts = facts.child(span().child(name).child(" ").child(value));
    }
    line.child(status.child(b().child(verdict(placements, info, player, score))))
        .child(facts)
        .child(small().child("One episode says little about a policy."))
}

fn is_privileged(info: &WorldInfo, placement: &Placement) -> bool {
    let mut players = info.players.iter();
    players.any(|player| player.privileged && player.name == placement.player)
}

/// Returns how many of the other policies without hidden state score lower than `player`.
fn verdict(placements: &[Placement], info: &WorldInfo, player: &str, score: f64) -> String {
    let (mut lower, mut all) = (0, 0);
    for other in placements {
        if other.scored > 0 && other.player != player && !is_privileged(info, other) {
            all += 1;
            // Scores in the standings have four decimals.
            lower += u32::from(other.mean < score - 5e-5);
        }
    }
    let score = fixed(score, 3);
    match lower {
        0 => format!("{score}: none of {all} policies scores lower on this episode."),
        _ => format!("{score}: more than {lower} of {all} policies reach on this episode."),
    }
}

/// Returns names and scores to compare with: the best policy with hidden state, the best one without
/// it, the trained and the random one.
fn landmarks(placements: &[Placement], info: &WorldInfo) -> Vec<(String, f64)> {
    let mut all = Vec::new();
    let (mut has_seeing, mut has_best) = (false, false);
    for placement in placements.iter().filter(|placement| placement.scored > 0) {
        let is_seeing = is_privileged(info, placement);
        let has_first = match is_seeing {
            true => &mut has_seeing,
            false => &mut has_best,
        };
        let is_first = !std::mem::replace(has_first, true);
        let role = match (is_seeing, is_first) {
            (true, true) => "With hidden state: ",
            (false, true) => "Best: ",
            _ if placement.player == info.default_player || placement.player == RANDOM => "",
            _ => continue,
        };
        all.push((String::from(role) + &placement.label, placement.mean));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_page_protocol::PlayerInfo;

    fn info() -> WorldInfo {
        let player = |name: &str, privileged| PlayerInfo {
            name: name.to_owned(),
            privileged,
            ..PlayerInfo::default()
        };
        WorldInfo {
            players: vec![
                player("grpo", false),
                player("random", false),
                player("bayes", false),
                player("oracle", true),
            ],
            default_player: "grpo".to_owned(),
            ..WorldInfo::default()
        }
    }

    fn placements() -> Vec<Placement> {
        let placement = |player: &str, mean| Placement {
            player: player.to_owned(),
            label: player.to_uppercase(),
            scored: 1,
            mean,
            ..Placement::default()
        };
        vec![
            placement("oracle", 0.95),
            placement("bayes", 0.9),
            placement("grpo", 0.8),
            placement("random", 0.3),
        ]
    }

    /// Policies that see hidden state are no match for a player that does not, and a policy is not
    /// compared with itself.
    #[test]
    fn the_score_is_ranked_among_the_other_public_policies() {
        let words = |player, score| verdict(&placements(), &info(), player, score);
        assert!(words("grpo", 0.8).contains("more than 1 of 2"));
        assert!(words("you", 0.92).contains("more than 3 of 3"));
        assert!(words("you", 0.3).contains("none of 3"));
        assert!(words("you", 0.8).starts_with("0.800: more than 1 of 3"));
    }

    #[test]
    fn the_landmarks_say_who_saw_hidden_state() {
        let named = |all: &[Placement]| -> Vec<String> {
            landmarks(all, &info())
                .into_iter()
                .map(|(name, _)| name)
                .collect()
        };
        let mut all = placements();
        assert_eq!(
            named(&all),
            ["With hidden state: ORACLE", "Best: BAYES", "GRPO", "RANDOM"]
        );
        all.retain(|placement| placement.player != "bayes");
        assert_eq!(
            named(&all),
            ["With hidden state: ORACLE", "Best: GRPO", "RANDOM"]
        );
    }
}
