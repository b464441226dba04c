//! Text interface of the polyguard world. The rules of the world define how a completion is parsed
//! (spec polyguard §9).

use sentinel_env::Environment;
use std::fmt::{self, Write};

use sentinel_env::polyguard::{
    Act, ActArg, Action, ActionRow, Archetype, ArchetypeId, Candidate, CandidateId, Drug, Episode,
    Exploit, Formulary, Lab, Medication, Observation, ParsedCompletion, PolyguardEnv, TaskSpec,
    each_archetype, prompt, prompt_among,
};

use super::learned::{ObservationFacts, Observer, PolyguardNet};
use crate::nn::{Network as _, Observe as _};
use crate::text::{
    InvalidActionPolicy, ParseError, ParseErrorKind, ParsedAction, ParserStrictness, PromptState,
    PromptStyle, TextWorld, write_posterior,
};

/// The text before the candidate's id in a completion as JSON.
const ID_FIELD: &str = "\"candidate_id\":\"";

impl TextWorld for PolyguardEnv {
    type Memory = Observer;

    fn update_memory(memory: &mut Observer, o: &Observation) {
        memory.observe(o);
    }

    fn prompt(style: PromptStyle, memory: &Observer, episode: &Episode) -> String {
        let o = episode.observation();
        match style {
            PromptStyle::Reference => prompt(o),
            PromptStyle::Compact | PromptStyle::Detailed => {
                prompt_in_numbers(style, memory, o, o.candidates.iter())
            }
        }
    }

    /// Formats the action as JSON for the compact prompt, as JSON that names the act before the id of
    /// its candidate for the detailed one, and as one line for the reference prompt, which does not
    /// include the confidence.
    fn format_action(style: PromptStyle, o: &Observation, action: Action) -> String {
        let row = ActionRow::new(&action, o.formulary());
        match (style, row.candidate_id, &row.rationale) {
            (PromptStyle::Reference, Some(id), Some(rationale)) => {
                format!("candidate_id={id}; rationale={rationale}")
            }
            // A choice that claims an act is written with its claim.
            (PromptStyle::Detailed, Some(candidate_id), Some(rationale))
                if row.action_type.is_none() && row.drug.is_none() && row.args.is_none() =>
            {
                let act = action.id().and_then(|id| o.candidates.get(id));
                let choice = ReasonedChoice {
                    rationale: act.map_or_else(
                        || rationale.clone(),
                        |candidate| rationale_with_act(rationale, o.formulary(), candidate.act),
                    ),
                    candidate_id,
                    confidence: row.confidence,
                };
                serde_json::to_string(&choice).unwrap_or_default()
            }
            _ => serde_json::to_string(&row).unwrap_or_default(),
        }
    }

    /// Returns a completion as JSON up to the last character of the candidate's id; empty for a text
    /// without that field, such as a completion of the reference prompt.
    fn decisive_prefix(text: &str) -> &str {
        let id = CandidateId::FIRST.name().len();
        let end = text.find(ID_FIELD).map(|at| at + ID_FIELD.len() + id);
        end.and_then(|end| text.get(..end)).unwrap_or_default()
    }

    /// Returns the names of the medicines that the split does not exclude.
    fn names_to_copy(task: TaskSpec) -> Vec<&'static str> {
        let formulary = task.formulary().tables();
        let excluded = task.split().excluded(formulary);
        let shown = formulary.ids().filter(|id| id.bit() & excluded == 0);
        shown.map(|id| formulary.get(id).name.as_str()).collect()
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
            PromptStyle::Compact | PromptStyle::Detailed => {
                let listed = o.candidates.iter().filter(|c| ids.contains(&c.id));
                prompt_in_numbers(style, self.memory(), o, listed)
            }
        }
    }
}

/// The completion of a detailed prompt. It names the act before its candidate: a small model learns
/// which act to choose long before it learns to name the id of one.
#[derive(serde::Serialize)]
struct ReasonedChoice {
    rationale: String,
    candidate_id: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
}

/// Returns the rationale with the act in front, in the words of the prompt. It cites the same terms; one
/// that does not cite the medicines of the act is returned as it is.
fn rationale_with_act(rationale: &str, formulary: &'static Formulary, act: Act) -> String {
    let target = match act.arg {
        ActArg::Target(drug) => Some(drug),
        _ => None,
    };
    let medicines: Vec<&str> = (act.drug.into_iter().chain(target))
        .map(|drug| drug.name(formulary))
        .collect();
    let cited: Vec<&str> = rationale.split(", ").collect();
    if !medicines.iter().all(|name| cited.contains(name)) {
        return rationale.to_owned();
    }
    let mut out = act_in_words(formulary, act);
    for other in cited
        .iter()
        .filter(|name| **name != "-" && !medicines.contains(name))
    {
        out.push_str(", ");
        out.push_str(other);
    }
    out
}

/// Returns the act as a line of the prompt states it: its kind, its medicine and its argument.
fn act_in_words(formulary: &'static Formulary, act: Act) -> String {
    let mut words = act.kind.name().to_owned();
    if let Some(drug) = act.drug {
        words = format!("{words} {}", drug.name(formulary));
    }
    match act.arg {
        ActArg::None => words,
        ActArg::Dose(by) => format!("{words} {by:+}"),
        ActArg::Target(drug) => format!("{words} > {}", drug.name(formulary)),
    }
}

