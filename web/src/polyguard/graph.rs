//! The interaction graph: medicines as points, flagged pairs and broken rules as arcs; on demand what public traits
//! let one suspect, and with the truth what is not flagged.

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use std::fmt::Write;

use leptos::prelude::*;
use sentinel_env::polyguard::{ArchetypeId, Episode, Observation, each_archetype};

use super::Polyguard;
use super::words::{rule, severity};
use crate::ui::{Scene, tip};

/// Distance of the points.
const ROW: f64 = 22.0;
/// Where the points stand.
const X: f64 = 182.0;
/// The drawing's width.
const WIDTH: f64 = 300.0;

/// An arc between two rows of the regimen.
struct Arc {
    rows: [usize; 2],
    class: &'static str,
    who: String,
    what: String,
}

/// The card.
pub(super) fn graph(scene: Scene<Polyguard>) -> impl IntoView {
    let page = scene.page;
    let hints = move || page.still.with(|view| view.hints);
    let markup = Memo::new(move |_| {
        let (hints, truth) = (hints(), scene.truth());
        scene.with_frame(|frame| drawn(&frame.episode, hints, truth))
    });
    let toggle = move |_| page.view.update(|view| view.hints = !view.hints);
    view! {
        <section class="card graph" aria-label="Interactions">
            <div class="graph-head">
                <h3>"Interactions"</h3>
                <button class="hints" aria-pressed=move || hints().to_string() class:chosen=hints on:click=toggle
                    title="Pairs that share a trait such as bleeding, or of which one acts on how the other is broken down. A third of them are real; some that are not flagged may be among them. (S)">
                    "Suspected pairs"
                </button>
            </div>
            <div inner_html=markup></div>
        </section>
    }
}

/// Words and numbers of ours only, so nothing needs escaping.
fn drawn(episode: &Episode, hints: bool, truth: bool) -> String {
    let o = episode.observation();
    let mut arcs = flagged(o);
    arcs.extend(rules(o));
    let broken = o.broken_rules().iter().any(|(_, broken)| *broken);
    let clear = arcs.is_empty() && !broken;
    let known = arcs.len();
    if truth {
        arcs.extend(unflagged(episode));
    }
    if hints {
        arcs.extend(suspected(o));
    }
    let rows = o.regimen.len();
    let height = ROW * rows as f64 + 6.0;
    let spoken = format!("{rows} medicines, {known} flagged pairs and broken rules");
    let mut svg = format!(
        "<svg role=\"img\" aria-label=\"{spoken}\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\">"
    );
    let mut labels = Vec::new();
    for (number, arc) in arcs.iter().enumerate() {
        draw(arc, number, &mut labels, &mut svg);
    }
    for (at, row) in o.regimen.iter().enumerate() {
        let name = row.drug.name(o.formulary());
        let held = if row.is_active() { "" } else { " held" };
        // A `String` takes all that is written to it, here and below.
        let _ = write!(
            svg,
            "<g class=\"point{held}\"><circle cx=\"{X}\" cy=\"{0}\" r=\"4\"/><text x=\"{1}\" y=\"{2}\">{3}</text></g>",
            y(at),
            X - 9.0,
            y(at) + 4.0,
            name.strip_suffix("_like").unwrap_or(name)
        );
    }
    format!(
        "<div class=\"graph-body\">{svg}</svg>{}</div>",
        list(&arcs, clear, hints)
    )
}

fn y(row: usize) -> f64 {
    ROW * row as f64 + 13.0
}

/// How far out an arc goes, so that its number covers none of those in `labels`.
fn reach(top: f64, half: f64, labels: &mut Vec<(f64, f64)>) -> f64 {
    let most = WIDTH - X - 10.0;
    let (mut wide, y) = ((16.0 + half * 1.1).min(most), top + half);
    let covers = |wide: f64| {
        let mut near = labels
            .iter()
            .map(|(x, other)| (x - wide).abs() + (other - y).abs());
        near.any(|distance| distance < 18.0)
    };
    while wide < most && covers(wide) {
        wide += 6.0;
    }
    labels.push((wide, y));
    wide
}

fn draw(arc: &Arc, number: usize, labels: &mut Vec<(f64, f64)>, out: &mut String) {
    let [a, b] = arc.rows.map(y);
    let (top, half) = (a.min(b), (a - b).abs() / 2.0);
    let numbered = arc.class != "suspected";
    let wide = match numbered {
        true => reach(top, half, labels),
        false => 12.0 + half * 0.6,
    };
    let _ = write!(
        out,
        "<g class=\"arc {}\"><path d=\"M{X} {top}a{wide:.1} {half:.1} 0 0 1 0 {:.1}\"><title>{}</title></path>",
        arc.class,
        half * 2.0,
        arc.who
    );
    if numbered {
        let (x, y) = (X + wide, top + half);
        let _ = write!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"8\"/><text x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
            y + 4.0,
            number + 1
        );
    }
    *out += "</g>";
}

/// What the numbers stand for.
fn list(arcs: &[Arc], clear: bool, hints: bool) -> String {
    let mut out = "<ol class=\"arcs\">".to_owned();
    for (number, arc) in arcs.iter().enumerate() {
        if arc.class != "suspected" {
            let _ = write!(
                out,
                "<li class=\"{}\"><span class=\"index\">{}</span><span>{}: {}</span></li>",
                arc.class,
                number + 1,
                arc.who,
                arc.what
            );
        }
    }
    out += "</ol>";
    if clear {
        out += "<p class=\"quiet\">No pair is flagged and no rule broken. That is not to say that there is none.</p>";
    }
    if hints {
        let suspected = arcs.iter().filter(|arc| arc.class == "suspected");
        let _ = write!(
            out,
            "<p class=\"quiet\" data-note=\"suspected\">Dotted: {} further pairs are suspected from public traits; many of them are harmless.</p>",
            suspected.count()
        );
    }
    format!("<div>{out}</div>")
}

