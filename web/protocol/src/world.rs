//! Description of a world for the shell: names for menus, and the actions that can be composed.

use crate::SpotInfo;
use serde::{Deserialize, Serialize};

/// Names, texts and menus of a world.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorldInfo {
    /// Name of the world in the address.
    pub name: String,
    /// Readable title, such as `Whom to trust`.
    pub title: String,
    /// The world in one or two sentences.
    pub tagline: String,
    /// Explanation of an episode, one paragraph each.
    pub help: Vec<String>,
    /// Terms with their definitions.
    pub glossary: Vec<(String, String)>,
    /// Menus that together choose a task; a plain list of tasks is one menu.
    pub axes: Vec<Axis>,
    /// Tasks in the order of the menus.
    pub tasks: Vec<TaskInfo>,
    /// Stream modes that the world supports.
    pub streams: Vec<Choice>,
    /// Named rule sets; the first is the reference, which has none of the changes.
    pub rules: Vec<Choice>,
    /// Single rule changes, named as the address writes them.
    pub rule_changes: Vec<Choice>,
    /// Terms of the reward that training can leave out, with a sentence about what each rewards.
    pub reward_terms: Vec<Choice>,
    /// Players in menu order: the trained policy, scripted policies and the visitor.
    pub players: Vec<PlayerInfo>,
    /// Player of an address that names none.
    pub default_player: String,
    /// Player of an older address, which has `t`, `at` or `acts` but no player.
    pub legacy_player: String,
    /// Stream mode of an address that names none.
    pub default_streams: String,
    /// Kinds of actions that are composed from cards; empty if every action has a button.
    pub verbs: Vec<Verb>,
    /// Earlier and later versions of the trained policy's weights, in the order of training.
    pub checkpoints: Vec<PlayerInfo>,
    /// `true` if the analysis of an episode takes a second at most, so that it starts by itself at the end.
    pub quick_analysis: bool,
    /// The question of the world's first screen.
    pub spot: SpotInfo,
}

/// One item of a menu.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Value of the item in the address.
    pub name: String,
    /// Text of the item.
    pub label: String,
    /// Explanation of the item; empty for none.
    pub help: String,
}

/// A menu that chooses one coordinate of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// Label beside the menu.
    pub label: String,
    /// Explanation of the menu; empty for none.
    pub help: String,
    /// Items of the menu, in order.
    pub choices: Vec<Choice>,
}

/// Name and menu position of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskInfo {
    /// Name of the task in the address.
    pub name: String,
    /// Readable name, such as `Task 3`.
    pub label: String,
    /// Short explanation, such as `20 subtasks, hard`.
    pub help: String,
    /// Index of the chosen item on each axis.
    pub coordinates: Vec<u8>,
}

/// The cases of the PolyGuard world: names in addresses and files, and labels.
const CASES: [(&str, &str); 8] = [
    ("DDI", "Drug interactions"),
    ("BANDIT_MINING", "Find the culprit"),
    ("REGIMEN_RISK", "Too much of a kind"),
    ("PRECISION_DOSING", "Precise dosing"),
    ("DEPRESCRIBING", "Deprescribing"),
    ("WEB_SEARCH_MISSING_DATA", "Missing data"),
    ("ALTERNATIVE_SUGGESTION", "Find an alternative"),
    ("NEW_DRUG_DECOMPOSITION", "Unknown product"),
];

/// Returns the readable form of a task's name in addresses and files: `Task 3` for `task3`, `Drug
/// interactions, hard` for `DDI-hard`. Unknown names stay as they are. Where the world's [`TaskInfo`]
/// is known, its label is better.
#[must_use]
pub fn readable_task(name: &str) -> String {
    if let Some(number) = name.strip_prefix("task")
        && number.parse::<u32>().is_ok()
    {
        return format!("Task {number}");
    }
    let (case, rest) = name.split_once('-').unwrap_or((name, ""));
    match CASES.iter().find(|(known, _)| *known == case) {
        Some((_, label)) if rest.is_empty() => (*label).to_owned(),
        Some((_, label)) => format!("{label}, {}", rest.replace('-', ", ")),
        None => name.to_owned(),
    }
}

/// Name and properties of a player.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlayerInfo {
    /// Name of the player in the address.
    pub name: String,
    /// Readable name of the player.
    pub label: String,
    /// One sentence about the player.
    pub help: String,
    /// `true` if it reads hidden state.
    pub privileged: bool,
    /// `true` if it takes too long for a tournament of many episodes.
    pub slow: bool,
}

/// A kind of action that is composed of parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verb {
    /// Letter that starts the action in the address.
    pub code: String,
    /// Text of the button, a verb.
    pub label: String,
    /// Explanation of the kind of action.
    pub help: String,
    /// Parts that the action may name.
    pub slots: Vec<Slot>,
    /// Optional switch of the action: its code, label and explanation.
    pub flag: Option<Choice>,
}

/// A part of a composed action. The environment chooses a part that is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Slot {
    /// Letter that starts the codes of the cards that fit the part.
    pub letter: char,
    /// Label of the part's menu.
    pub label: String,
    /// Identifier of the panel whose cards can be picked.
    pub panel: String,
    /// `true` if the part stays chosen for the next action.
    pub is_kept: bool,
}

#[cfg(test)]
mod tests {
    use super::readable_task;

    #[test]
    fn numbered_tasks_are_written_as_words() {
        assert_eq!(readable_task("task3"), "Task 3");
        assert_eq!(readable_task("DDI-hard"), "Drug interactions, hard");
        assert_eq!(readable_task("DDI-mild-x"), "Drug interactions, mild, x");
        assert_eq!(readable_task("A-hard"), "A-hard");
        assert_eq!(readable_task("tasks"), "tasks");
    }
}
