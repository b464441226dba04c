//! What can be chosen: a card for each candidate, by click or by its number's key.

use sentinel_env::Environment;
use std::fmt::Write;

use leptos::prelude::*;
use sentinel_env::polyguard::{Candidate, CandidateId, Observation};
use wasm_bindgen::JsCast;

use super::does::does;
use super::pick::{Pick, digit};
use super::{Polyguard, words};
use crate::page::Page;
use crate::play::Frame;
use crate::ui::{Scene, Which, percent};

/// How far an estimate may be off, as the world says.
const NOISE: &str = "± .06";

/// All candidates of the moment.
pub(super) fn candidates(scene: Scene<Polyguard>) -> impl IntoView {
    let page = scene.page;
    let markup = Memo::new(move |_| {
        let cursor = page.cursor();
        let free = scene.which == Which::Main;
        scene.run.with(|run| {
            let next = run.frames.get(cursor + 1);
            let chosen = next.and_then(|frame| frame.step.as_ref()?.step.action.id());
            list(run.at(cursor), chosen, free)
        })
    });
    let click = move |event: leptos::ev::MouseEvent| {
        let target = event
            .target()
            .and_then(|t| t.dyn_into::<web_sys::Element>().ok());
        let button = target.and_then(|t| t.closest("[data-candidate]").ok().flatten());
        let number = button.and_then(|b| b.get_attribute("data-candidate")?.parse().ok());
        if let Some(id) = number
            .and_then(CandidateId::new)
            .filter(|_| scene.can_act())
        {
            page.act(Pick::Explained(id));
        }
    };
    view! {
        <section class="card candidates" aria-label="Candidates" on:click=click inner_html=markup></section>
    }
}

/// Takes the candidate of a key; whether there is one.
pub(super) fn press(page: Page<Polyguard>, key: &str) -> bool {
    let mut letters = key.chars();
    let (Some(letter), None) = (letters.next(), letters.next()) else {
        return false;
    };
    let Some(id) = super::pick::of_digit(letter) else {
        return false;
    };
    let cursor = page.cursor();
    let shown = page.run.with_untracked(|run| {
        // At the end of the longer episode beside it, one acts at the end of one's own.
        let o = run.at(cursor).episode.observation();
        o.candidates.get(id).is_some()
    });
    if shown {
        page.act(Pick::Explained(id));
    }
    shown
}

/// Words and numbers of ours only, so nothing needs escaping.
fn list(frame: &Frame<Polyguard>, chosen: Option<CandidateId>, free: bool) -> String {
    let o = frame.episode.observation();
    if o.done() {
        return "<h3>Candidates</h3><p class=\"quiet\">The episode has ended: nothing is left to choose. Go back with ← and choose otherwise, or play another seed with N.</p>".to_owned();
    }
    let mut out = format!(
        "<h3>Choose one</h3><p class=\"quiet\">{} The bar is the risk estimated afterwards ({NOISE}), the mark is the risk that can be seen now: {:.2}.</p><ul class=\"cands\">",
        if free {
            "Click, or press the number."
        } else {
            "What this player could choose from."
        },
        o.risk
    );
    for candidate in o.candidates.iter() {
        let next = chosen == Some(candidate.id);
        let p = frame
            .mind
            .probabilities
            .map(|all| all[candidate.id.index()]);
        card(o, candidate, next, p, free, &mut out);
    }
    out.push_str("</ul>");
    let gaps = gaps(o);
    if !gaps.is_empty() {
        // A `String` takes all that is written to it, here and below.
        let _ = write!(
            out,
            "<p class=\"quiet\" data-note=\"gaps\">No {gaps}: illegal choices are not shown, so the numbering has gaps.</p>"
        );
    }
    out
}

/// The numbers that are missing before the last one that is shown; how many follow is not told to anybody.
fn gaps(o: &Observation) -> String {
    let last = o
        .candidates
        .iter()
        .next_back()
        .map(|candidate| candidate.id);
    let missing = CandidateId::all()
        .filter(|id| Some(*id) < last && o.candidates.get(*id).is_none())
        .map(|id| id.number().to_string());
    missing.collect::<Vec<_>>().join(", ")
}

