//! A frame of the PolyGuard world as the agent sees it.

use sentinel_env::polyguard::{
    Medication, Observation, PolyguardEnv, REFUSALS_MAX, REVIEW_UNCERTAINTY,
};
use sentinel_page_protocol::{AgentView, Meter, Tone};

use super::step::{PublicStep, headline};
use super::{agents, anti_cheat_panel, candidates, display_text, graph, names, patient, regimen};
use crate::format::counted;
use crate::run::PublicFrame;

/// Visible risk from which it is shown as high.
const HIGH_RISK: f64 = 0.3;
/// Strength from which a symptom is shown as strong.
const STRONG_SYMPTOM: f64 = 0.65;

/// Returns the frame as the agent sees it.
pub(super) fn agent_view(frame: &PublicFrame<'_, PolyguardEnv>) -> AgentView {
    let o = frame.observation;
    let mut panels = vec![
        candidates::panel(frame),
        regimen::panel(frame),
        graph::panel(o),
        patient::panel(o),
    ];
    panels.extend(agents::panel(frame));
    panels.push(graph::suspected(o));
    panels.push(anti_cheat_panel::panel(frame));
    AgentView {
        headline: frame.step.map_or_else(|| opening(o), headline),
        detail: detail(frame),
        standing: match o.end {
            Some(end) => format!("Ended: {}", display_text::end(end).0),
            None => format!("Step {} of {}", o.step_count, o.budget),
        },
        terms_note: "The reward terms depend on hidden facts, such as pairs that are not flagged, so they are shown only with the truth. The agent receives only their sum."
            .to_owned(),
        status: status(frame),
        board_level: o.symptom.map(|symptom| symptom as f32),
        panels,
        ..AgentView::default()
    }
}

fn opening(o: &Observation) -> String {
    let taken = o.regimen.iter().filter(|row| row.is_active()).count();
    format!(
        "A patient of {} takes {}.",
        o.patient.age,
        counted(taken, "medicine", "medicines")
    )
}

fn detail(frame: &PublicFrame<'_, PolyguardEnv>) -> String {
    let o = frame.observation;
    if let Some(end) = o.end {
        let (name, meaning) = display_text::end(end);
        return format!(
            "The episode has ended: {name}. {meaning} Score {:.3}.",
            frame.score
        );
    }
    let mut text = match frame.step {
        None => display_text::sub(o.task.sub_environment()).1.to_owned(),
        Some(step) => refusals(o, step),
    };
    if !text.is_empty() {
        text.push(' ');
    }
    text += &format!("{}.", open_problems(o));
    if let Some(drug) = o.problem {
        text += &format!(
            " {} must be replaced; it treats {}.",
            crate::format::capitalized(&names::in_sentence(o.formulary(), drug)),
            names::treated(o, drug)
        );
    }
    text
}

fn refusals(o: &Observation, step: &PublicStep) -> String {
    match step.violation {
        Some(_) => format!(
            "{} of {REFUSALS_MAX} refusals; the last one ends the episode.",
            o.invalid_count
        ),
        None => String::new(),
    }
}

/// Returns a summary of everything on the chart that is wrong or missing.
fn open_problems(o: &Observation) -> String {
    let flags = o.flagged_pairs().count();
    let serious = o
        .flagged_pairs()
        .filter(|(_, severity)| severity.is_serious());
    let serious = serious.count();
    let broken = o.broken_rules();
    let broken = broken.iter().filter(|(_, broken)| *broken).count();
    let mut parts = vec![match (flags, serious) {
        (0, _) => "No pair is flagged".to_owned(),
        (all, 0) => format!(
            "{} flagged, none serious",
            counted(all, "pair is", "pairs are")
        ),
        (all, serious) if all == serious => {
            format!(
                "{} flagged",
                counted(all, "serious pair is", "serious pairs are")
            )
        }
        (all, serious) => format!("{all} pairs are flagged, {serious} of them serious"),
    }];
    if broken > 0 {
        parts.push(counted(broken, "rule is broken", "rules are broken"));
    }
    let rows = |is: fn(&Medication) -> bool| o.regimen.iter().filter(|row| is(row)).count();
    let counts = [
        (
            rows(Medication::is_unrevealed),
            "medicine is under review",
            "medicines are under review",
        ),
        (
            rows(|row| row.questioned && row.level.is_none()),
            "dose in question was not measured",
            "doses in question were not measured",
        ),
        (
            o.labs.missing(),
            "laboratory value is missing",
            "laboratory values are missing",
        ),
    ];
    let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
    parts.extend(counts.map(|(count, one, many)| counted(count, one, many)));
    if o.conflict {
        parts.push("specialists disagree".to_owned());
    }
    parts.join("; ")
}

fn status(frame: &PublicFrame<'_, PolyguardEnv>) -> Vec<Meter> {
    let o = frame.observation;
    let warn = |high: bool| if high { Tone::Warn } else { Tone::Neutral };
    let at_start = frame.history().next().map_or(o.risk, |step| step.risk[0]);
    let left = o.budget.saturating_sub(o.step_count);
    let [taken, points, central] = o.burden_counts();
    let mut meters = vec![
        Meter {
            label: format!("Step {} of {}", o.step_count, o.budget),
            help: format!("{left} left. Ending well early is worth more than using all steps."),
            value: f32::from(o.step_count) / f32::from(o.budget.max(1)),
            ..Meter::default()
        },
        Meter {
            label: format!("Visible risk {:.2}", o.risk),
            help: "Weights of flagged pairs, broken rules and kidney alerts, as x / (1 + x). What is not flagged or not known is not in it. The mark is the visible risk at the start.".to_owned(),
            value: o.risk as f32,
            mark: Some(at_start as f32),
            tone: warn(o.risk >= HIGH_RISK),
        },
        Meter {
            label: format!("Uncertainty {:.2}", o.uncertainty),
            help: "How little is known: missing values, disagreement, unknown products, medicines under review. From the mark on, handing over is justified once evidence was tried.".to_owned(),
            value: o.uncertainty as f32,
            mark: Some(REVIEW_UNCERTAINTY as f32),
            tone: warn(o.uncertainty >= REVIEW_UNCERTAINTY),
        },
        Meter {
            label: format!("Burden {:.2}", o.burden),
            help: format!(
                "How heavy the regimen is: {}, {}, {central} that act on the brain",
                counted(taken.into(), "medicine", "medicines"),
                counted(points.into(), "anticholinergic point", "anticholinergic points"),
            ),
            value: o.burden as f32,
            ..Meter::default()
        },
    ];
    meters.extend(o.symptom.map(|symptom| Meter {
        label: format!("Symptom {symptom:.2}"),
        help: "Measured with noise. It moves toward .8 while its culprit is taken, and toward .2 otherwise.".to_owned(),
        value: symptom as f32,
        tone: warn(symptom >= STRONG_SYMPTOM),
        ..Meter::default()
    }));
    meters
}
