//! Names in the address: players, tasks and actions.

use sentinel_env::{Named as _, TaskName as _};

use crate::file_library;
use crate::world::{
    CHECKPOINT, MODEL, PageWorld, REPLAY, TRAINED, TRAINED_LABEL, VISITOR, VISITOR_LABEL,
    checkpoint_label,
};

/// The player of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source<P> {
    Policy(P),
    Trained,
    /// A checkpoint of the trained policy, by its index in [`PageWorld::CHECKPOINTS`].
    Checkpoint(usize),
    Replay(String),
    /// A model that the visitor dropped.
    Model(String),
    Visitor,
}

/// Returns the player with this name in the address. The name of a file is limited to what an
/// address can carry.
pub(super) fn parse_source<W: PageWorld>(word: &str) -> Option<Source<W::PolicyName>> {
    if word == VISITOR {
        return Some(Source::Visitor);
    }
    if word == TRAINED {
        return Some(Source::Trained);
    }
    if let Some(name) = word.strip_prefix(REPLAY) {
        return file_library::is_plain_name(name).then(|| Source::Replay(name.to_owned()));
    }
    if let Some(name) = word.strip_prefix(MODEL) {
        return file_library::is_plain_name(name).then(|| Source::Model(name.to_owned()));
    }
    if let Some(name) = word.strip_prefix(CHECKPOINT) {
        let found = W::CHECKPOINTS.iter().position(|known| known.name == name);
        return found.map(Source::Checkpoint);
    }
    let policy = W::PolicyName::parse(word)?;
    W::policies()
        .contains(&policy)
        .then_some(Source::Policy(policy))
}

/// Returns the name of a player in the address.
pub(super) fn source_name<W: PageWorld>(source: &Source<W::PolicyName>) -> String {
    match source {
        Source::Policy(policy) => policy.name().to_owned(),
        Source::Trained => TRAINED.to_owned(),
        Source::Checkpoint(index) => format!("{CHECKPOINT}{}", W::CHECKPOINTS[*index].name),
        Source::Replay(name) => format!("{REPLAY}{name}"),
        Source::Model(name) => format!("{MODEL}{name}"),
        Source::Visitor => VISITOR.to_owned(),
    }
}

/// Returns the readable name of a player.
pub(super) fn source_label<W: PageWorld>(source: &Source<W::PolicyName>) -> String {
    match source {
        Source::Policy(policy) => W::policy_label(*policy).to_owned(),
        Source::Trained => TRAINED_LABEL.to_owned(),
        Source::Checkpoint(index) => checkpoint_label(&W::CHECKPOINTS[*index]),
        Source::Replay(name) => format!("Replay {name}"),
        Source::Model(name) => file_library::model_label(name),
        Source::Visitor => VISITOR_LABEL.to_owned(),
    }
}

/// Returns the task with this name or number.
pub(super) fn parse_task<W: PageWorld>(word: &str) -> Option<W::Task> {
    W::Task::parse(word).or_else(|| W::Task::parse(&format!("task{word}")))
}

/// Parses actions; `None` if there are none, too many, or if any part is invalid.
pub(super) fn parse_codes<W: PageWorld>(mut text: &str) -> Option<Vec<W::Code>> {
    let mut codes = Vec::new();
    while !text.is_empty() {
        codes.push(W::read_code(&mut text)?);
        if codes.len() > W::ACTIONS_MAX {
            return None;
        }
    }
    (!codes.is_empty()).then_some(codes)
}

/// Returns a sentence about a part of the address that is not understood.
pub(super) fn unknown(key: &str, word: &str) -> String {
    format!(
        "The address contains “{}”, which is not understood.",
        shortened(&format!("{key}={word}"))
    )
}

/// Truncates a text from an unknown source to 60 characters.
pub(super) fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
