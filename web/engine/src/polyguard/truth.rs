//! Hidden state of the PolyGuard world, shown only while the Truth layer is on.

use sentinel_env::polyguard::{
    ActKind, ArchetypeId, Channel, Episode, Issue, Lab, Observation, PolyguardEnv, Step,
};
use sentinel_env::{Environment as _, PrivilegedState as _};
use sentinel_page_protocol::{
    Card, Chip, Layout, Panel, RewardTerm, StepLine, Tone, Truth, TruthNote,
};

use super::describe::describe_act;
use super::patient::PATIENT;
use super::regimen::{REGIMEN, share};
use super::reward_reasons::{ComponentReason, Verdict, reward_reasons};
use super::terms::{score_terms, step_terms};
use super::{display_text, graph, names};
use crate::format::{capitalized, counted};
use crate::run::Frame;

/// Largest number of reasons that are listed.
const REASONS_MAX: usize = 6;

/// Returns the line of a step with its true effect on the issues.
pub(super) fn step_line(frame: &Frame<PolyguardEnv>, mut line: StepLine) -> StepLine {
    let Some(step) = frame.info() else {
        return line;
    };
    let ended = step.end.is_some_and(|end| !end.is_truncated());
    let [was, now] = step.resolved;
    if step.exploit.is_some() || step.violation.is_some() || ended || was == now {
        return line;
    }
    let (sign, result, tone) = if now > was {
        ("✓", "an issue is resolved", Tone::Good)
    } else {
        ("✗", "a resolved issue comes back", Tone::Bad)
    };
    (line.sign, line.result, line.tone) = (sign.to_owned(), result.to_owned(), tone);
    line.notable = true;
    line
}

/// Returns the hidden state of frame `index`.
pub(super) fn truth(frames: &[Frame<PolyguardEnv>], index: usize) -> Truth {
    let frame = &frames[index];
    let episode = &frame.episode;
    let o = episode.observation();
    let mut panels = Vec::new();
    let mut terms: Vec<RewardTerm> = Vec::new();
    if let (Some(step), Some(before)) = (frame.info(), index.checked_sub(1)) {
        let judged = reward_reasons(step, frames[before].episode.observation(), o);
        terms = step_terms(step, &judged);
        terms.extend(
            step.end
                .into_iter()
                .flat_map(|end| score_terms(episode, end)),
        );
        panels.push(reasons(step, &judged));
    }
    panels.push(issues(episode));
    panels.push(facts(episode, frame.info()));
    panels.push(hidden_pairs(episode));
    panels.push(withheld(episode));
    let rows = 0..o.regimen.len();
    let mut notes: Vec<TruthNote> = rows.flat_map(|place| medicine(episode, place)).collect();
    notes.extend(missing_labs(episode));
    Truth {
        headline: headline(episode, frame.info()),
        notes,
        panels,
        terms,
    }
}

/// Returns a sentence about the true risk and the issues after a step.
pub(super) fn headline(episode: &Episode, step: Option<&Step>) -> String {
    let (resolved, all) = episode.count_resolved();
    let Some(step) = step else {
        return format!(
            "In truth {} to be resolved, and the risk is {:.2}.",
            counted(all.into(), "issue has", "issues have"),
            episode.hidden().risk
        );
    };
    let [was, now] = step.risk;
    let mut text = format!("In truth the risk {}", moved(was, now));
    let [was, now] = step.resolved;
    if was != now {
        text += match (now > was, is_kept(step), resolved == all) {
            (true, true, true) => ", and the last open issue needed no change",
            (true, true, false) => ", and one open issue needed no change",
            (true, false, _) => ", and an issue is resolved",
            (false, ..) => ", and a resolved issue comes back",
        };
    }
    text += &match all {
        1 => format!("; {resolved} of 1 issue is resolved."),
        _ => format!("; {resolved} of {all} issues are resolved."),
    };
    if !step.progress {
        text += " The step made no progress, so it counts at most .8 toward the score.";
    }
    text
}

