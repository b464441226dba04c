//! A frame of the trust world as the agent sees it.

use sentinel_env::ledger::HIGH_STAKES;
use sentinel_env::slot::{SLOTS, Slot};
use sentinel_env::trust::{Action, Behavior, Domain, Status, TrustEnv};
use sentinel_page_protocol::{
    AgentView, Axis, Button, Card, Choice, Face, Layout, Meter, Note, Panel, Share, Tone, WorldInfo,
};

use sentinel_policy::insertion_sort::sort;

use super::action_code::code;
use super::{PublicStep, subtasks};
use crate::format::{counted, percent};
use crate::run::PublicFrame;

/// Identifier of the panel of specialists.
pub(super) const SPECIALISTS: &str = "specialists";
/// Identifier of the panel of counters.
pub(super) const COUNTERS: &str = "counters";

/// Adds texts and menus to the description of the world.
pub(super) fn complete_info(info: &mut WorldInfo) {
    info.title = "Whom to trust".to_owned();
    info.tagline =
        "An orchestrator hands out subtasks to five specialists. One of them lies when it matters."
            .to_owned();
    info.help = vec![
        "Each subtask can be delegated to a specialist, verified (one more step; a wrong answer is not believed), solved alone (two steps, always correct) or skipped.".to_owned(),
        "Behind the slots S0 to S4 are five behaviors, shuffled in every episode: accurate but slow, fast and overconfident, good in its own domain only, adversarial once stakes are high, and degrading with use.".to_owned(),
        "The score is the mean of all rewards, the final one included.".to_owned(),
    ];
    info.glossary = [
        ("Specialist", "A helper behind one of the slots S0 to S4. Its behavior is hidden and reshuffled in every episode."),
        ("Stakes", "What is at risk in a subtask, 0 to 1. From .70 on, the adversary gives poisoned answers by default."),
        ("Trust", "The estimate of how reliable a specialist is, from its answers so far. Answers at high stakes weigh more."),
        ("Poison", "A wrong answer that the adversary gives on purpose. Believed poison at stakes of .85 or more ends the episode."),
        ("Verify", "Asks a specialist and checks the answer. It costs one more step."),
    ]
    .map(|(term, text)| (term.to_owned(), text.to_owned()))
    .to_vec();
    let tasks = sentinel_env::trust::Task::ALL;
    for (number, (task, listed)) in (1..).zip(tasks.into_iter().zip(&mut info.tasks)) {
        listed.label = format!("Task {number}");
        listed.help = format!("{} subtasks, {}", subtasks(task), task.difficulty());
    }
    let choices = info.tasks.iter().map(|task| Choice {
        name: task.name.clone(),
        label: task.label.clone(),
        help: task.help.clone(),
    });
    info.axes = vec![Axis {
        label: "Task".to_owned(),
        help: "Longer and harder from 1 to 3".to_owned(),
        choices: choices.collect(),
    }];
}

/// Returns an action in words.
pub(super) fn words(action: Action) -> String {
    match action {
        Action::Delegate(slot) => format!("Delegate to {slot}"),
        Action::Verify(slot) => format!("Verify {slot}"),
        Action::SolveIndependently => "Solve alone".to_owned(),
        Action::Skip => "Skip".to_owned(),
    }
}

/// Returns the frame as the agent sees it.
pub(super) fn agent_view(frame: &PublicFrame<'_, TrustEnv>) -> AgentView {
    let o = frame.observation;
    AgentView {
        headline: headline(frame),
        detail: detail(frame),
        standing: format!(
            "{} of {} subtasks done",
            o.progress.completed(),
            subtasks(o.task)
        ),
        terms_note:
            "The reward terms depend on hidden behaviors, so they are shown only with the truth."
                .to_owned(),
        status: status(frame),
        board_level: o.domain.map(|_| o.stakes as f32),
        panels: vec![specialists(frame), counters(frame)],
        ..AgentView::default()
    }
}

fn headline(frame: &PublicFrame<'_, TrustEnv>) -> String {
    match frame.step {
        None => "Five specialists are waiting. Nothing is known about them yet.".to_owned(),
        Some(step) => happened(step),
    }
}

fn happened(step: &PublicStep) -> String {
    match (step.action, step.answer, step.completed) {
        (Action::Skip, ..) => "The subtask is skipped.".to_owned(),
        (Action::SolveIndependently, ..) => {
            "The subtask is solved without a specialist.".to_owned()
        }
        (Action::Delegate(slot), Some(true), _) => {
            format!("{slot} is asked. The answer is correct.")
        }
        (Action::Delegate(slot), ..) => {
            format!("{slot} is asked. The answer is wrong.")
        }
        (Action::Verify(slot), Some(true), _) => {
            format!("The answer of {slot} is checked. It is correct.")
        }
        (Action::Verify(slot), _, Some(true)) => {
            format!("The answer of {slot} is checked. It was wrong and is corrected.")
        }
        (Action::Verify(slot), ..) => format!("The answer of {slot} is checked. It is wrong."),
    }
}

