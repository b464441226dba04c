//! Text interface of the polyguard world. The rules of the world define how a completion is parsed
//! (spec polyguard §9).

use sentinel_env::Environment;
use std::fmt::{self, Write};

use sentinel_env::polyguard::{
    ActArg, Action, ActionRow, Candidate, CandidateId, Episode, Exploit, Lab, Observation,
    ParsedCompletion, PolyguardEnv, prompt, prompt_among,
};

use super::learned::{Observer, PolyguardNet};
use crate::nn::{Network as _, Observe as _};
use crate::text::{
    InvalidActionPolicy, ParseError, ParseErrorKind, ParsedAction, ParserStrictness, PromptState,
    PromptStyle, TextWorld,
};

impl TextWorld for PolyguardEnv {
    type Memory = Observer;

    fn update_memory(memory: &mut Observer, o: &Observation) {
        memory.observe(o);
    }

    fn prompt(style: PromptStyle, memory: &Observer, episode: &Episode) -> String {
        let o = episode.observation();
        match style {
            PromptStyle::Reference => prompt(o),
            PromptStyle::Compact => {
                let mut out = String::with_capacity(900);
                // Writing to a `String` cannot fail.
                let _ = compact(&mut out, memory, o, o.candidates.iter());
                out
            }
        }
    }

    /// Formats the action as JSON for the compact prompt, and as one line for the reference prompt,
    /// which does not include the confidence.
    fn format_action(style: PromptStyle, o: &Observation, action: Action) -> String {
        let row = ActionRow::new(&action, o.formulary());
        match (style, row.candidate_id, &row.rationale) {
            (PromptStyle::Reference, Some(id), Some(rationale)) => {
                format!("candidate_id={id}; rationale={rationale}")
            }
            _ => serde_json::to_string(&row).unwrap_or_default(),
        }
    }

    fn legal_actions(observation: &Observation) -> Vec<Action> {
        PolyguardNet::legal_actions(observation)
    }

    /// Parses a completion. The world decides what is repaired and reports it, so the reader has no
    /// effect.
    fn parse_action(
        _: ParserStrictness,
        text: &str,
        o: &Observation,
    ) -> Result<ParsedAction<Action>, ParseError> {
        let ParsedCompletion { action, detail } = ParsedCompletion::parse(text, o.formulary());
        let reason = match action {
            Action::Choose(choice) => {
                let repaired = choice.repaired;
                return Ok(ParsedAction { action, repaired });
            }
            Action::Invalid(violation) => ParseErrorKind::Refused(violation.name()),
            Action::Exploit => ParseErrorKind::Refused(Exploit::ParserExploit.name()),
        };
        Err(ParseError::new(reason, detail.unwrap_or_default()))
    }

    fn invalid_action_policy(text: &str, o: &Observation) -> InvalidActionPolicy<Action> {
        InvalidActionPolicy::Step(Action::parse(text, o.formulary()))
    }
}

impl PromptState<PolyguardEnv> {
    /// Returns the prompt for a model that may choose only among the candidates `ids`.
    #[must_use]
    pub fn prompt_among(&self, style: PromptStyle, ids: &[CandidateId]) -> String {
        let o = self.observation();
        match style {
            PromptStyle::Reference => prompt_among(o, ids),
            PromptStyle::Compact => {
                let mut out = String::with_capacity(500);
                let listed = o.candidates.iter().filter(|c| ids.contains(&c.id));
                // Writing to a `String` cannot fail.
                let _ = compact(&mut out, self.memory(), o, listed);
                out
            }
        }
    }
}

fn compact<'a>(
    out: &mut String,
    memory: &Observer,
    o: &Observation,
    candidates: impl Iterator<Item = &'a Candidate>,
) -> fmt::Result {
    let (sub, difficulty) = (o.task.sub_environment().name(), o.task.difficulty().name());
    let (step, budget) = (o.step_count, o.budget);
    writeln!(out, "polyguard {sub} {difficulty} step {step}/{budget}")?;
    write!(
        out,
        "risk {:.2} burden {:.2} unsure {:.2}",
        o.risk, o.burden, o.uncertainty
    )?;
    match o.labs.get(Lab::Egfr) {
        Some(egfr) => write!(out, " egfr {egfr:.0}")?,
        None => out.push_str(" egfr ?"),
    }
    let serious = o
        .flagged_pairs()
        .filter(|(_, severity)| severity.is_serious());
    write!(
        out,
        " labs missing {} serious {}",
        o.labs.missing(),
        serious.count()
    )?;
    let broken = o.broken_rules().iter().filter(|(_, is)| *is).count();
    write!(out, " sets {broken}")?;
    for (holds, word) in [
        (o.labs_ordered, " ordered"),
        (o.conflict, " conflict"),
        (o.has_unknown_product(), " product"),
    ] {
        if holds {
            out.push_str(word);
        }
    }
    if let Some(symptom) = o.symptom {
        write!(out, " symptom {symptom:.2}")?;
        if let Some(before) = memory.symptom_before() {
            write!(out, " was {before:.2}")?;
        }
    }
    writeln!(out)?;
    if let Some(last) = o.history.last() {
        let what = last.act.map_or("nothing", |act| act.kind.name());
        let came = match (last.violation, last.gained) {
            (Some(why), _) => why.name(),
            (None, true) => "informed",
            (None, false) => "done",
        };
        writeln!(out, "last {what} {came}")?;
    }
    for candidate in candidates {
        of_candidate(out, o, candidate)?;
    }
    Ok(())
}

/// Writes the line of one candidate: the act, its medicines, its estimates, and what the chart
/// states about the medicine.
fn of_candidate(out: &mut String, o: &Observation, candidate: &Candidate) -> fmt::Result {
    let (formulary, act) = (o.formulary(), candidate.act);
    write!(out, "{} {}", candidate.id, act.kind.name())?;
    if let Some(drug) = act.drug {
        write!(out, " {}", drug.name(formulary))?;
    }
    match act.arg {
        ActArg::None => {}
        ActArg::Dose(by) => write!(out, " {by:+}")?,
        ActArg::Target(drug) => write!(out, " > {}", drug.name(formulary))?,
    }
    let (risk, delta) = (candidate.est_risk, candidate.est_delta);
    write!(out, " {risk:.2} {delta:+.2}")?;
    if let Some(row) = act.drug.and_then(|drug| o.regimen.find(drug)) {
        for (holds, word) in [
            (row.drug.needs_taper(formulary), " taper"),
            (row.tapering, " tapering"),
            (row.stale, " stale"),
            (row.status == Some(true), " needed"),
            (row.status == Some(false), " unneeded"),
            (row.questioned, " dose?"),
            (!row.is_active(), " paused"),
            (o.renal_alert(row) == Some(true), " renal"),
            (o.problem == Some(row.drug), " problem"),
        ] {
            if holds {
                out.push_str(word);
            }
        }
        if let Some(level) = row.level {
            write!(out, " level {level:.2}")?;
        }
        if row.prior > 0 {
            write!(out, " suspect {}", row.prior)?;
        }
    }
    let again = o.history.iter().filter(|past| past.act == Some(act));
    match again.count() {
        0 => writeln!(out),
        times => writeln!(out, " again {times}"),
    }
}
