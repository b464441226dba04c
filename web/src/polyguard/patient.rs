//! Who is treated, and what was measured; what is missing is shown as missing.

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use std::fmt::Write;

use leptos::prelude::*;
use sentinel_env::polyguard::{Lab, Observation, each_archetype};

use super::Polyguard;
use super::words::{lab, spaced};
use crate::ui::{Scene, tip};

/// Patient, vital signs and laboratory values.
pub(super) fn patient(scene: Scene<Polyguard>) -> impl IntoView {
    let markup = Memo::new(move |_| {
        let truth = scene.truth();
        scene.with_frame(|frame| {
            let labs = truth.then(|| frame.episode.hidden().labs);
            who(frame.episode.observation()) + &values(frame.episode.observation(), labs)
        })
    });
    view! { <section class="card patient" aria-label="Patient" inner_html=markup></section> }
}

/// Words and numbers of ours only, so nothing needs escaping.
fn who(o: &Observation) -> String {
    let p = &o.patient;
    let list = |words: Vec<String>| match words.is_empty() {
        true => "none".to_owned(),
        false => words.join(", "),
    };
    let conditions = p.comorbidities.iter().map(|c| spaced(c.name())).collect();
    let formulary = o.formulary();
    let reactions = each_archetype(o.ade_history)
        .map(|id| formulary.get(id).name.clone())
        .collect();
    let facts = [
        (
            tip(
                "frailty",
                "0 robust to 1 frail, as observed: off by up to .1",
            ),
            format!("{:.1}", p.frailty),
        ),
        (
            tip(
                "adherence",
                "Share of the doses that is taken, as observed: off by up to .1",
            ),
            format!("{:.1}", p.adherence),
        ),
        (
            tip("blood pressure", "Systolic, mmHg"),
            format!("{:.0}", p.systolic_mmhg),
        ),
        (
            tip("heart rate", "Beats a minute"),
            format!("{:.0}", p.heart_rate),
        ),
        (
            tip("breaths", "A minute"),
            format!("{:.0}", p.respiratory_rate),
        ),
    ];
    let mut out = format!(
        "<h3>Patient <span class=\"quiet\">{} years, {}</span></h3><dl class=\"counters\">",
        p.age,
        p.sex.name()
    );
    for (name, value) in facts {
        // A `String` takes all that is written to it, here and below.
        let _ = write!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    }
    let _ = write!(
        out,
        "</dl><p class=\"facts\"><span class=\"quiet\">Conditions:</span> {}</p>\
        <p class=\"facts\"><span class=\"quiet\">Did not tolerate before:</span> {}</p>",
        list(conditions),
        list(reactions)
    );
    if o.conflict {
        out += "<p class=\"facts flag\">Specialists disagree: asking one settles it.</p>";
    }
    out
}

fn values(o: &Observation, truth: Option<[f64; 5]>) -> String {
    let mut out = "<ul class=\"labs\" aria-label=\"Laboratory values\">".to_owned();
    for which in Lab::ALL {
        let (name, unit, meaning) = lab(which);
        let (class, value) = match o.labs.get(which) {
            Some(value) if which == Lab::Inr => ("", format!("{value:.1}")),
            Some(value) => ("", format!("{value:.0}")),
            None => (" missing", "missing".to_owned()),
        };
        let hidden = truth.filter(|_| !class.is_empty());
        let hidden = hidden.map_or_else(String::new, |all| {
            format!(
                "<span class=\"truth\">in truth {:.1}</span>",
                all[which as usize]
            )
        });
        let unit = if class.is_empty() { unit } else { "" };
        let _ = write!(
            out,
            "<li class=\"lab{class}\" data-lab=\"{}\">{}<span><strong>{value}</strong> <span class=\"quiet\">{unit}</span></span>{hidden}</li>",
            which.name(),
            tip(name, meaning)
        );
    }
    out += "</ul>";
    if o.labs_ordered {
        out += "<p class=\"quiet\">All values are ordered: they come with the next step.</p>";
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_env::Environment;
    use sentinel_env::polyguard::{Episode, Setup, TaskSpec};

    /// A missing value is called missing, and no number stands in its place.
    #[test]
    fn what_is_missing_is_called_missing() {
        let (mut missing, mut known) = (0, 0);
        for case in TaskSpec::ALL {
            for seed in 0..10 {
                let episode = Episode::reset(&Setup::new(case, seed));
                let o = episode.observation();
                let shown = values(o, None);
                assert_eq!(
                    shown.matches("<strong>missing</strong>").count(),
                    o.labs.missing()
                );
                assert!(!shown.contains("<strong>0"), "{shown}");
                missing += o.labs.missing();
                known += 5 - o.labs.missing();
            }
        }
        assert!(missing > 50 && known > 50);
    }
}
