//! What the player of the cluster world weighs: the chance of each word, and who it takes for whom.

use leptos::prelude::*;
use sentinel_env::cluster::{ActionType, Behavior};
use sentinel_env::slot::{SLOTS, Slot};

use super::Cluster;
use crate::play::Frame;
use crate::ui::{Scene, percent, ranked, tip};

/// What a player makes of a moment.
#[derive(Clone, Debug, Default)]
pub struct Mind {
    /// What the player believes now, `[slot][behavior]`.
    pub belief: Option<[[f64; SLOTS]; SLOTS]>,
    /// Probability that the player gives each of [`ActionType::ALL`] now; none after the end.
    pub words: Option<[f64; ActionType::ALL.len()]>,
}

/// Nothing where the player has no probabilities.
pub(super) fn mind(scene: Scene<Cluster>) -> impl IntoView {
    let markup = Memo::new(move |_| scene.with_frame(shown));
    move || {
        let known = !markup.with(String::is_empty);
        known.then(|| {
            view! {
                <section class="card mind" aria-label="What the player weighs" inner_html=move || markup.get()></section>
            }
        })
    }
}

/// Words and numbers of ours only, so nothing needs escaping.
fn shown(frame: &Frame<Cluster>) -> String {
    let words = frame.mind.words.map_or_else(String::new, |words| {
        ranked(
            ActionType::ALL.iter().map(|word| word.name()).zip(words),
            percent,
            "What comes next",
            "The chance that the policy gives each word; it takes the likeliest, and then the likeliest job, GPU and worker",
        )
    });
    words + &frame.mind.belief.map_or_else(String::new, belief)
}

/// The likeliest behavior behind each slot.
fn belief(belief: [[f64; SLOTS]; SLOTS]) -> String {
    let rows = Slot::ALL.iter().zip(belief).map(|(slot, row)| {
        let all = Behavior::ALL.iter().zip(row);
        let best = all.reduce(|a, b| if b.1 > a.1 { b } else { a });
        best.map_or_else(String::new, |(behavior, p)| {
            let (name, share) = (behavior.name(), percent(p));
            format!("<li data-belief=\"{p:.6}\"><span>{slot} {name}</span><span class=\"num\">{share}</span></li>")
        })
    });
    let rows: String = rows.collect();
    let label = tip(
        "Who is who",
        "What the policy takes each worker for, from what it saw; it was told the truth in training only",
    );
    format!("{label}<ol class=\"ranked\">{rows}</ol>")
}
