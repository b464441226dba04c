//! The interaction graph, with medicines as points and flagged pairs and broken rules as lines; and
//! the list of pairs that public traits make suspect.

use sentinel_env::polyguard::{ArchetypeId, Observation, Severity, each_archetype};
use sentinel_page_protocol::{Card, Edge, Layout, Panel, Tone};

use super::{display_text, names};
use crate::format::{capitalized, counted};

/// Weight of a broken rule in the risk (spec polyguard §6.3).
const RULE_WEIGHT: f32 = 0.35;

/// Returns the color of a severity.
pub(super) const fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Moderate => Tone::Warn,
        Severity::Major | Severity::Contraindicated => Tone::Bad,
    }
}

/// Weight of a suspected pair in the drawing: the thinnest line.
const SUSPECT_WEIGHT: f32 = 0.0;

/// Returns the panel of flagged pairs, broken rules and suspected pairs.
pub(super) fn panel(o: &Observation) -> Panel {
    let flagged = flagged(o);
    let broken = o
        .broken_rules()
        .iter()
        .filter(|(_, broken)| *broken)
        .count();
    let cards = o.regimen.iter().map(|row| Card {
        key: row.drug.name(o.formulary()).to_owned(),
        title: capitalized(&names::drug(o.formulary(), row.drug)),
        state: if row.is_active() { "" } else { "paused" }.to_owned(),
        tone: if row.is_active() {
            Tone::Neutral
        } else {
            Tone::Quiet
        },
        ..Card::default()
    });
    let pairs = counted(flagged.len(), "flagged pair", "flagged pairs");
    Panel {
        id: "graph".to_owned(),
        title: "Interactions".to_owned(),
        help: format!(
            "A line joins two medicines whose interaction is flagged, or members of a broken rule. A dashed line joins a pair that is only suspected. Moderate: {}. Major: {}. Contraindicated: {}.",
            display_text::severity(Severity::Moderate).to_lowercase(),
            display_text::severity(Severity::Major).to_lowercase(),
            display_text::severity(Severity::Contraindicated).to_lowercase()
        ),
        summary: match (flagged.len(), broken) {
            (0, 0) => "Nothing is flagged; other interactions may exist".to_owned(),
            (_, 0) => pairs,
            (0, _) => counted(broken, "broken rule", "broken rules"),
            (_, _) => format!(
                "{pairs}, {}",
                counted(broken, "broken rule", "broken rules")
            ),
        },
        cards: cards.collect(),
        layout: Layout::Graph(
            flagged
                .into_iter()
                .chain(rules(o))
                .chain(dashed(o))
                .collect(),
        ),
        empty: "No medicine is taken.".to_owned(),
        ..Panel::default()
    }
}

/// Returns the key of the row that is known to contain an archetype.
fn row_of(o: &Observation, id: ArchetypeId) -> Option<String> {
    let row = (o.regimen.iter()).find(|row| o.known_archetypes(row.drug) & id.bit() != 0)?;
    Some(row.drug.name(o.formulary()).to_owned())
}

fn flagged(o: &Observation) -> Vec<Edge> {
    let edges = o.flagged_pairs().filter_map(|(pair, severity)| {
        let pair = o.formulary().pair(pair);
        Some(Edge {
            from: row_of(o, pair.first)?,
            to: row_of(o, pair.second)?,
            label: severity.name().to_owned(),
            tone: tone(severity),
            weight: severity.weight() as f32,
        })
    });
    edges.collect()
}

/// Returns lines that join the members of each broken rule in a chain.
fn rules(o: &Observation) -> Vec<Edge> {
    let mut edges = Vec::new();
    for (rule, _) in o.broken_rules().into_iter().filter(|(_, broken)| *broken) {
        let members = o.regimen.iter();
        let members = members.filter(|row| row.is_active() && o.is_member(rule, row));
        let members: Vec<&str> = members.map(|row| row.drug.name(o.formulary())).collect();
        edges.extend(members.windows(2).map(|pair| Edge {
            from: pair[0].to_owned(),
            to: pair[1].to_owned(),
            label: display_text::rule(rule).0.to_owned(),
            tone: Tone::Warn,
            weight: RULE_WEIGHT,
        }));
    }
    edges
}

/// Returns the pairs in different rows that public traits make suspect, without the flagged ones.
fn suspects(o: &Observation) -> Vec<(ArchetypeId, ArchetypeId)> {
    let (formulary, taken) = (o.formulary(), o.taken_archetypes());
    let mut pairs = Vec::new();
    for a in each_archetype(taken) {
        for b in each_archetype(taken & formulary.suspects(a)).filter(|b| *b > a) {
            let pair = formulary.pair_between(a, b);
            let flagged = pair.is_some_and(|pair| o.flagged & pair.bit() != 0);
            if !flagged && row_of(o, a) != row_of(o, b) {
                pairs.push((a, b));
            }
        }
    }
    pairs
}

/// Returns a dashed line for each suspected pair, without a label since the pairs have their own panel.
fn dashed(o: &Observation) -> Vec<Edge> {
    let edge = |(a, b): (ArchetypeId, ArchetypeId)| {
        Some(Edge {
            from: row_of(o, a)?,
            to: row_of(o, b)?,
            label: String::new(),
            tone: Tone::Open,
            weight: SUSPECT_WEIGHT,
        })
    };
    suspects(o).into_iter().filter_map(edge).collect()
}

/// Returns the panel of taken pairs that public traits make suspect.
pub(super) fn suspected(o: &Observation) -> Panel {
    let formulary = o.formulary();
    let card = |(a, b): (ArchetypeId, ArchetypeId)| Card {
        key: format!("{}+{}", formulary.get(a).name, formulary.get(b).name),
        title: capitalized(&names::both(formulary, a, b)),
        subtitle: names::suspicion(formulary, a, b),
        ..Card::default()
    };
    let cards: Vec<Card> = suspects(o).into_iter().map(card).collect();
    Panel {
        id: "suspected".to_owned(),
        title: "Suspected pairs".to_owned(),
        help: "Pairs that are not flagged and whose public traits suggest an interaction. About a third of such pairs are real.".to_owned(),
        summary: counted(cards.len(), "pair", "pairs"),
        layout: Layout::List,
        cards,
        empty: "No further pair is suspected.".to_owned(),
        aside: true,
        folded: true,
    }
}
