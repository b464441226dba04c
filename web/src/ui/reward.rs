//! The reward of the action at the cursor, taken apart.

use leptos::prelude::*;
use sentinel_env::trust::Terminal;

use super::scene::Scene;
use super::tip::Tip;
use crate::play::{Term, explain, explain_terminal};

/// The step's reward and, at the end, the terminal one.
#[component]
pub fn Reward(scene: Scene) -> impl IntoView {
    view! {
        <section class="card rewards" aria-label="Reward">
            {move || scene.with_frame(|frame| {
                let Some(step) = frame.step else {
                    return view! { <h3>"Reward"</h3><p class="quiet">"Comes with the first action."</p> }.into_any();
                };
                let task = frame.episode.observation().task;
                let heading = format!("Reward {:.4}", step.grades.reward);
                let terms = explain(task, &step.grades);
                let end = step.terminal.map(|end| terminal(&end, explain_terminal(&end), step.grades.reward));
                view! { <h3 data-reward=format!("{:.4}", step.grades.reward)>{heading}</h3>{table(&terms)}{end} }.into_any()
            })}
        </section>
    }
}

fn terminal(end: &Terminal, terms: Vec<Term>, last: f64) -> impl IntoView + use<> {
    let body = if end.forced {
        view! { <p class="quiet">"Believed poison at stakes of .85 or more ended the episode: .01."</p> }.into_any()
    } else if terms.is_empty() {
        view! { <p class="quiet">{format!("Task 1 ends with its last step’s reward again: {last:.4}.")}</p> }.into_any()
    } else {
        table(&terms).into_any()
    };
    view! { <h3>{format!("Terminal reward {:.4}", end.reward)}</h3>{body} }
}

fn table(terms: &[Term]) -> impl IntoView + use<> {
    let row = |term: &Term| {
        let product = term.product();
        let formula = format!("{:.2} × {:.3} = {product:.4}", term.weight, term.value);
        let tip = format!("{}. {formula}", term.meaning);
        // No component weighs more than .65: the longest bar fills the cell.
        let (full, part) = (term.weight / 0.65 * 100.0, product / 0.65 * 100.0);
        view! {
            <tr>
                <th scope="row"><Tip label=term.name text=tip/></th>
                <td class="bar"><span class="full" style=format!("width:{:.1}%", full.min(100.0))></span><span class="part" style=format!("width:{:.1}%", part.min(100.0))></span></td>
                <td class="num">{format!("{:.2} × {:.3}", term.weight, term.value)}</td>
                <td class="num">{format!("{product:.3}")}</td>
            </tr>
        }
    };
    view! { <table class="terms"><tbody>{terms.iter().map(row).collect_view()}</tbody></table> }
}