fn detail(frame: &PublicFrame<'_, TrustEnv>) -> String {
    let o = frame.observation;
    let Some(domain) = o.domain else {
        let ended = match o.status {
            Status::Failed => {
                "A wrong answer was believed at the highest stakes, which ends the episode"
            }
            Status::Active | Status::Completed => "The episode has ended",
        };
        return format!("{ended}. Score {:.3}.", frame.score);
    };
    let again = if o.progress.failed_attempts() > 0 {
        ", second attempt"
    } else {
        ""
    };
    let high = if o.stakes >= HIGH_STAKES {
        ", which is high"
    } else {
        ""
    };
    format!(
        "Next is subtask {} of {} ({}{again}). Stakes are {:.2}{high}.",
        o.progress.position() + 1,
        subtasks(o.task),
        domain.name().to_ascii_lowercase(),
        o.stakes
    )
}

fn status(frame: &PublicFrame<'_, TrustEnv>) -> Vec<Meter> {
    let o = frame.observation;
    let used = o.step_count.min(o.max_steps);
    let over = match o.step_count - used {
        0 => String::new(),
        over => format!(" (+{over})"),
    };
    let high = o.stakes >= HIGH_STAKES;
    vec![
        Meter {
            label: format!("Stakes {:.2}", o.stakes),
            help: "What is at risk, 0 to 1. From .70 on, answers count as high-stakes evidence, and by default the adversary gives poisoned answers; believed poison at .85 or more ends the episode.".to_owned(),
            value: o.stakes as f32,
            mark: Some(HIGH_STAKES as f32),
            tone: if high { Tone::Warn } else { Tone::Neutral },
        },
        Meter {
            label: format!("Budget {used} of {}{over}", o.max_steps),
            help: "Steps used: 1 to delegate (2 to the slow specialist), 1 more to verify, 2 to solve alone, 1 to skip. The last action may overshoot.".to_owned(),
            value: f32::from(used) / f32::from(o.max_steps),
            mark: None,
            tone: Tone::Neutral,
        },
    ]
}

fn specialists(frame: &PublicFrame<'_, TrustEnv>) -> Panel {
    Panel {
        id: SPECIALISTS.to_owned(),
        title: "Specialists".to_owned(),
        help: "Five slots with hidden behaviors. Trust is what their record suggests.".to_owned(),
        layout: Layout::Characters,
        cards: Slot::ALL
            .map(|slot| specialist(frame, slot))
            .into_iter()
            .chain([alone(frame)])
            .collect(),
        ..Panel::default()
    }
}

fn specialist(frame: &PublicFrame<'_, TrustEnv>, slot: Slot) -> Card {
    let evidence = &frame.observation.ledger[slot];
    let trust = evidence.trust();
    let called = frame.step.filter(|step| step.action.slot() == Some(slot));
    let right: u16 = evidence.domains.iter().map(|rate| rate.successes).sum();
    let record = match evidence.calls {
        0 => "not asked yet".to_owned(),
        calls => format!("right {right} of {calls}"),
    };
    let by_domain = Domain::ALL.iter().zip(&evidence.domains);
    let by_domain: Vec<String> = by_domain
        .filter(|(_, rate)| rate.count > 0)
        .map(|(domain, rate)| {
            format!(
                "{} {}/{}",
                domain.name().to_ascii_lowercase(),
                rate.successes,
                rate.count
            )
        })
        .collect();
    let detail = match by_domain.is_empty() {
        true => "No answers yet.".to_owned(),
        false => format!(
            "By domain: {}. Mean overconfidence {:.3}.",
            by_domain.join(", "),
            evidence.confidence_gap()
        ),
    };
    let face = match called.and_then(|step| step.answer) {
        Some(true) => Face::Right,
        Some(false) => Face::Wrong,
        None if evidence.calls > 0 && trust < 0.4 => Face::Doubted,
        None => Face::Idle,
    };
    let mut buttons = Vec::new();
    if frame.observation.domain.is_some() {
        buttons.push(button(
            frame,
            Action::Delegate(slot),
            "Delegate",
            &format!("Delegate to {slot}"),
        ));
        buttons.push(button(
            frame,
            Action::Verify(slot),
            "Verify",
            &format!("Verify {slot}"),
        ));
    }
    let (shares, belief) = believed(frame, slot);
    Card {
        key: slot.name().to_owned(),
        title: slot.name().to_owned(),
        slot: Some(slot.index() as u8),
        face,
        active: called.is_some(),
        meters: vec![Meter {
            label: format!("trust {trust:.2}"),
            help: format!(
                "alpha / (alpha + beta) = {:.2} / {:.2}; each answer weighs 1 + 2 × stakes",
                evidence.alpha,
                evidence.alpha + evidence.beta
            ),
            value: trust as f32,
            mark: None,
            tone: Tone::Neutral,
        }],
        shares,
        notes: std::iter::once(Note {
            text: record,
            help: detail,
            tone: Tone::Neutral,
        })
        .chain(belief)
        .collect(),
        buttons,
        ..Card::default()
    }
}

