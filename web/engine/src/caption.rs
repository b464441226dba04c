//! Captions of a guided playback, and the texts of the tour of the page.

use sentinel_page_protocol::{AgentView, Caption};

use crate::run::PublicFrame;
use crate::world::PageWorld;

/// A notable event of a step, shown as a caption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptionEvent {
    /// Name of the event in two or three words.
    pub title: &'static str,
    /// Sentence that follows the headline of the frame; empty if the headline says everything.
    pub text: String,
}

impl CaptionEvent {
    /// Creates an event with its name and caption.
    #[must_use]
    pub const fn new(title: &'static str, text: String) -> Self {
        Self { title, text }
    }
}

/// Returns the caption of a frame: the headline of its view with what its events add to it.
#[must_use]
pub fn caption<W: PageWorld>(frame: &PublicFrame<'_, W>, view: &AgentView) -> Caption {
    let mut events = W::caption_events(frame);
    if view.done {
        let text = format!("{}. Score {:.3}.", view.standing, view.score);
        events.push(CaptionEvent::new("The end", text));
    }
    let headline = view.headline.as_str();
    let verdict = headline.strip_prefix("The agent ").unwrap_or(headline);
    let mut text = match frame.index {
        0 => verdict.to_owned(),
        step => format!("Step {step}: {verdict}"),
    };
    for event in events.iter().filter(|event| !event.text.is_empty()) {
        text.push(' ');
        text += &event.text;
    }
    let titles: Vec<&str> = events.iter().map(|event| event.title).collect();
    Caption {
        moment: titles.join(" · "),
        text,
        brief_ms: W::BRIEF_STEP_MS,
    }
}

/// Returns the stops of a tour of the page; `focus` is the one at the first panel.
pub(crate) fn tour(focus: [&str; 2]) -> Vec<(String, String)> {
    let stops = [
        [
            "What happened",
            "The headline says what the last action did. Below it: who plays, how far the episode is, and what comes next.",
        ],
        focus,
        [
            "The course of the episode",
            "Drag across a chart, or use the arrow keys, to go to any action. What lies ahead of the cursor is faded; “Show the future” uncovers it.",
        ],
        [
            "Was that a mistake?",
            "The analysis plays on from every step and compares what each action was worth, so that a bad decision is told apart from bad luck.",
        ],
        [
            "Playback and truth",
            "Play, step, or jump to the next notable action. “Truth” shows what the agent could not see, always marked as such.",
        ],
    ];
    stops
        .map(|[title, text]| (title.to_owned(), text.to_owned()))
        .to_vec()
}
