//! The reward of the last action: its sum, and the terms that hide nothing.

use leptos::prelude::*;
use sentinel_page_protocol::RewardTerm;

use super::parts::term;
use crate::lane::Lane;
use crate::num::{fixed, scale, signed};
use crate::reactive::memo;

/// The score so far with the reward of the last action.
#[component]
pub fn Score(lane: Lane) -> impl IntoView {
    let score = move || {
        let score = lane
            .moment
            .with(|moment| moment.as_ref().map(|moment| moment.score));
        score.map_or_else(|| "–".to_owned(), |score| fixed(score, 3))
    };
    let reward = move || {
        let reward = lane
            .moment
            .with(|moment| moment.as_ref().and_then(|moment| moment.reward));
        reward.map_or_else(String::new, |reward| {
            format!("{} by the last action", signed(reward, 3))
        })
    };
    let note = move || {
        lane.moment.with(|m| {
            m.as_ref()
                .map_or_else(String::new, |m| m.terms_note.clone())
        })
    };
    let table = move || {
        lane.moment.with(|moment| {
            terms_table(
                moment
                    .as_ref()
                    .map_or(&[][..], |moment| moment.terms.as_slice()),
            )
        })
    };
    let has_more = memo(move |_| {
        let has = |m: &std::sync::Arc<_>| {
            let m: &sentinel_page_protocol::AgentView = m;
            !m.terms.is_empty() || !m.terms_note.is_empty()
        };
        lane.moment.with(|moment| moment.as_ref().is_some_and(has))
    });
    view! {
        <section class="card score-card" aria-label="Score">
            <h2>"Score so far"</h2>
            <p class="score" data-score=move || score() data-frame=move || lane.at.get().to_string()>{move || score()}</p>
            <p class="quiet reward">{move || reward()}</p>
            <details hidden=move || !has_more.get()>
                <summary>"Terms of the reward"</summary>
                {move || table()}
                <p class="quiet">{move || note()}</p>
            </details>
        </section>
    }
}

/// A table of terms: the length of a bar is the weight, its filled part the value.
#[must_use]
pub fn terms_table(terms: &[RewardTerm]) -> Option<AnyView> {
    if terms.is_empty() {
        return None;
    }
    let most = terms
        .iter()
        .filter_map(|term| term.weight)
        .fold(0.0, f64::max);
    let mut group = "";
    let mut rows: Vec<AnyView> = Vec::new();
    for row in terms {
        if row.group != group {
            group = &row.group;
            let name = row.group.clone();
            rows.push(
                view! { <tr class="group"><th colspan="3" scope="colgroup">{name}</th></tr> }
                    .into_any(),
            );
        }
        rows.push(term_row(row, most));
    }
    Some(view! {
        <table class="terms"><caption class="sr">"Terms of the reward"</caption><tbody>{rows}</tbody></table>
    }
    .into_any())
}

fn term_row(row: &RewardTerm, most: f64) -> AnyView {
    let weight = row.weight.unwrap_or(most.max(1e-9));
    let width = super::parts::percent_of(if most > 0.0 {
        (weight / most) as f32
    } else {
        1.0
    });
    let length = scale(row.value as f32);
    let text = match row.weight {
        Some(weight) => format!("{} × {}", fixed(weight, 2), fixed(row.value, 3)),
        None => format!("× {}", fixed(row.value, 3)),
    };
    view! {
        <tr>
            <th scope="row">{term(&row.name, &row.help)}</th>
            <td class="bar-cell"><span class="bar" aria-hidden="true" style:width=width><i style:transform=length></i></span></td>
            <td class="num">{text}</td>
        </tr>
    }
    .into_any()
}
