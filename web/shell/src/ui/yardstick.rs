//! The final score of an episode beside those of the policies on the same episode.

use std::sync::Arc;

use sentinel_page_protocol::{Placement, WorldInfo};

use super::spot::title_of;
use super::widgets::mean_value;
use crate::dom::IntoView;
use crate::dom::html::{b, button, div, p, section, span};
use crate::dom::{El, View};
use crate::number_format::fixed;
use crate::page::{Comparison, MEAN_SEEDS, MeanScore, Page};
use crate::reactive::{effect, memo};

/// Name of the policy that acts at random, in worlds that have it.
const RANDOM: &str = "random";

/// Returns what is said about the final score of the main episode, which is shown at its end. The
/// policies play in an engine of their own, and only once the end is shown, so playback never waits for
/// them.
#[must_use]
pub fn yardstick(page: Page) -> View {
    let shown = memo(move || page.shows_end());
    effect(move || {
        if shown.get() {
            page.compare_quickly();
        }
    });
    let view = move || {
        shown.get().then(|| {
            section()
                .class("yardstick")
                .label("How good is this score?")
                .child(div().child(judged(page)).child(means(page)))
                .child(ending(page))
        })
    };
    view.into_view()
}

/// Returns the rank of the score among those of the policies on the same episode.
fn judged(page: Page) -> View {
    let lines = move || {
        let score = page.main.last_score()?;
        let info = page.info.get()?;
        let player = page
            .main
            .status
            .with(|status| status.episode.player.clone());
        Some(lines(page.comparison().as_ref(), &info, &player, score))
    };
    lines.into_view()
}

/// Returns the answer to the world's question at the end of the episode, after a press on the button
/// that asks for it: whoever knows it plays the episode again for practice only.
fn ending(page: Page) -> View {
    let is_posed = move || {
        let frame = page.main.frame.get();
        frame.is_some_and(|frame| !frame.suspects.is_empty())
    };
    let view = move || {
        if !is_posed() {
            return None;
        }
        Some(match page.answer() {
            Some(answer) => {
                let line = p().id("ending").attr("role", "status");
                let name = title_of(page, answer.suspect);
                let words = page.spot_words().answer;
                line.child(b().child(format!("{name} is {words}.")))
                    .child(" ")
                    .child(answer.text.clone())
            }
            None => {
                let show = button()
                    .id("show-ending")
                    .on_press(move || page.show_answer());
                let words = format!("Show {}", page.spot_words().answer);
                div().class("control-row").child(show.child(words))
            }
        })
    };
    view.into_view()
}

fn lines(found: Option<&Comparison>, info: &Arc<WorldInfo>, player: &str, score: f64) -> View {
    let status = p().attr("role", "status");
    let Some(found) = found.filter(|found| found.is_complete()) else {
        let text = match found.is_some_and(|found| found.stopped) {
            true => "The comparison with the policies was stopped.",
            false => "The policies play the same episode, for comparison…",
        };
        let facts = p().class("facts").child("\u{a0}");
        let status = status.class("quiet").child(text);
        return View::Fragment(vec![status.into_view(), facts.into_view()]);
    };
    let placements = found.standings.as_ref().map_or(&[][..], |s| &s.placements);
    let verdict = verdict(placements, info, player, score);
    let scales = landmarks(placements, info).into_iter();
    let scales = scales.map(|(name, score)| {
        let value = b().class("num").child(fixed(score, 3));
        span().child(name).child(" ").child(value)
    });
    let facts = p().class("facts").child(scales.collect::<Vec<El>>());
    let verdict = status.child(b().child(verdict));
    View::Fragment(vec![verdict.into_view(), facts.into_view()])
}

/// Returns the mean scores over other episodes, on one line that stands from the start.
fn means(page: Page) -> El {
    let scores = move || {
        let Some(scores) = page.mean_scores() else {
            return "computing…".into_view();
        };
        let score = |score: &MeanScore| {
            span()
                .child(score.label.clone())
                .child(" ")
                .child(mean_value(score))
                .into_view()
        };
        View::Fragment(scores.iter().map(score).collect())
    };
    p().class("facts")
        .child(format!(
            "One episode proves little. Means of {MEAN_SEEDS} others:"
        ))
        .child(scores)
}

fn is_privileged(info: &WorldInfo, placement: &Placement) -> bool {
    let mut players = info.players.iter();
    players.any(|player| player.privileged && player.name == placement.player)
}

/// Returns how many of the other policies without hidden state score lower than `player`.
fn verdict(placements: &[Placement], info: &WorldInfo, player: &str, score: f64) -> String {
    let others = placements
        .iter()
        .filter(|other| other.scored > 0 && other.player != player && !is_privileged(info, other));
    let others: Vec<&Placement> = others.collect();
    // Scores in the standings have four decimals.
    let lower = others.iter().filter(|other| other.mean < score - 5e-5);
    let (lower, all) = (lower.count(), others.len());
    let score = fixed(score, 3);
    match lower {
        0 => format!(
            "{score}: none of {all} other players without hidden state scores lower on this episode."
        ),
        _ if lower == all => {
            format!(
                "{score}: better than all {all} other players without hidden state on this episode."
            )
        }
        _ => format!(
            "{score}: better than {lower} of {all} other players without hidden state on this episode."
        ),
    }
}

/// Returns names and scores to compare with: the random policy or else the worst one, the trained
/// policy, the best one without hidden state, and the best one with it.
fn landmarks(placements: &[Placement], info: &WorldInfo) -> Vec<(String, f64)> {
    let scored = || placements.iter().filter(|placement| placement.scored > 0);
    let public = || scored().filter(|placement| !is_privileged(info, placement));
    let named = |name: &str| scored().find(|placement| placement.player == name);
    let trained = named(&info.default_player);
    let best = public()
        .next()
        .filter(|best| Some(best.player.as_str()) != trained.map(|t| t.player.as_str()));
    let seen = scored().find(|placement| is_privileged(info, placement));
    let worst = named(RANDOM).or_else(|| public().next_back());
    let entry = |role: &str, found: Option<&Placement>| {
        let found = found?;
        Some((format!("{role}{}", found.label), found.mean))
    };
    [
        entry("", worst),
        entry("", trained),
        entry("Best: ", best),
        // Its label says that it sees hidden state.
        entry("", seen),
    ]
    .into_iter()
    .flatten()
    .collect()
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
        assert!(words("grpo", 0.8).contains("better than 1 of 2"));
        assert!(words("you", 0.92).contains("better than all 3"));
        assert!(words("you", 0.3).contains("none of 3"));
        assert!(words("you", 0.8).starts_with("0.800: better than 1 of 3"));
    }

    #[test]
    fn the_landmarks_end_with_the_best_that_saw_hidden_state() {
        let named = |all: &[Placement]| -> Vec<String> {
            landmarks(all, &info())
                .into_iter()
                .map(|(name, _)| name)
                .collect()
        };
        let mut all = placements();
        assert_eq!(named(&all), ["RANDOM", "GRPO", "Best: BAYES", "ORACLE"]);
        // The trained policy may be the best one, and the worst one stands in for a random one.
        all.retain(|placement| placement.player != "bayes" && placement.player != "random");
        assert_eq!(named(&all), ["GRPO", "GRPO", "ORACLE"]);
    }
}