/// Returns `true` if the step kept the regimen.
fn is_kept(step: &Step) -> bool {
    step.act.is_some_and(|act| act.kind == ActKind::KeepRegimen)
}

fn moved(was: f64, now: f64) -> String {
    match now - was {
        less if less < -0.005 => format!("falls from {was:.2} to {now:.2}"),
        more if more > 0.005 => format!("rises from {was:.2} to {now:.2}"),
        _ => format!("stays at {now:.2}"),
    }
}

/// Returns the reasons for and against a step, by how much of the reward is at stake.
fn reasons(step: &Step, judged: &[ComponentReason]) -> Panel {
    let mut weighty: Vec<&ComponentReason> = judged
        .iter()
        .filter(|judged| judged.verdict != Verdict::Neither)
        .collect();
    weighty.sort_by(|a, b| b.stake().total_cmp(&a.stake()));
    weighty.truncate(REASONS_MAX);
    let card = |judged: &&ComponentReason| {
        let (name, formula) = display_text::component(judged.component);
        Card {
            key: judged.component.name().to_owned(),
            title: capitalized(&judged.reason),
            help: formula.to_owned(),
            state: format!("{name} {:.3}", judged.value),
            tone: match judged.verdict {
                Verdict::Good => Tone::Good,
                Verdict::Bad => Tone::Bad,
                Verdict::Neither => Tone::Neutral,
            },
            ..Card::default()
        }
    };
    Panel {
        id: "reasons".to_owned(),
        title: format!("Why the step earned {:.3}", step.total),
        help: "Reasons for and against the step, the most important first. The reward is a weighted mean of thirteen components.".to_owned(),
        layout: Layout::List,
        cards: weighty.iter().map(card).collect(),
        empty: "There is no reason for or against it.".to_owned(),
        ..Panel::default()
    }
}

fn issues(episode: &Episode) -> Panel {
    let (resolved, all) = episode.count_resolved();
    let card = |(number, issue): (usize, Issue)| {
        let (state, tone) = match episode.is_resolved(issue) {
            true => ("resolved", Tone::Good),
            false => ("open", Tone::Bad),
        };
        Card {
            key: number.to_string(),
            title: describe_issue(episode, issue),
            state: state.to_owned(),
            tone,
            ..Card::default()
        }
    };
    Panel {
        id: "issues".to_owned(),
        title: "Issues".to_owned(),
        help: "What must be put right. Once all of it is, and nothing was made worse, the verifier ends the episode.".to_owned(),
        summary: format!("{resolved} of {all} resolved"),
        layout: Layout::List,
        cards: episode.hidden().issues().enumerate().map(card).collect(),
        ..Panel::default()
    }
}

fn describe_issue(episode: &Episode, issue: Issue) -> String {
    let o = episode.observation();
    let formulary = o.formulary();
    let name = |id: ArchetypeId| capitalized(&names::archetype(formulary, id));
    let medicine = |drug| capitalized(&names::in_sentence(formulary, drug));
    match issue {
        Issue::Pair(pair) | Issue::ComponentPair(pair) => {
            let pair = formulary.pair(pair);
            format!(
                "{} and {} may not both be taken",
                name(pair.first),
                names::archetype(formulary, pair.second)
            )
        }
        Issue::Set(rule) => format!(
            "This rule must not be broken: {}",
            display_text::rule(rule).0
        ),
        Issue::NoIndication(mark) => {
            let mut rows = o.regimen.iter().enumerate();
            let row = rows.find(|(at, _)| episode.hidden().truth(*at).mark == mark);
            row.map_or_else(
                || "A medicine that is not needed must be stopped".to_owned(),
                |(_, row)| format!("{} is not needed and must be stopped", medicine(row.drug)),
            )
        }
        Issue::Culprit(id) => format!(
            "{} causes the symptom: it must be stopped, and the other suspects kept",
            name(id)
        ),
        Issue::Dose(id) => format!("{} must be measured and settle in its window", name(id)),
        Issue::Info => "The eGFR must be known".to_owned(),
        Issue::Renal(id) => format!("{} must be stopped: the eGFR is too low for it", name(id)),
        Issue::Sign => "Once nothing else is left, the regimen must be kept to sign off".to_owned(),
        Issue::Decompose => "The product must be looked up or stopped".to_owned(),
        Issue::Replace(drug, condition) => format!(
            "{} must be replaced by a tolerated medicine for {}",
            medicine(drug),
            names::condition(condition)
        ),
    }
}

