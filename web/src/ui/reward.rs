//! The reward of the action at the cursor, taken apart.

use std::fmt::Write;

use leptos::prelude::*;

use super::{Scene, Stage, tip};
use crate::play::Term;

/// A step's reward and, at the end, the terminal one.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// The step's reward.
    pub reward: f64,
    /// What it is made of: tables with what stands above each.
    pub step: Vec<(String, Vec<Term>)>,
    /// What the end brings: its name, its value, its terms, and what is said when it has none.
    pub end: Option<(&'static str, f64, Vec<Term>, String)>,
}

/// The card.
#[component]
pub fn Reward<W: Stage>(scene: Scene<W>) -> impl IntoView {
    let markup = Memo::new(move |_| {
        let parts = scene.with_frame(|frame| W::parts(frame, scene.truth()));
        parts.as_ref().map_or_else(nothing, card)
    });
    view! { <section class="card rewards" aria-label="Reward" inner_html=markup></section> }
}

fn nothing() -> String {
    "<h3>Reward</h3><p class=\"quiet\">Comes with the first action.</p>".to_owned()
}

fn card(parts: &Parts) -> String {
    let mut out = format!(
        "<h3 data-reward=\"{0:.4}\">Reward {0:.4}</h3>",
        parts.reward
    );
    for (title, terms) in &parts.step {
        if !title.is_empty() {
            let _ = write!(out, "<p class=\"quiet\">{title}</p>");
        }
        table(terms, &mut out);
    }
    if let Some((name, value, terms, note)) = &parts.end {
        let _ = write!(out, "<h3>{name} {value:.4}</h3>");
        if terms.is_empty() {
            let _ = write!(out, "<p class=\"quiet\">{note}</p>");
        } else {
            table(terms, &mut out);
        }
    }
    out
}

/// A row for each term; words and numbers of ours only, so nothing needs escaping.
fn table(terms: &[Term], out: &mut String) {
    // The heaviest component's bar fills the cell.
    let heaviest = |most: f64, term: &Term| most.max(term.weight.unwrap_or(0.0));
    let most = terms.iter().fold(0.0, heaviest);
    out.push_str("<table class=\"terms\"><tbody>");
    for term in terms {
        let product = term.product();
        let (formula, result, full, part) = match term.weight {
            Some(weight) => (
                format!("{weight:.2} × {:.3}", term.value),
                format!("{product:.3}"),
                weight / most,
                product / most,
            ),
            None => ("times".to_owned(), format!("{product:.3}"), 1.0, term.value),
        };
        let head = tip(
            term.name,
            &format!("{}. {formula} = {product:.4}", term.meaning),
        );
        let class = if term.weight.is_some() {
            ""
        } else {
            " class=\"factor\""
        };
        let _ = write!(
            out,
            "<tr{class}><th scope=\"row\">{head}</th><td class=\"bar\"><span class=\"full\" style=\"width:{:.1}%\"></span>\
            <span class=\"part\" style=\"width:{:.1}%\"></span></td><td class=\"num\">{formula}</td><td class=\"num\">{result}</td></tr>",
            full * 100.0,
            part * 100.0
        );
    }
    out.push_str("</tbody></table>");
}