fn card(
    o: &Observation,
    candidate: &Candidate,
    next: bool,
    p: Option<f64>,
    free: bool,
    out: &mut String,
) {
    let (id, what) = (candidate.id, does(o, candidate.act));
    let (class, change) = match candidate.est_delta {
        less if less < -0.005 => ("less", format!("▾ −{:.2}", -less)),
        more if more > 0.005 => ("more", format!("▴ +{more:.2}")),
        _ => ("same", "≈ 0".to_owned()),
    };
    let meaning = words::kind(candidate.act.kind).1;
    let (tag, attributes) = if free {
        let spoken = format!("{id}: {what}, estimated risk {:.2}", candidate.est_risk);
        (
            "button",
            format!(
                " data-candidate=\"{}\" aria-label=\"{spoken}\"",
                id.number()
            ),
        )
    } else {
        ("div", String::new())
    };
    let current = if next { " next" } else { "" };
    let _ = write!(
        out,
        "<li><{tag}{attributes} class=\"cand{current}\"><kbd>{}</kbd><span class=\"what\">{what}</span>\
        <span class=\"delta {class}\" title=\"estimated risk less the risk that can be seen now\">{change}</span>\
        <span class=\"quiet cand-id\">{id} · {meaning}</span>\
        <span class=\"risk-bar\" title=\"estimated risk afterwards {:.2}; now {:.2}\"><span style=\"width:{:.1}%\"></span><i style=\"left:{:.1}%\"></i></span>\
        <span class=\"num\">{:.2}</span>{}{}{}</{tag}></li>",
        digit(id),
        candidate.est_risk,
        o.risk,
        candidate.est_risk * 100.0,
        o.risk * 100.0,
        candidate.est_risk,
        if next {
            "<span class=\"chip chosen-next\">chosen next</span>"
        } else {
            ""
        },
        p.map_or_else(String::new, |p| format!(
            "<span class=\"chip\" title=\"probability that the player gives it\">{}</span>",
            percent(p)
        )),
        warning(o, candidate),
    );
}

/// What the anti-cheat would make of it, as far as that can be foreseen.
fn warning(o: &Observation, candidate: &Candidate) -> String {
    o.predicted_exploit(candidate.act)
        .map_or_else(String::new, |why| {
            format!(
                "<span class=\"cand-warning\">⚠ ends the episode as cheating: {}</span>",
                words::exploit(why)
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::play;
    use crate::state::{Source, View};
    use crate::world::Files;
    use sentinel_env::Environment;
    use sentinel_env::polyguard::TaskSpec;

    fn frames(case: TaskSpec, seed: u64) -> crate::play::Frames<Polyguard> {
        let view = View::<Polyguard> {
            task: case,
            seed,
            ..View::default()
        };
        play(
            &view,
            &Source::Policy(sentinel_policy::polyguard::PolicyName::Random),
            None,
            Files::default(),
        )
    }

    /// Every shown candidate has a card with its number, and nothing else does.
    #[test]
    fn cards_are_the_shown_candidates_and_gaps_are_told() {
        let mut gaps_seen = 0;
        for case in TaskSpec::ALL {
            for seed in 0..4 {
                let run = frames(case, seed);
                let frame = run.at(0);
                let o = frame.episode.observation();
                let markup = list(frame, None, true);
                for id in CandidateId::all() {
                    let card = markup.contains(&format!("data-candidate=\"{}\"", id.number()));
                    assert_eq!(card, o.candidates.get(id).is_some(), "{case} {seed} {id}");
                }
                let gaps = gaps(o);
                assert_eq!(markup.contains("numbering has gaps"), !gaps.is_empty());
                gaps_seen += usize::from(!gaps.is_empty());
                assert!(!list(frame, None, false).contains("data-candidate"));
            }
        }
        assert!(gaps_seen > 3, "no gaps were met: the test shows nothing");
    }
}