/// The row in which an archetype is known to be.
fn place(o: &Observation, id: ArchetypeId) -> Option<usize> {
    o.regimen
        .iter()
        .position(|row| o.parts(row.drug) & id.bit() != 0)
}

fn names(o: &Observation, a: ArchetypeId, b: ArchetypeId) -> String {
    let name = |id| o.formulary().get(id).name.as_str();
    format!("{} + {}", name(a), name(b))
}

fn flagged(o: &Observation) -> Vec<Arc> {
    let arcs = o.flags().filter_map(|(pair, how)| {
        let pair = o.formulary().pair(pair);
        let rows = [place(o, pair.first)?, place(o, pair.second)?];
        let name = tip(how.name(), severity(how));
        Some(Arc {
            rows,
            class: how.name(),
            who: names(o, pair.first, pair.second),
            what: name,
        })
    });
    arcs.collect()
}

/// A rule about a set joins its members in a chain.
fn rules(o: &Observation) -> Vec<Arc> {
    let mut arcs = Vec::new();
    for (which, _) in o.broken_rules().into_iter().filter(|(_, broken)| *broken) {
        let rows = o.regimen.iter().enumerate();
        let members = rows.filter(|(_, row)| row.is_active() && o.is_member(which, row));
        let members: Vec<usize> = members.map(|(at, _)| at).collect();
        for pair in members.windows(2) {
            let name = |at: usize| o.regimen[at].drug.name(o.formulary());
            let (label, meaning) = rule(which);
            arcs.push(Arc {
                rows: [pair[0], pair[1]],
                class: "rule",
                who: format!("{} + {}", name(pair[0]), name(pair[1])),
                what: tip(label, meaning),
            });
        }
    }
    arcs
}

/// What public traits let one suspect among what is taken.
fn suspected(o: &Observation) -> Vec<Arc> {
    let taken = o.taken();
    let mut arcs = Vec::new();
    for a in each_archetype(taken) {
        for b in each_archetype(taken & o.formulary().suspects(a)).filter(|b| *b > a) {
            let flagged = o
                .formulary()
                .between(a, b)
                .is_some_and(|pair| o.flagged & pair.bit() != 0);
            let (Some(from), Some(to)) = (place(o, a), place(o, b)) else {
                continue;
            };
            if from != to && !flagged {
                arcs.push(Arc {
                    rows: [from, to],
                    class: "suspected",
                    who: names(o, a, b),
                    what: "suspected".to_owned(),
                });
            }
        }
    }
    arcs
}

/// What is listed and taken and not flagged, in truth.
fn unflagged(episode: &Episode) -> Vec<Arc> {
    let (o, h) = (episode.observation(), episode.hidden());
    let mut parts = Vec::new();
    for (at, row) in o
        .regimen
        .iter()
        .enumerate()
        .filter(|(_, row)| row.is_active())
    {
        match row.drug.known() {
            Some(id) => parts.push((at, id)),
            None => parts.extend(h.components.into_iter().flatten().map(|id| (at, id))),
        }
    }
    let mut arcs = Vec::new();
    for (i, (from, a)) in parts.iter().enumerate() {
        for (to, b) in &parts[i + 1..] {
            let Some(pair) = o.formulary().between(*a, *b) else {
                continue;
            };
            if o.flagged & pair.bit() == 0 && from != to {
                let how = o.formulary().pair(pair).grade.at(Some(h.egfr()));
                arcs.push(Arc {
                    rows: [*from, *to],
                    class: "unseen",
                    who: names(o, *a, *b),
                    what: format!("in truth {}, not flagged", how.name()),
                });
            }
        }
    }
    arcs
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_env::Environment;
    use sentinel_env::polyguard::{Setup, TaskSpec};

    /// Flagged pairs are drawn, what is not flagged only with the truth, suspicions only on demand.
    #[test]
    fn the_graph_shows_what_may_be_seen() {
        let (mut flags, mut unseen, mut suspicions) = (0, 0, 0);
        for case in TaskSpec::ALL {
            for seed in 0..6 {
                let episode = Episode::reset(&Setup::new(case, seed));
                let o = episode.observation();
                let seen = drawn(&episode, false, false);
                assert_eq!(seen.matches("class=\"point").count(), o.regimen.len());
                let arcs = flagged(o).len() + rules(o).len();
                assert_eq!(seen.matches("class=\"arc ").count(), arcs, "{case} {seed}");
                assert_eq!(flagged(o).len(), o.flags().count(), "{case} {seed}");
                assert!(!seen.contains("in truth") && !seen.contains("suspected"));
                let all = drawn(&episode, true, true);
                flags += flagged(o).len();
                unseen += all.matches("arc unseen").count();
                suspicions += all.matches("arc suspected").count();
                // Every serious pair is drawn in one way or the other.
                let serious = episode.serious_pairs().count_ones() as usize;
                let drawn = all.matches("arc unseen").count() + flagged(o).len();
                assert!(drawn >= serious || o.has_unknown_product(), "{case} {seed}");
            }
        }
        assert!(
            flags > 20 && unseen > 20 && suspicions > 100,
            "{flags} {unseen} {suspicions}"
        );
    }
}
