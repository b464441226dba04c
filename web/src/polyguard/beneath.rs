//! What is true and hidden; shown when it is asked for.

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use std::fmt::Write;

use leptos::prelude::*;
use sentinel_env::polyguard::{Conditions, Episode, Issue};

use super::does::does;
use super::words::spaced;
use super::{Polyguard, words};
use crate::ui::{Scene, tip};

/// The card; nothing until it is asked for.
pub(super) fn beneath(scene: Scene<Polyguard>) -> impl IntoView {
    let markup = Memo::new(move |_| match scene.truth() {
        true => scene.with_frame(|frame| hidden(&frame.episode)),
        false => String::new(),
    });
    move || {
        let asked = !markup.with(String::is_empty);
        asked.then(|| {
            view! { <section class="card beneath" aria-label="Hidden state" inner_html=move || markup.get()></section> }
        })
    }
}

/// Words and numbers of ours only, so nothing needs escaping.
fn hidden(episode: &Episode) -> String {
    let h = episode.hidden();
    let (resolved, all) = episode.resolved();
    let mut out = format!(
        "<h3>In truth <span class=\"quiet\">{resolved} of {all} put right</span></h3><ul class=\"issues\">"
    );
    for issue in h.issues() {
        let (class, sign) = match episode.is_resolved(issue) {
            true => ("good", "✓"),
            false => ("bad", "✗"),
        };
        // A `String` takes all that is written to it, here and below.
        let _ = write!(
            out,
            "<li class=\"{class}\" data-issue=\"{class}\"><span class=\"sign\">{sign}</span>{}</li>",
            told(episode, issue)
        );
    }
    let _ = write!(
        out,
        "</ul><p class=\"facts truth\">{}: {:.2}, {}: {:.2}, adherence {:.2}, eGFR {:.0}</p>",
        tip(
            "risk",
            "The true one: with pairs that are not flagged, doses that act too much, and the true kidney"
        ),
        h.risk,
        tip(
            "control",
            "How well the conditions are controlled; below .25 the episode ends badly"
        ),
        h.stability,
        h.adherence,
        h.egfr()
    );
    let _ = write!(
        out,
        "<p class=\"facts truth\">Needs treatment: {}</p>",
        conditions(h.needed)
    );
    let name = |id| episode.observation().formulary().get(id).name.as_str();
    if let Some([a, b]) = h.components {
        let _ = write!(
            out,
            "<p class=\"facts truth\">The product is {} + {}</p>",
            name(a),
            name(b)
        );
    }
    if let Some(id) = h.intolerant {
        let _ = write!(
            out,
            "<p class=\"facts truth\">Does not tolerate {}</p>",
            name(id)
        );
    }
    out + &withheld(episode)
}

fn conditions(all: Conditions) -> String {
    let names: Vec<String> = all.iter().map(|c| spaced(c.name())).collect();
    names.join(", ")
}

/// Candidates that are not shown because they are illegal.
fn withheld(episode: &Episode) -> String {
    let (o, mut rows) = (episode.observation(), String::new());
    for (id, act, why) in episode.hidden().withheld().filter(|_| !o.done()) {
        let _ = write!(
            rows,
            "<li data-withheld=\"{}\">{id}: {}. <span class=\"quiet\">Withheld: {}</span></li>",
            id.number(),
            does(o, act),
            words::violation(why)
        );
    }
    match rows.is_empty() {
        true => rows,
        false => format!("<ul class=\"issues\">{rows}</ul>"),
    }
}

/// What must be put right.
fn told(episode: &Episode, issue: Issue) -> String {
    let formulary = episode.observation().formulary();
    let name = |id| formulary.get(id).name.as_str();
    match issue {
        Issue::Pair(pair) | Issue::ComponentPair(pair) => {
            let pair = formulary.pair(pair);
            format!(
                "{} and {} may not both be taken",
                name(pair.first),
                name(pair.second)
            )
        }
        Issue::Set(rule) => format!("Rule: {}", words::rule(rule).0),
        Issue::NoIndication(mark) => {
            let rows = episode.observation().regimen.iter().enumerate();
            let mut its = rows.filter(|(at, _)| episode.hidden().truth(*at).mark == mark);
            its.next().map_or_else(
                || "A medicine without need must go".to_owned(),
                |(_, row)| format!("{} is not needed and must go", row.drug.name(formulary)),
            )
        }
        Issue::Culprit(id) => format!(
            "{} causes the symptom: it must go, the other suspects must stay",
            name(id)
        ),
        Issue::Dose(id) => format!("{} must be measured and settle in its window", name(id)),
        Issue::Info => "The eGFR must be known".to_owned(),
        Issue::Renal(id) => format!("{} must go: the kidney does not allow it", name(id)),
        Issue::Sign => "When nothing else is left, keeping must sign off".to_owned(),
        Issue::Decompose => "The product must be looked into, or go".to_owned(),
        Issue::Replace(drug, condition) => format!(
            "{} must go, and {} be treated by something that is tolerated",
            drug.name(formulary),
            spaced(condition.name())
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_env::Environment;
    use sentinel_env::polyguard::{Setup, TaskSpec};

    #[test]
    fn every_issue_and_every_withheld_candidate_is_told() {
        let mut gone = 0;
        for case in TaskSpec::ALL {
            for seed in 0..5 {
                let episode = Episode::reset(&Setup::new(case, seed));
                let markup = hidden(&episode);
                let (resolved, all) = episode.resolved();
                assert_eq!(
                    markup.matches("data-issue").count(),
                    usize::from(all),
                    "{case}"
                );
                let good = markup.matches("data-issue=\"good\"").count();
                assert_eq!(good, usize::from(resolved), "{case} {seed}");
                let withheld = episode.hidden().withheld().count();
                assert_eq!(markup.matches("data-withheld").count(), withheld);
                gone += withheld;
            }
        }
        assert!(gone > 5, "nothing was withheld: the test shows nothing");
    }
}
