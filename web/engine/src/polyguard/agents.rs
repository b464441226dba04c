//! The panel with the reports of a stack's agents about the next choice.

use sentinel_env::polyguard::PolyguardEnv;
use sentinel_page_protocol::{Card, Chip, Layout, Note, Panel, Tone};

use crate::run::PublicFrame;

/// Returns the panel; `None` if the player has no agents or chose nothing.
pub(super) fn panel(frame: &PublicFrame<'_, PolyguardEnv>) -> Option<Panel> {
    let remarks = &frame.policy_output.remarks;
    let cards = remarks.iter().map(|remark| Card {
        key: remark.speaker.clone(),
        title: remark.speaker.clone(),
        help: remark.role.clone(),
        subtitle: remark.verdict.clone(),
        notes: remark
            .notes
            .iter()
            .map(|note| Note {
                text: note.clone(),
                ..Note::default()
            })
            .collect(),
        chips: remark
            .scores
            .iter()
            .map(|(number, score)| Chip {
                text: format!("{number}: {score:+.2}"),
                help: format!("What the agent adds to candidate {number}"),
                tone: if *score < 0.0 {
                    Tone::Warn
                } else {
                    Tone::Neutral
                },
            })
            .collect(),
        ..Card::default()
    });
    (!remarks.is_empty()).then(|| Panel {
        id: "agents".to_owned(),
        title: "What the agents report".to_owned(),
        help: "In the order in which they run, for the step that comes next. What an agent adds to single candidates stands beside their numbers.".to_owned(),
        layout: Layout::List,
        cards: cards.collect(),
        aside: true,
        ..Panel::default()
    })
}
