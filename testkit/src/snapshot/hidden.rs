//! The hidden state of an episode as text.

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use sentinel_env::polyguard::{Drug, Episode, Lab, TraceReset};

use super::chart::{list, pair};
use super::layout::{heading, line, number};

/// Writes the hidden state at the start, which no agent may see.
pub(super) fn truth(out: &mut String, episode: &Episode, reset: &TraceReset) {
    let (o, h) = (episode.observation(), episode.hidden());
    let (formulary, truth) = (o.formulary(), &reset.truth);
    heading(out, "Hidden");
    for issue in &truth.issues {
        line(out, &format!("issue {issue}"));
    }
    let labs = Lab::ALL.iter().zip(&truth.labs);
    let labs = labs.map(|(lab, value)| format!("{} {value:.1}", lab.name()));
    line(
        out,
        &format!("labs {}", labs.collect::<Vec<_>>().join(", ")),
    );
    line(out, &format!("adherence {}", number(truth.adherence)));
    line(
        out,
        &format!("needs treatment of {}", list(truth.needed.iter().copied())),
    );
    if !truth.components.is_empty() {
        line(
            out,
            &format!(
                "{} is {}",
                Drug::Product.name(formulary),
                truth.components.join(" + ")
            ),
        );
    }
    if let Some(drug) = truth.intolerant {
        line(out, &format!("does not tolerate {drug}"));
    }
    let unseen = h.start.serious & !o.flagged;
    for (place, listed) in formulary.pairs().iter().enumerate() {
        if unseen >> place & 1 == 1 {
            let names = pair(o, listed);
            line(out, &format!("serious pair that is not flagged: {names}"));
        }
    }
    for (place, row) in o.regimen.iter().enumerate() {
        let true_row = h.truth(place);
        let (low, high) = row.window(episode.observation().formulary());
        line(
            out,
            &format!(
                "{:<28} clearance {}, acts {} (window {low} to {high}), {}",
                row.drug.name(formulary),
                number(true_row.kappa),
                number(true_row.exposure),
                need(true_row.needed, true_row.condition.name()),
            ),
        );
    }
    line(
        out,
        &format!(
            "risk {}, burden {}, stability {}",
            number(truth.risk),
            number(truth.burden),
            number(truth.stability)
        ),
    );
}

fn need(needed: bool, condition: &str) -> String {
    let word = if needed { "needed" } else { "not needed" };
    format!("{word} for {condition}")
}
