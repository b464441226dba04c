//! The explainer agent: describes the choice with terms from the chart.

use sentinel_env::polyguard::{ActArg, CandidateId, Choice, Lab, Observation, RationaleTerms};

/// The final choice, with a rationale of one line.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Choice in the form that the environment takes.
    pub choice: Choice,
    /// One line of text, shorter than 400 characters.
    pub rationale: String,
}

/// Describes the choice of candidate `id`. `fallback` is `true` if the critic replaced the original
/// choice.
#[must_use]
pub(super) fn explain(o: &Observation, id: CandidateId, fallback: bool) -> Explanation {
    let formulary = o.formulary();
    let candidate = o.candidates.get(id);
    let mut words = Vec::new();
    if let Some(candidate) = candidate {
        words.push(candidate.act.kind.name().to_owned());
        let drug = candidate.act.drug.map(|drug| drug.name(formulary));
        words.extend(drug.map(str::to_owned));
        match candidate.act.arg {
            ActArg::Target(drug) => words.push(format!("by {}", drug.name(formulary))),
            ActArg::Dose(by) => words.push(format!("{by:+}")),
            ActArg::None => {}
        }
        if drug.is_none() {
            let egfr = o
                .egfr()
                .map_or("unknown".to_owned(), |egfr| format!("{egfr:.0}"));
            words.push(format!("with {} {egfr}", Lab::Egfr.name()));
        }
        let (now, then) = (o.risk, candidate.est_risk);
        words.push(format!("(estimated risk {now:.2} to {then:.2})"));
    }
    let rationale = words.join(" ");
    let choice = Choice {
        cites: RationaleTerms::from_text(&rationale),
        fallback,
        ..Choice::with_grounded_rationale(o, id)
    };
    Explanation { choice, rationale }
}