/// Returns the name of a behavior, for beliefs and for the truth.
pub(crate) const fn short(behavior: Behavior) -> &'static str {
    match behavior {
        Behavior::AccurateSlow => "slow",
        Behavior::OverconfidentFast => "overconfident",
        Behavior::DomainBound => "domain-bound",
        Behavior::Adversarial => "adversarial",
        Behavior::Degrading => "degrading",
    }
}

/// Returns the player's belief about a slot, as parts of a bar and in words.
fn believed(frame: &PublicFrame<'_, TrustEnv>, slot: Slot) -> (Vec<Share>, Option<Note>) {
    let rows = frame.policy_output.belief.as_ref();
    let Some(row) = rows
        .and_then(|rows| rows.get(slot.index()))
        .filter(|row| row.len() == SLOTS)
    else {
        return (Vec::new(), None);
    };
    let shares: Vec<Share> = Behavior::ALL
        .into_iter()
        .map(|behavior| Share {
            label: short(behavior).to_owned(),
            value: row[behavior as usize] as f32,
            kind: behavior as u8,
        })
        .collect();
    let mut ranked: Vec<&Share> = shares.iter().collect();
    sort(&mut ranked, |a, b| a.value > b.value);
    let (likely, chance) = (&ranked[0].label, f64::from(ranked[0].value));
    let text = match chance {
        sure if sure > 0.995 => format!("believed {likely}"),
        unsure if unsure < 0.25 => "not known yet".to_owned(),
        _ => format!("{likely} {}", percent(chance)),
    };
    let all: Vec<String> = ranked
        .iter()
        .map(|share| format!("{} {}", share.label, percent(f64::from(share.value))))
        .collect();
    let help = format!("What the player believes: {}", all.join(", "));
    (
        shares.clone(),
        Some(Note {
            text,
            help,
            tone: Tone::Neutral,
        }),
    )
}

fn button(frame: &PublicFrame<'_, TrustEnv>, action: Action, label: &str, name: &str) -> Button {
    let at = Action::ALL.iter().position(|other| *other == action);
    let of = |all: &Option<Vec<f64>>| at.and_then(|at| all.as_ref()?.get(at).copied());
    let best = frame
        .policy_output
        .values
        .as_ref()
        .map(|all| all.iter().copied().fold(f64::MIN, f64::max));
    Button {
        code: code(action),
        label: label.to_owned(),
        name: name.to_owned(),
        key: None,
        chance: of(&frame.policy_output.probabilities).map(|chance| chance as f32),
        value: of(&frame.policy_output.values)
            .zip(best)
            .map(|(value, best)| (value - best) as f32),
        next: frame
            .next
            .as_ref()
            .is_some_and(|next| next.action == action),
        warning: String::new(),
    }
}

/// Returns the card of what the agent does without a specialist.
fn alone(frame: &PublicFrame<'_, TrustEnv>) -> Card {
    let mut buttons = Vec::new();
    if frame.observation.domain.is_some() {
        let solve = "Solve the subtask alone";
        buttons.push(button(
            frame,
            Action::SolveIndependently,
            "Solve alone",
            solve,
        ));
        buttons.push(button(frame, Action::Skip, "Skip", "Skip the subtask"));
    }
    Card {
        key: "alone".to_owned(),
        title: "Alone".to_owned(),
        help: "Solving alone takes two steps and is always correct; skipping takes one step and earns .02.".to_owned(),
        notes: vec![Note {
            text: "always right, 2 steps".to_owned(),
            ..Note::default()
        }],
        buttons,
        ..Card::default()
    }
}

fn counters(frame: &PublicFrame<'_, TrustEnv>) -> Panel {
    let o = frame.observation;
    let asked = frame
        .history()
        .filter(|step| step.action.slot().is_some())
        .count();
    let checked = |step: &&PublicStep| matches!(step.action, Action::Verify(_));
    let checked = frame.history().filter(checked).count();
    let wrong = frame
        .history()
        .filter(|step| step.answer == Some(false))
        .count();
    Panel {
        id: COUNTERS.to_owned(),
        title: "So far".to_owned(),
        summary: counted(frame.history().count(), "action", "actions"),
        layout: Layout::Counters,
        cards: vec![
            Card::fact(
                "done",
                "Completed",
                "Subtasks that were completed",
                o.progress.completed().to_string(),
            ),
            Card::fact(
                "asked",
                "Answers",
                "Answers of specialists",
                asked.to_string(),
            ),
            Card::fact(
                "checked",
                "Checked",
                "Answers that were verified",
                checked.to_string(),
            ),
            Card::fact(
                "wrong",
                "Wrong",
                "Answers that were wrong. The agent is not told which of them were poison.",
                wrong.to_string(),
            ),
        ],
        aside: true,
        folded: false,
        ..Panel::default()
    }
}
