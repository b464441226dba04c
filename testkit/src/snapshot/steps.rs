//! One step as text: the candidates, the choice and its effects.

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use sentinel_env::polyguard::{Action, Candidate, Channel, Component, Episode, Step, text};

use super::chart;
use super::layout::{heading, line, number};

/// Writes one step, given the episode before and after it.
pub(super) fn step(
    out: &mut String,
    before: &Episode,
    after: &Episode,
    step: &Step,
    issues: &[String],
) {
    let (old, new) = (before.observation(), after.observation());
    heading(out, &format!("Step {} of {}", new.step_count, new.budget));
    for candidate in old.candidates.iter() {
        offer(
            out,
            before,
            candidate,
            step.action.id() == Some(candidate.id),
        );
    }
    line(out, &format!("answer: {}", answer(&step.action)));
    line(
        out,
        &format!("came of it: {}", text::step_summary(step, new.formulary())),
    );
    changes(out, &chart::lines(old), &chart::lines(new));
    truth(out, before, after, step, issues);
    earned(out, step);
}

fn offer(out: &mut String, episode: &Episode, candidate: &Candidate, chosen: bool) {
    let formulary = episode.observation().formulary();
    // Candidate ids may have gaps: the ids in between are withheld.
    line(
        out,
        &format!(
            "{} {} {:<26} risk {} ({:+.3})  {}",
            if chosen { ">" } else { " " },
            candidate.id,
            candidate.act.kind.name(),
            number(candidate.est_risk),
            (candidate.est_delta * 1000.0).round() / 1000.0 + 0.0,
            text::describe_act(candidate.act, formulary),
        ),
    );
}

fn answer(action: &Action) -> String {
    let Action::Choose(choice) = action else {
        return action.to_string();
    };
    let sure = choice
        .confidence
        .map_or("no confidence".to_owned(), |sure| {
            format!("confidence {}", number(sure.value()))
        });
    format!(
        "{}, {sure}, names {}",
        choice.id,
        choice.cites.names().join(", ")
    )
}

/// Writes the lines of the chart that were removed and those that were added.
fn changes(out: &mut String, old: &[String], new: &[String]) {
    for gone in old.iter().filter(|line| !new.contains(line)) {
        line(out, &format!("  - {gone}"));
    }
    for come in new.iter().filter(|line| !old.contains(line)) {
        line(out, &format!("  + {come}"));
    }
}

fn truth(out: &mut String, before: &Episode, after: &Episode, step: &Step, issues: &[String]) {
    let moved =
        |what: &str, [from, to]: [f64; 2]| format!("{what} {} -> {}", number(from), number(to));
    let [risk, burden, stability] = [
        moved("risk", step.risk),
        moved("burden", step.burden),
        moved("stability", step.stability),
    ];
    line(out, &format!("true {risk}, {burden}, {stability}"));
    for (name, issue) in issues.iter().zip(after.hidden().issues()) {
        match (before.is_resolved(issue), after.is_resolved(issue)) {
            (false, true) => line(out, &format!("resolved: {name}")),
            (true, false) => line(out, &format!("open again: {name}")),
            _ => {}
        }
    }
    let [_, resolved] = step.resolved;
    let word = |yes: bool| if yes { "yes" } else { "no" };
    line(
        out,
        &format!(
            "issues resolved {resolved} of {}; information gained: {}; progress: {}",
            issues.len(),
            word(step.gained),
            word(step.progress)
        ),
    );
}

fn earned(out: &mut String, step: &Step) {
    let reward = &step.reward;
    for component in Component::ALL {
        let value = number(reward.component(component));
        line(
            out,
            &format!(
                "    {value} x {:.2} {}",
                component.weight(),
                component.name()
            ),
        );
    }
    let channels = Channel::ALL.iter().zip(reward.channels);
    let channels = channels.map(|(channel, value)| format!("{} {}", channel.name(), number(value)));
    line(
        out,
        &format!("    {}", channels.collect::<Vec<_>>().join(", ")),
    );
    line(
        out,
        &format!(
            "total {} (additive {}, gated {}), counts as {}",
            number(step.total),
            number(reward.additive),
            number(reward.gated),
            number(step.counted)
        ),
    );
}
