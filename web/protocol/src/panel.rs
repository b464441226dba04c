//! Panels and the cards on them: the vocabulary in which every world describes a moment.

use serde::{Deserialize, Serialize};

/// The meaning of a color. A color is never the only sign of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Tone {
    /// No judgment.
    #[default]
    Neutral,
    /// Went well.
    Good,
    /// Went wrong.
    Bad,
    /// Needs attention.
    Warn,
    /// Is open: asked, under review, or not known yet.
    Open,
    /// Is off: skipped, idle or ended.
    Quiet,
}

/// A text with an explanation that opens on demand; an empty `help` means no explanation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// The text.
    pub text: String,
    /// The explanation.
    pub help: String,
    /// The color.
    pub tone: Tone,
}

/// A labeled bar.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Meter {
    /// The label, with the value in words or digits, such as `trust 0.84`.
    pub label: String,
    /// The explanation.
    pub help: String,
    /// Length of the bar, 0..=1.
    pub value: f32,
    /// A mark on the bar, 0..=1.
    pub mark: Option<f32>,
    /// The color; for [`Tone::Neutral`] that of the card's slot.
    pub tone: Tone,
}

/// A part of a distribution that is drawn as one bar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The name of the part.
    pub label: String,
    /// Its probability, 0..=1.
    pub value: f32,
    /// Index of its pattern, 0..5.
    pub kind: u8,
}

/// A short label in a frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chip {
    /// The label.
    pub text: String,
    /// The explanation.
    pub help: String,
    /// The color.
    pub tone: Tone,
}

/// The expression of a character.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Face {
    /// Was not asked in this step.
    #[default]
    Idle,
    /// Was asked in this step; the result says nothing about it.
    Called,
    /// Was right in this step.
    Right,
    /// Was wrong in this step.
    Wrong,
    /// Is distrusted.
    Doubted,
}

/// A button that takes an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Button {
    /// The action as the address writes it.
    pub code: String,
    /// The text on the button, a verb.
    pub label: String,
    /// The accessible name, such as `Delegate to S3`.
    pub name: String,
    /// The key that presses it, if it has one.
    pub key: Option<char>,
    /// Probability that the player gives the action now.
    pub chance: Option<f32>,
    /// A value that the player gives the action, less that of its best action.
    pub value: Option<f32>,
    /// `true` if this is the action that the player takes next.
    pub next: bool,
    /// What would go wrong, as far as the observation tells; empty if nothing is known to.
    pub warning: String,
}

/// One thing: a specialist, a job, a GPU, a medicine, a candidate, a counter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// Identifies the card in its panel, in every step.
    pub key: String,
    /// The name.
    pub title: String,
    /// The explanation of the name.
    pub help: String,
    /// A line below the name.
    pub subtitle: String,
    /// The index of the slot, 0..5, that gives color and shape.
    pub slot: Option<u8>,
    /// The expression, for [`Layout::Characters`].
    pub face: Face,
    /// A word for the state, such as `running`.
    pub state: String,
    /// The color of the state.
    pub tone: Tone,
    /// `true` if the last action was about this card.
    pub active: bool,
    /// The values of the columns, for [`Layout::Table`].
    pub cells: Vec<String>,
    /// Bars.
    pub meters: Vec<Meter>,
    /// A distribution, such as what the player believes.
    pub shares: Vec<Share>,
    /// Labels.
    pub chips: Vec<Chip>,
    /// Sentences.
    pub notes: Vec<Note>,
    /// Code that pointing at the card gives to the action that is being composed, such as `j12`.
    pub pick: Option<String>,
    /// Actions.
    pub buttons: Vec<Button>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// The heading.
    pub title: String,
    /// The explanation of the heading.
    pub help: String,
    /// `true` to align numbers.
    pub numeric: bool,
}

impl Card {
    /// Creates a name with a value, for [`Layout::Counters`].
    #[must_use]
    pub fn fact(key: &str, title: &str, help: &str, value: String) -> Self {
        Self {
            key: key.to_owned(),
            title: title.to_owned(),
            help: help.to_owned(),
            state: value,
            ..Self::default()
        }
    }
}

/// A line between two cards of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edge {
    /// Key of one card.
    pub from: String,
    /// Key of the other card.
    pub to: String,
    /// What the line says; empty if it is only drawn.
    pub label: String,
    /// The color; [`Tone::Open`] is dashed.
    pub tone: Tone,
    /// Width, 0..=1.
    pub weight: f32,
}

/// The arrangement of a panel's cards.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Layout {
    /// Faces side by side.
    Characters,
    /// Boxes in a grid.
    Tiles,
    /// One line each, with these columns before meters and chips.
    Table(Vec<Column>),
    /// One below the other.
    #[default]
    List,
    /// Names with numbers: each card is a title and a state.
    Counters,
    /// Nodes on a circle with lines between them.
    Graph(Vec<Edge>),
}

/// A titled group of cards.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// Identifies the panel in every step.
    pub id: String,
    /// The title.
    pub title: String,
    /// The explanation of the title.
    pub help: String,
    /// A line beside the title.
    pub summary: String,
    /// The arrangement.
    pub layout: Layout,
    /// The cards.
    pub cards: Vec<Card>,
    /// The text in place of cards when there are none.
    pub empty: String,
    /// `true` for the narrow column.
    pub aside: bool,
    /// `true` to begin folded.
    pub folded: bool,
}
