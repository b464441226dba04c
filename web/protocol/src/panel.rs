//! Panels and the cards on them, the vocabulary in which every world describes a frame.

use serde::{Deserialize, Serialize};

use crate::Link;

/// Meaning of a color. The page never shows it by color alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Tone {
    /// Carries no judgment; the default.
    #[default]
    Neutral,
    /// Marks something that went well.
    Good,
    /// Marks something that went wrong.
    Bad,
    /// Marks something that needs attention.
    Warn,
    /// Marks something open: asked, under review, or not known yet.
    Open,
    /// Marks something inactive: skipped, idle or ended.
    Quiet,
}

/// A sentence on a card, with an optional explanation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// Sentence that is always visible.
    pub text: String,
    /// Explanation that opens on demand; empty for none.
    pub help: String,
    /// Meaning of the sentence's color.
    pub tone: Tone,
}

/// A horizontal bar with a label.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Meter {
    /// Label that includes the value in words or digits, such as `trust 0.84`.
    pub label: String,
    /// Explanation that opens on demand; empty for none.
    pub help: String,
    /// Filled share of the bar, `0..=1`.
    pub value: f32,
    /// Position of a reference mark on the bar, `0..=1`.
    pub mark: Option<f32>,
    /// Meaning of the bar's color; [`Tone::Neutral`] uses the color of the card's slot.
    pub tone: Tone,
}

/// One part of a distribution that is drawn as a single bar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// Name of the part in the legend.
    pub label: String,
    /// Probability of the part, `0..=1`.
    pub value: f32,
    /// Index of the fill pattern, `0..5`.
    pub kind: u8,
}

/// A short label in a frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chip {
    /// Label of one to three words.
    pub text: String,
    /// Explanation that opens on demand; empty for none.
    pub help: String,
    /// Meaning of the chip's color.
    pub tone: Tone,
}

/// Expression of a character.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Face {
    /// The character was not asked in this step.
    #[default]
    Idle,
    /// The character was asked in this step; the result says nothing about it.
    Called,
    /// The character was right in this step.
    Right,
    /// The character was wrong in this step.
    Wrong,
    /// The character was not asked and is distrusted.
    Doubted,
}

/// A button that takes an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Button {
    /// The action as the address writes it.
    pub code: String,
    /// Text on the button, a verb.
    pub label: String,
    /// Accessible name, such as `Delegate to S3`.
    pub name: String,
    /// Key that presses the button, if any.
    pub key: Option<char>,
    /// Probability that the player assigns to the action, `0..=1`.
    pub chance: Option<f32>,
    /// Value that the player assigns to the action minus that of its best action, so at most 0.
    pub value: Option<f32>,
    /// `true` if this is the action that the player takes next.
    pub next: bool,
    /// Sentence about what would go wrong, judged by the observation; empty if nothing is known.
    pub warning: String,
}

/// One thing that a world shows: a specialist, a job, a GPU, a medicine, a candidate, a counter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// Identifier that is unique in the panel and the same in every frame.
    pub key: String,
    /// Name of the thing.
    pub title: String,
    /// Explanation of the name; empty for none.
    pub help: String,
    /// Line below the name; empty for none.
    pub subtitle: String,
    /// Index that selects color and shape, `0..5`; `None` for the default ones.
    pub slot: Option<u8>,
    /// Expression; used by [`Layout::Characters`] only.
    pub face: Face,
    /// Word for the state, such as `running`; the value in [`Layout::Counters`].
    pub state: String,
    /// Meaning of the state's color.
    pub tone: Tone,
    /// `true` if the last action was about this card.
    pub active: bool,
    /// Values of the columns; used by [`Layout::Table`] only.
    pub cells: Vec<String>,
    /// Bars below the name.
    pub meters: Vec<Meter>,
    /// Distribution drawn as one bar, such as the player's belief; empty for none.
    pub shares: Vec<Share>,
    /// Short labels in frames.
    pub chips: Vec<Chip>,
    /// Sentences below everything else.
    pub notes: Vec<Note>,
    /// Code that a click on the card adds to the draft action, such as `j12`; `None` if it adds
    /// nothing.
    pub pick: Option<String>,
    /// Buttons that take actions.
    pub buttons: Vec<Button>,
    /// Links to other states of the page, below the buttons.
    pub links: Vec<Link>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Heading of the column.
    pub title: String,
    /// Explanation of the heading; empty for none.
    pub help: String,
    /// `true` to align the cells as numbers.
    pub numeric: bool,
}

impl Card {
    /// Creates a card with a name and a value, for [`Layout::Counters`].
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
    /// Meaning of the line in a few words; empty to leave it out of the list below the graph.
    pub label: String,
    /// Meaning of the line's color; [`Tone::Open`] is dashed.
    pub tone: Tone,
    /// Relative width of the line, `0..=1`.
    pub weight: f32,
}

/// Arrangement of a panel's cards.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Layout {
    /// Faces side by side.
    Characters,
    /// Boxes in a grid.
    Tiles,
    /// One row for each card, with these columns before meters and chips.
    Table(Vec<Column>),
    /// One card below the other; the default.
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
    /// Identifier that is unique in a frame and the same in every frame.
    pub id: String,
    /// Heading of the panel.
    pub title: String,
    /// Explanation of the heading; empty for none.
    pub help: String,
    /// Line beside the heading; empty for none.
    pub summary: String,
    /// Arrangement of the cards.
    pub layout: Layout,
    /// Cards in the order in which they are drawn.
    pub cards: Vec<Card>,
    /// Text in place of cards when there are none.
    pub empty: String,
    /// `true` to place the panel in the narrow column.
    pub aside: bool,
    /// `true` to show the panel collapsed at first.
    pub folded: bool,
}
