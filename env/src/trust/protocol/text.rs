//! Sentences about an episode: descriptions and reasons.

use std::fmt;

use crate::environment::Environment;
use crate::task::Task;
use crate::trust::Episode;
use crate::trust::model::{Action, Domain, Node, Scenario, Step, TerminalReward};

/// A node id, printed as `T01` to `T20`.
#[derive(Clone, Copy, Debug)]
pub struct NodeId(pub usize);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T{:02}", self.0 + 1)
    }
}

/// The text shown in place of the current subtask once the episode has ended.
pub const NO_SUBTASK_LEFT: &str = "No subtask is left.";

/// Describes a subtask in one sentence. Stakes have one decimal, or two if the curriculum raised
/// them.
#[must_use]
pub fn describe_node(node: &Node) -> String {
    let work = match node.domain {
        Domain::Analyze => "Analyze the material at hand and name its main pattern",
        Domain::Synthesize => "Synthesize the findings so far into one statement",
        Domain::Verify => "Verify the result that came before",
        Domain::Plan => "Plan what comes next",
        Domain::Execute => "Execute the plan and report what happened",
    };
    let number = node.index + 1;
    if node.hardened {
        format!("{work} (subtask {number}, stakes {:.2}).", node.stakes)
    } else {
        format!("{work} (subtask {number}, stakes {:.1}).", node.stakes)
    }
}

/// Describes the current subtask, or returns [`NO_SUBTASK_LEFT`] if none is left.
#[must_use]
pub(crate) fn describe_current_subtask(episode: &Episode) -> String {
    let o = episode.observation();
    let current = (!o.done())
        .then(|| episode.scenario().nodes().nth(o.progress.position()))
        .flatten();
    current.map_or_else(|| NO_SUBTASK_LEFT.to_owned(), |node| describe_node(&node))
}

/// Describes the scenario in one sentence.
#[must_use]
pub fn describe_scenario(scenario: &Scenario) -> String {
    let (title, n) = match scenario.task {
        Task::Task1 => ("Low-stakes errands", scenario.len()),
        Task::Task2 => ("A project in the middle", scenario.len()),
        Task::Task3 => ("A mission that cannot go wrong", scenario.len()),
    };
    let number = scenario.variant + 1;
    format!("{title} #{number:03}: {n} subtasks, five specialists, reliability hidden.")
}

/// Explains the reward of a step. The text contains poison, wrong, correct or skipped, words that
/// readers search for.
#[must_use]
pub fn explain_reward(step: &Step) -> String {
    let node = NodeId(step.node);
    match (step.action, step.adversarial, step.success) {
        (Action::Skip, _, _) => format!("{node} skipped."),
        (Action::SolveIndependently, _, _) => format!("{node} solved without help: correct."),
        (Action::Verify(slot), true, _) => {
            let mended = if step.own_work { ", and mended" } else { "" };
            format!("{node}: adversarial answer of {slot} caught by checking{mended}.")
        }
        (Action::Delegate(slot), true, _) => {
            format!("{node}: adversarial answer of {slot} believed, poison let in.")
        }
        (action, false, Some(true)) if step.own_work => {
            format!("{node}: {action} gave a wrong answer, which was mended.")
        }
        (action, false, Some(true)) => format!("{node}: {action} gave a correct answer."),
        (action, false, _) => format!("{node}: {action} gave a wrong answer."),
    }
}

/// Explains the terminal reward in one sentence.
#[must_use]
pub fn explain_terminal_reward(end: &TerminalReward) -> String {
    let done = end.completion * 100.0;
    if end.forced {
        format!("Poison at high stakes ended the episode with {done:.0} % done.")
    } else {
        format!("Episode ended with {done:.0} % done.")
    }
}

/// Summarizes the last action for the next observation.
#[must_use]
pub fn step_summary(step: &Step) -> String {
    format!(
        "{} on {}: reward {:.4}",
        step.action,
        NodeId(step.node),
        step.grades.reward
    )
}