/// Returns the true values of the patient and of the step.
fn facts(episode: &Episode, step: Option<&Step>) -> Panel {
    let (o, h) = (episode.observation(), episode.hidden());
    let needed: Vec<&str> = h.needed.iter().map(names::condition).collect();
    let mut cards = vec![
        Card::fact(
            "risk",
            "True risk",
            "With pairs that are not flagged, doses that act too much, and the true kidney",
            format!("{:.3}", h.risk),
        ),
        Card::fact(
            "control",
            "Control",
            "How well the conditions are controlled; below .25 the episode ends badly",
            format!("{:.3}", h.stability),
        ),
        Card::fact(
            "burden",
            "True burden",
            "With the components of the product",
            format!("{:.3}", h.burden),
        ),
        Card::fact(
            "adherence",
            "True adherence",
            "Share of doses that are taken",
            format!("{:.2}", h.adherence),
        ),
        Card::fact(
            "egfr",
            "True eGFR",
            display_text::lab(Lab::Egfr).2,
            display_text::lab_value(Lab::Egfr, h.egfr()),
        ),
        Card::fact(
            "needed",
            "Needs treatment",
            "Conditions that a medicine must treat",
            match needed.is_empty() {
                true => "none".to_owned(),
                false => needed.join(", "),
            },
        ),
    ];
    if o.symptom.is_some() {
        let help = "Without the noise of its reading";
        let value = format!("{:.2}", h.symptom);
        cards.push(Card::fact("symptom", "True symptom", help, value));
    }
    if let Some([a, b]) = h.components {
        let help = "What the product is made of";
        let both = names::both(o.formulary(), a, b);
        cards.push(Card::fact("product", "The product", help, both));
    }
    if let Some(id) = h.intolerant {
        let help = "An alternative that the patient does not tolerate";
        let name = names::archetype(o.formulary(), id);
        cards.push(Card::fact("intolerant", "Does not tolerate", help, name));
    }
    if let Some(step) = step {
        let help = "A channel of the last reward: the plain mean of its components";
        for (channel, value) in Channel::ALL.into_iter().zip(step.reward.channels) {
            let title = display_text::channel(channel);
            cards.push(Card::fact(
                channel.name(),
                title,
                help,
                format!("{value:.3}"),
            ));
        }
    }
    Panel {
        id: "facts".to_owned(),
        title: "True values".to_owned(),
        layout: Layout::Counters,
        cards,
        aside: true,
        ..Panel::default()
    }
}

/// Returns the listed pairs that are taken and not flagged.
fn hidden_pairs(episode: &Episode) -> Panel {
    let (o, h) = (episode.observation(), episode.hidden());
    let formulary = o.formulary();
    let mut taken = Vec::new();
    let active = o.regimen.iter().filter(|row| row.is_active());
    for (place, row) in active.enumerate() {
        match row.drug.archetype() {
            Some(id) => taken.push((place, id)),
            None => taken.extend(h.components.into_iter().flatten().map(|id| (place, id))),
        }
    }
    let mut cards = Vec::new();
    for (index, (row, a)) in taken.iter().enumerate() {
        for (other, b) in &taken[index + 1..] {
            let pair = formulary.pair_between(*a, *b);
            let pair = pair.filter(|pair| o.flagged & pair.bit() == 0 && row != other);
            let Some(pair) = pair else { continue };
            let severity = formulary.pair(pair).grade.at(Some(h.egfr()));
            cards.push(Card {
                key: format!("{}+{}", formulary.get(*a).name, formulary.get(*b).name),
                title: capitalized(&names::both(formulary, *a, *b)),
                chips: vec![Chip {
                    text: severity.name().to_owned(),
                    help: display_text::severity(severity).to_owned(),
                    tone: graph::tone(severity),
                }],
                ..Card::default()
            });
        }
    }
    Panel {
        id: "hidden-pairs".to_owned(),
        title: "Interactions that are not flagged".to_owned(),
        summary: counted(cards.len(), "pair", "pairs"),
        layout: Layout::List,
        cards,
        empty: "Every interaction of what is taken is flagged.".to_owned(),
        ..Panel::default()
    }
}

