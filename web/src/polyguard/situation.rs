//! The moment at the cursor: how far the episode is, what can be seen of the risk, and what just happened.

use leptos::prelude::*;
use sentinel_env::Environment;
use sentinel_env::polyguard::{Observation, each_archetype};

use super::words::spaced;
use super::{Polyguard, story, words};
use crate::play::Frame;
use crate::text::three;
use crate::ui::{Scene, tip};

/// The goal, the numbers that can be seen, and the story of the last step.
pub(super) fn situation(scene: Scene<Polyguard>) -> impl IntoView {
    let markup = Memo::new(move |_| {
        let truth = scene.truth();
        scene.with_frame(|frame| standing(frame) + &story::story(frame, truth))
    });
    view! { <section class="card situation" aria-label="Situation" inner_html=markup></section> }
}

fn meter(label: &str, explanation: &str, class: &str, share: f64) -> String {
    format!(
        "<div class=\"row\">{}<div class=\"meter{class}\"><span style=\"width:{:.0}%\"></span></div></div>",
        tip(label, explanation),
        share.clamp(0.0, 1.0) * 100.0
    )
}

/// Words and numbers of ours only, so nothing needs escaping.
fn standing(frame: &Frame<Polyguard>) -> String {
    let o = frame.episode.observation();
    let (title, goal) = words::sub(o.case.sub());
    let head = match o.end {
        None => format!("<h3>{title}</h3><p class=\"goal\">{goal}</p>"),
        Some(end) => format!(
            "<h3>The episode has ended: {}, score {}</h3><p class=\"goal\">{}</p>",
            words::end(end).0,
            three(frame.episode.score()),
            words::end(end).1
        ),
    };
    let left = o.budget.saturating_sub(o.step_count);
    let high = |value: f64| if value >= 0.3 { " stakes high" } else { "" };
    head + &meter(
        &format!("Steps {} of {}", o.step_count, o.budget),
        &format!("{left} left. Ending well early is worth more than using all steps."),
        "",
        f64::from(o.step_count) / f64::from(o.budget.max(1)),
    ) + &meter(
        &format!("Risk seen {:.2}", o.risk),
        "Weights of flagged pairs, broken rules and kidney alerts, x / (1 + x). What is not flagged or not known is not in it: the true risk may be higher.",
        high(o.risk),
        o.risk,
    ) + &meter(
        &format!("Uncertainty {:.2}", o.uncertainty),
        "How little is known: missing values, conflicts, unknown products, medicines under review. From .60 on handing over is justified once evidence was tried.",
        if o.uncertainty >= 0.6 {
            " stakes high"
        } else {
            ""
        },
        o.uncertainty,
    ) + &meter(&format!("Burden {:.2}", o.burden), &burden(o), "", o.burden)
        + &symptom(o)
        + &problem(o)
}

fn burden(o: &Observation) -> String {
    let [taken, acb, cns] = o.burden_counts();
    format!(
        "How heavy the regimen is: {taken} medicines, {acb} anticholinergic points, {cns} that act on the brain"
    )
}

fn symptom(o: &Observation) -> String {
    o.symptom.map_or_else(String::new, |symptom| {
        meter(
            &format!("Symptom {symptom:.2}"),
            "Read with noise. It goes towards .8 while its culprit is taken, and towards .2 when not.",
            if symptom >= 0.65 { " stakes high" } else { "" },
            symptom,
        )
    })
}

fn problem(o: &Observation) -> String {
    let Some(drug) = o.problem else {
        return String::new();
    };
    let treated = each_archetype(o.parts(drug)).flat_map(|id| o.formulary().get(id).treats.iter());
    let conditions: Vec<String> = treated.map(|c| spaced(c.name())).collect();
    format!(
        "<p class=\"facts\">To be replaced: <strong>{}</strong>, which treats {}.</p>",
        drug.name(o.formulary()),
        conditions.join(", ")
    )
}
