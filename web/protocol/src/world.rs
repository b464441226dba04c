//! What the shell has to know of a world: names for menus, and how actions are composed.

use serde::{Deserialize, Serialize};

/// A world.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorldInfo {
    /// The word in the address.
    pub name: String,
    /// The title, such as `Whom to trust`.
    pub title: String,
    /// The world in one or two sentences.
    pub tagline: String,
    /// What everyone who looks at the world must know; empty for nothing.
    pub warning: String,
    /// How an episode works, in paragraphs.
    pub help: Vec<String>,
    /// Terms with their definitions, for the glossary.
    pub glossary: Vec<(String, String)>,
    /// The menus that choose a task together; one for worlds with a plain list of tasks.
    pub axes: Vec<Axis>,
    /// The tasks.
    pub tasks: Vec<TaskInfo>,
    /// The stream modes.
    pub streams: Vec<Choice>,
    /// The sets of rules that have a name.
    pub rules: Vec<Choice>,
    /// The single changes of the rules, by the letter or word that the address writes.
    pub rule_changes: Vec<Choice>,
    /// The players: the trained policy, scripted policies and the visitor, in the order of menus.
    pub players: Vec<PlayerInfo>,
    /// Task, player and streams of an address that does not name them.
    pub default_task: String,
    /// The player of an address without one.
    pub default_player: String,
    /// The player of an older address, which has `t`, `at` or `acts` and no player.
    pub legacy_player: String,
    /// The streams of an address without any.
    pub default_streams: String,
    /// The most actions that an episode can have.
    pub actions_max: u32,
    /// How actions are composed from cards; empty where every action has a button.
    pub verbs: Vec<Verb>,
    /// Where the list of replay files lies.
    pub replays: String,
    /// The file of curves of the trained policy's training run; empty if there is none.
    pub curves: String,
}

/// An item of a menu.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The word in the address.
    pub name: String,
    /// The text.
    pub label: String,
    /// The explanation.
    pub help: String,
}

/// A menu that chooses one coordinate of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// The label of the menu.
    pub label: String,
    /// The explanation of the menu.
    pub help: String,
    /// The items.
    pub choices: Vec<Choice>,
    /// `true` if the menu belongs under "Advanced".
    pub advanced: bool,
}

/// A task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskInfo {
    /// The word in the address.
    pub name: String,
    /// The text, such as `Task 3`.
    pub label: String,
    /// The explanation, such as `20 subtasks, hard`.
    pub help: String,
    /// The item of each axis.
    pub coordinates: Vec<u8>,
}

/// A player.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlayerInfo {
    /// The word in the address.
    pub name: String,
    /// The name.
    pub label: String,
    /// One sentence about it.
    pub help: String,
    /// `true` if it reads hidden state.
    pub privileged: bool,
    /// `true` if it takes too long for a tournament of many episodes.
    pub slow: bool,
    /// The file that it needs; empty for none.
    pub file: String,
}

/// A kind of action that is composed of parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verb {
    /// The letter that the address begins with.
    pub code: String,
    /// The verb.
    pub label: String,
    /// The explanation.
    pub help: String,
    /// The parts that the action may name.
    pub slots: Vec<Slot>,
    /// A switch: its code, label and explanation.
    pub flag: Option<Choice>,
}

/// A part of a composed action. A part that is left out is chosen by rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Slot {
    /// The letter before the number, which the codes of cards begin with.
    pub letter: char,
    /// The label.
    pub label: String,
    /// The panel whose cards can be pointed at.
    pub panel: String,
}
