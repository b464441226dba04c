//! What the player weighs, and what the agents of a stack said.

use leptos::prelude::*;
use sentinel_env::polyguard::CANDIDATES;
use sentinel_policy::polyguard::stack::Entry;

use super::Polyguard;
use crate::ui::{Scene, tip};

/// What a player makes of a moment.
#[derive(Clone, Debug, Default)]
pub struct Mind {
    /// Probability that the player gives each candidate now; none after the end.
    pub probabilities: Option<[f64; CANDIDATES]>,
    /// What the player made of each candidate before it chose the next; infinite where it was not considered.
    pub values: Option<[f64; CANDIDATES]>,
    /// What each agent of a stack said for the next step, in the order in which they speak.
    pub trace: Vec<Entry>,
}

/// What an agent of the stack is for.
fn role(agent: &str) -> &'static str {
    match agent {
        "MedRec" => "Reconciles the chart: how much is taken, and what has no indication",
        "Evidence" => "Asks for laboratory values that a decision needs",
        "GraphSafety" => {
            "Weighs each candidate by what it does to the estimated risk, and suspects pairs"
        }
        "Dosing" => "Weighs changes of doses by the last level that was measured",
        "Candidate" => "Lists what can be chosen",
        "Supervisor" => "Sets the focus of the step: doses, regimen, or handing over",
        "Planner" => "Takes the candidate with the largest sum of what was said",
        "Critic" => "Vetoes what is illegal, looks riskier, or leaves a condition untreated",
        "Explainer" => "Says what was chosen in words that the chart contains",
        _ => "An agent of the stack",
    }
}

/// The agents; nothing where the player is no stack.
pub(super) fn trace(scene: Scene<Polyguard>) -> impl IntoView {
    let markup = Memo::new(move |_| scene.with_frame(|frame| said(&frame.mind.trace)));
    move || {
        let spoken = !markup.with(String::is_empty);
        spoken.then(|| {
            view! { <section class="card trace" aria-label="What the agents said" inner_html=move || markup.get()></section> }
        })
    }
}

/// Words and numbers of ours only, so nothing needs escaping.
fn said(trace: &[Entry]) -> String {
    if trace.is_empty() {
        return String::new();
    }
    let rows: String = trace.iter().map(agent).collect();
    let head = tip(
        "What the agents said",
        "In the order in which they speak, for the step that comes next; what an agent adds to single candidates stands behind their numbers",
    );
    format!("<h3>{head}</h3><ol class=\"agents\">{rows}</ol>")
}

fn agent(said: &Entry) -> String {
    let notes: String = said
        .notes
        .iter()
        .map(|note| format!("<p class=\"quiet\">{note}</p>"))
        .collect();
    let scores: String = said.scores.iter().map(score).collect();
    format!(
        "<li data-agent=\"{0}\"><div class=\"agent-head\">{1}<strong>{2}</strong></div>{notes}<div class=\"agent-scores\">{scores}</div></li>",
        said.agent,
        tip(said.agent, role(said.agent)),
        said.verdict
    )
}

fn score((id, value): &(&'static str, f64)) -> String {
    let class = if *value < 0.0 { " against" } else { "" };
    let number = id.trim_start_matches("cand_").trim_start_matches('0');
    format!("<span class=\"chip{class}\" title=\"{id}\">{number}: {value:+.2}</span>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_is_shown_with_what_it_said() {
        assert_eq!(said(&[]), "");
        let trace = [Entry {
            agent: "GraphSafety",
            verdict: "1 flagged pair".to_owned(),
            notes: vec!["nsaid_like: 2 suspected".to_owned()],
            scores: vec![("cand_03", 0.2), ("cand_10", -0.1)],
        }];
        let markup = said(&trace);
        for part in [
            "1 flagged pair",
            "2 suspected",
            "3: +0.20",
            "against",
            "10: -0.10",
        ] {
            assert!(markup.contains(part), "{part} is not in {markup}");
        }
    }
}