/// Formats the compact or the detailed prompt.
fn prompt_in_numbers<'a>(
    style: PromptStyle,
    memory: &Observer,
    o: &Observation,
    candidates: impl Iterator<Item = &'a Candidate>,
) -> String {
    let mut out = String::with_capacity(1_500);
    let facts = (style == PromptStyle::Detailed).then(|| memory.facts(o));
    // Writing to a `String` cannot fail.
    let _ = compact(&mut out, memory, facts.as_ref(), o, candidates);
    out
}

/// Writes the case, the last act, and a line for each candidate, which `facts` make a detailed one.
fn compact<'a>(
    out: &mut String,
    memory: &Observer,
    facts: Option<&ObservationFacts<'_>>,
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
    write_words(
        out,
        [
            (o.labs_ordered, " ordered"),
            (o.conflict, " conflict"),
            (o.has_unknown_product(), " product"),
        ],
    );
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
        let (id, act) = (candidate.id, candidate.act);
        let words = act_in_words(o.formulary(), act);
        if let Some(facts) = facts {
            of_candidate(out, o, candidate)?;
            details_of_act(out, facts, o, act)?;
            // A causal model reads the act and the id after all that speaks for it and against it.
            writeln!(out, ": {words} = {id}")?;
        } else {
            write!(out, "{id} {words} ")?;
            of_candidate(out, o, candidate)?;
            writeln!(out)?;
        }
    }
    Ok(())
}

/// Writes what a detailed prompt adds about the medicines of an act.
fn details_of_act(
    out: &mut String,
    facts: &ObservationFacts<'_>,
    o: &Observation,
    act: Act,
) -> fmt::Result {
    let medicine = act.drug.and_then(|drug| o.regimen.find(drug));
    if let Some(medicine) = medicine {
        details_of_medicine(out, facts, o, medicine)?;
    }
    if let ActArg::Target(Drug::Known(id)) = act.arg {
        details_of_target(out, facts, o, medicine, id)?;
    }
    Ok(())
}

/// Writes each of the words whose condition holds.
fn write_words<const N: usize>(out: &mut String, words: [(bool, &str); N]) {
    for (holds, word) in words {
        if holds {
            out.push_str(word);
        }
    }
}

/// Writes what a detailed prompt adds about the medicine that a candidate names: its interactions, its
/// traits, and the probability that it contains the culprit of the symptom.
fn details_of_medicine(
    out: &mut String,
    facts: &ObservationFacts<'_>,
    o: &Observation,
    medicine: &Medication,
) -> fmt::Result {
    let found = facts.interactions(medicine);
    for (word, count) in [
        ("serious", found.serious),
        ("minor", found.flags - found.serious),
        ("sets", found.broken_rules),
        ("pairs?", o.count_suspected_pairs(medicine) as usize),
    ] {
        if count > 0 {
            write!(out, " {word} {count}")?;
        }
    }
    let known = o.known_archetypes(medicine.drug);
    let any = |holds: fn(&Archetype) -> bool| {
        each_archetype(known).any(|id| holds(o.formulary().get(id)))
    };
    write_words(
        out,
        [
            (facts.is_sole_treatment(medicine), " sole"),
            (o.renal_alert(medicine).is_none(), " renal?"),
            (o.ade_history & known != 0, " harmed"),
            (medicine.indication.is_none(), " untargeted"),
            (any(|archetype| archetype.cns), " cns"),
            (any(|archetype| archetype.acb > 0), " acb"),
            (any(|archetype| archetype.narrow), " narrow"),
        ],
    );
    let culprit = facts.culprit_probability(medicine);
    write_posterior(out, &["culprit"], &[culprit])
}

/// Writes what a detailed prompt adds about the medicine that a candidate adds, in place of `medicine`
/// where it is a substitution.
fn details_of_target(
    out: &mut String,
    facts: &ObservationFacts<'_>,
    o: &Observation,
    medicine: Option<&Medication>,
    id: ArchetypeId,
) -> fmt::Result {
    let (new, found) = (o.formulary().get(id), facts.addition(medicine, id));
    out.push_str(" new");
    if found.suspected_pairs > 0 {
        write!(out, " pairs? {}", found.suspected_pairs)?;
    }
    write_words(
        out,
        [
            (found.treats_indication, " treats"),
            (found.duplicates_class, " duplicate"),
            (found.renal_unknown, " renal?"),
            (o.ade_history & id.bit() != 0, " harmed"),
            (new.taper, " taper"),
            (new.cns, " cns"),
            (new.acb > 0, " acb"),
        ],
    );
    Ok(())
}

/// Writes the estimates of one candidate, and what the chart states about its medicine.
fn of_candidate(out: &mut String, o: &Observation, candidate: &Candidate) -> fmt::Result {
    let (formulary, act) = (o.formulary(), candidate.act);
    let (risk, delta) = (candidate.est_risk, candidate.est_delta);
    write!(out, "{risk:.2} {delta:+.2}")?;
    if let Some(row) = act.drug.and_then(|drug| o.regimen.find(drug)) {
        write_words(
            out,
            [
                (row.drug.needs_taper(formulary), " taper"),
                (row.tapering, " tapering"),
                (row.stale, " stale"),
                (row.status == Some(true), " needed"),
                (row.status == Some(false), " unneeded"),
                (row.questioned, " dose?"),
                (!row.is_active(), " paused"),
                (o.renal_alert(row) == Some(true), " renal"),
                (o.problem == Some(row.drug), " problem"),
            ],
        );
        if let Some(level) = row.level {
            write!(out, " level {level:.2}")?;
        }
        if row.prior > 0 {
            write!(out, " suspect {}", row.prior)?;
        }
    }
    let again = o.history.iter().filter(|past| past.act == Some(act));
    match again.count() {
        0 => Ok(()),
        times => write!(out, " again {times}"),
    }
}
