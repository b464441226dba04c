//! The score and the reward of the last action, with the terms that reveal nothing hidden.

use sentinel_page_protocol::RewardTerm;

use super::widgets::{bar, css_percent, text_with_help};
use crate::dom::html::{b, caption, details, h2, p, section, summary, table, tbody, td, th, tr};
use crate::dom::{El, IntoView, View};
use crate::episode_view::EpisodeView;
use crate::number_format::fixed;
use crate::reactive::memo;

const EXPECTED: &str =
    "Expected final score if the trained policy takes over here; the analysis computes it.";

/// Returns the score so far, with the reward of the last action.
#[must_use]
pub fn score(episode: EpisodeView) -> El {
    let score = move || {
        let score = episode
            .frame
            .with(|frame| frame.as_ref().map(|frame| frame.score));
        score.map_or_else(|| "–".to_owned(), |score| fixed(score, 3))
    };
    let reward = move || {
        let reward = episode
            .frame
            .with(|frame| frame.as_ref().and_then(|frame| frame.reward));
        reward.map_or_else(String::new, |reward| {
            format!("last reward {}", fixed(reward, 3))
        })
    };
    let value = p()
        .class("score")
        .attr("data-score", score)
        .attr("data-frame", move || episode.at.get().to_string())
        .child(score);
    let expected = move || {
        let found = episode.expected_score();
        found.map(|score| {
            View::Fragment(vec![
                text_with_help("Expected", EXPECTED).into_view(),
                b().class("num").child(fixed(score, 3)).into_view(),
            ])
        })
    };
    section()
        .class("score-now")
        .label("Score")
        .child(h2().child("Score so far"))
        .child(value)
        .child(p().class("quiet reward").child(reward))
        .child(p().class("quiet expected").child(expected))
}

/// Returns the card with the terms of the last reward and the hash of the trajectory.
#[must_use]
pub fn reward_card(episode: EpisodeView) -> El {
    let note = move || {
        episode.frame.with(|m| {
            m.as_ref()
                .map_or_else(String::new, |m| m.terms_note.clone())
        })
    };
    let table = move || {
        episode.frame.with(|frame| {
            terms_table(
                frame
                    .as_ref()
                    .map_or(&[][..], |frame| frame.terms.as_slice()),
            )
        })
    };
    let has_more = memo(move || {
        let has = |m: &std::sync::Arc<_>| {
            let m: &sentinel_page_protocol::AgentView = m;
            !m.terms.is_empty() || !m.terms_note.is_empty()
        };
        episode.frame.with(|frame| frame.as_ref().is_some_and(has))
    });
    let terms = details()
        .hidden(move || !has_more.get())
        .child(summary().child("Reward terms"))
        .child(table)
        .child(p().class("quiet").child(note));
    let digest = p()
        .class("digest")
        .attr(
            "data-help",
            "Number of actions and hash of the trajectory; the same on every machine.",
        )
        .child(move || episode.status.with(|status| status.digest.clone()));
    section()
        .class("card score-card")
        .label("Reward")
        .child(terms)
        .child(digest)
}

/// Returns a table of reward terms; `None` without terms. The length of a bar is the weight, its
/// filled part the value.
#[must_use]
pub fn terms_table(terms: &[RewardTerm]) -> Option<El> {
    if terms.is_empty() {
        return None;
    }
    let most = terms
        .iter()
        .filter_map(|term| term.weight)
        .fold(0.0, f64::max);
    let mut group = "";
    let mut rows: Vec<El> = Vec::new();
    for row in terms {
        if row.group != group {
            group = &row.group;
            let name = row.group.clone();
            let heading = th().attr("colspan", "3").attr("scope", "colgroup");
            rows.push(tr().class("group").child(heading.child(name)));
        }
        rows.push(term_row(row, most));
    }
    let name = caption().class("sr").child("Reward terms");
    Some(
        table()
            .class("terms")
            .child(name)
            .child(tbody().child(rows)),
    )
}

fn term_row(row: &RewardTerm, most: f64) -> El {
    let weight = row.weight.unwrap_or(most.max(1e-9));
    let width = css_percent(if most > 0.0 {
        (weight / most) as f32
    } else {
        1.0
    });
    let text = match row.weight {
        Some(weight) => format!("{} × {}", fixed(weight, 2), fixed(row.value, 3)),
        None => format!("× {}", fixed(row.value, 3)),
    };
    let bar = bar(row.value as f32).style("width", width);
    tr().child(
        th().attr("scope", "row")
            .child(text_with_help(&row.name, &row.help)),
    )
    .child(td().class("bar-cell").child(bar))
    .child(td().class("num").child(text))
}