/// Returns the candidates that are withheld because they are not allowed.
fn withheld(episode: &Episode) -> Panel {
    let o: &Observation = episode.observation();
    let withheld = episode.hidden().withheld().filter(|_| !o.done());
    let cards = withheld.map(|(id, act, why)| Card {
        key: id.name().to_owned(),
        title: format!("{}: {}", id.number(), describe_act(o, act)),
        subtitle: format!("Not shown, because {}", display_text::violation(why)),
        ..Card::default()
    });
    Panel {
        id: "withheld".to_owned(),
        title: "Candidates that are not shown".to_owned(),
        layout: Layout::List,
        cards: cards.collect(),
        empty: "Every candidate is shown.".to_owned(),
        aside: true,
        ..Panel::default()
    }
}

/// Returns the hidden facts about the medicine in a row.
fn medicine(episode: &Episode, place: usize) -> Vec<TruthNote> {
    let (o, h) = (episode.observation(), episode.hidden());
    let (row, truth) = (&o.regimen[place], h.truth(place));
    let (low, high) = row.window(o.formulary());
    let outside = row.is_active() && !(low..=high).contains(&truth.exposure);
    let note = |text: String, help: &str, tone, value| TruthNote {
        panel: REGIMEN.to_owned(),
        card: row.drug.name(o.formulary()).to_owned(),
        text,
        help: help.to_owned(),
        tone,
        value,
        unmask: false,
    };
    let mut notes = vec![
        note(
            format!(
                "exposure {:.2}, window {low:.2} to {high:.2}",
                truth.exposure
            ),
            "True exposure and its window; it settles over several steps after a change of the dose",
            if outside { Tone::Warn } else { Tone::Neutral },
            Some(share(truth.exposure)),
        ),
        match truth.needed {
            true => note(
                "needed".to_owned(),
                "The patient needs it or a substitute",
                Tone::Good,
                None,
            ),
            false => note(
                "not needed".to_owned(),
                "It can be stopped without loss",
                Tone::Warn,
                None,
            ),
        },
    ];
    let known = row.drug.archetype();
    if known.is_some() && known == h.culprit {
        notes.push(TruthNote {
            unmask: true,
            ..note(
                "causes the symptom".to_owned(),
                "The culprit, which must be stopped",
                Tone::Bad,
                None,
            )
        });
    }
    if known.is_some() && known == h.intolerant {
        let text = "not tolerated".to_owned();
        notes.push(note(text, "It must be replaced again", Tone::Bad, None));
    }
    notes
}

/// Returns the true values of missing laboratory values.
fn missing_labs(episode: &Episode) -> impl Iterator<Item = TruthNote> {
    let (o, h) = (episode.observation(), episode.hidden());
    let missing = Lab::ALL.iter().filter(|lab| o.labs.get(**lab).is_none());
    missing.map(|lab| TruthNote {
        panel: PATIENT.to_owned(),
        card: lab.name().to_owned(),
        text: format!(
            "in truth {}",
            display_text::lab_value(*lab, h.labs[*lab as usize])
        ),
        help: display_text::lab(*lab).2.to_owned(),
        ..TruthNote::default()
    })
}
