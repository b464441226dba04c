//! The view as the query of an address, and back. Nonsense is named, never a failure.

use std::borrow::Cow;

use sentinel_env::TaskName as _;
use sentinel_policy::SEED_MAX;

use super::{Branch, Screen, Source, Speed, Theme, View};
use crate::world::{RulesOf, WORLDS, World, has_training, is_numbered, streams_of};

/// The query of a view, without `?`; what is at its default is left out.
#[must_use]
pub fn to_query<W: World>(view: &View<W>) -> String {
    let default = View::<W>::default();
    let mut parts = Vec::new();
    if W::NAME != WORLDS[0].0 {
        parts.push(format!("world={}", W::NAME));
    }
    if view.screen == Screen::Training {
        parts.push("page=training".to_owned());
    }
    parts.push(format!("task={}", view.task.name()));
    parts.push(format!("seed={}", view.seed));
    parts.push(format!("policy={}", encode(&view.source.id())));
    if view.streams != default.streams {
        parts.push(format!("streams={}", view.streams.name()));
    }
    if view.rules != default.rules {
        parts.push(format!("rules={}", view.rules));
    }
    if let Some(versus) = &view.versus {
        parts.push(format!("vs={}", encode(&versus.id())));
    }
    if let Some(branch) = &view.branch {
        let mut actions = String::new();
        for action in &branch.actions {
            W::write(*action, &mut actions);
        }
        parts.push(format!("at={}&acts={actions}", branch.at));
        if branch.resume {
            parts.push("resume=1".to_owned());
        }
    }
    if view.cursor != 0 {
        parts.push(format!("t={}", view.cursor));
    }
    if view.truth {
        parts.push("view=truth".to_owned());
    }
    if view.hints {
        parts.push("hints=1".to_owned());
    }
    match view.theme {
        Theme::Auto => {}
        Theme::Light => parts.push("theme=light".to_owned()),
        Theme::Dark => parts.push("theme=dark".to_owned()),
    }
    if view.speed != default.speed {
        parts.push(format!("speed={}", view.speed.id()));
    }
    if view.embed {
        parts.push("embed=1".to_owned());
    }
    parts.join("&")
}

/// The query of the same view in another world: what every world knows, without the rest.
#[must_use]
pub fn elsewhere<W: World>(view: &View<W>, world: &str) -> String {
    let view = View {
        screen: Screen::Episode,
        source: Source::You,
        versus: None,
        branch: None,
        cursor: 0,
        ..view.clone()
    };
    let own = format!("world={}", W::NAME);
    let rules = format!("rules={}", view.rules);
    let hardened = RulesOf::<W>::HARDENED == view.rules;
    let query = to_query(&view);
    let alike = is_numbered(W::NAME) && is_numbered(world);
    let only_here = |part: &str| {
        !alike && (part.starts_with("task=") || part.starts_with("streams="))
            || part.starts_with("hints=")
    };
    let kept = query.split('&').filter(|part| {
        let ours = *part == own || *part == "policy=you" || only_here(part);
        !ours && (hardened || *part != rules)
    });
    let mut parts: Vec<&str> = kept.collect();
    let world = format!("world={world}");
    if world != format!("world={}", WORLDS[0].0) {
        parts.insert(0, &world);
    }
    parts.join("&")
}

/// The view that a query (with or without `?`) asks for, and a sentence for each part that was
/// not understood and keeps its default.
#[must_use]
pub fn parse_query<W: World>(query: &str) -> (View<W>, Vec<String>) {
    let mut view = View::<W>::default();
    let mut problems = Vec::new();
    let (mut at, mut actions, mut resume) = (None, None, false);
    for part in query
        .trim_start_matches('?')
        .split('&')
        .filter(|part| !part.is_empty())
    {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let value = decode(value);
        let understood = match key {
            // Which module is loaded was decided before; what it does not know is named here.
            "world" => value == W::NAME,
            // A plus sign that was typed reads as a space.
            "rules" => match RulesOf::<W>::parse(&value.replace(' ', "+")) {
                Ok(rules) => set(&mut view.rules, Some(rules)),
                Err(error) => named(&mut problems, part, &error.to_string()),
            },
            "page" => set(&mut view.screen, parse_screen::<W>(&value)),
            "task" => set(&mut view.task, parse_task::<W>(&value)),
            "seed" => set(&mut view.seed, parse_seed(&value)),
            "policy" => set(&mut view.source, Source::parse(&value)),
            "streams" => set(&mut view.streams, streams_of::<W>(&value)),
            "vs" => set(&mut view.versus, Source::parse(&value).map(Some)),
            "at" => set(
                &mut at,
                value
                    .parse()
                    .ok()
                    .filter(|n| *n <= W::ACTIONS_MAX)
                    .map(Some),
            ),
            "acts" => set(&mut actions, parse_actions::<W>(&value).map(Some)),
            "resume" => set(&mut resume, flag(&value)),
            "t" => set(&mut view.cursor, value.parse().ok().filter(|n| *n <= 1000)),
            "view" => set(&mut view.truth, choice(&value, "agent", "truth")),
            "hints" if W::HINTS => set(&mut view.hints, flag(&value)),
            "embed" => set(&mut view.embed, flag(&value)),
            "theme" => set(&mut view.theme, parse_theme(&value)),
            "speed" => set(
                &mut view.speed,
                Speed::ALL.into_iter().find(|s| s.id() == value),
            ),
            // What hosts and newsletters add is not ours to understand.
            _ if key.starts_with('_') || key.starts_with("utm_") => true,
            _ => false,
        };
        if !understood {
            problems.push(format!(
                "The address says “{}”, which is not understood.",
                shorten(part)
            ));
        }
    }
    if at.is_some() && actions.is_none() {
        problems.push(
            "The address says where own actions start (“at”), but not which (“acts”).".to_owned(),
        );
    }
    if let Some(actions) = actions {
        view.branch = Some(Branch {
            at: at.unwrap_or(0),
            actions,
            resume,
        });
    }
    (view, problems)
}

fn parse_screen<W: World>(text: &str) -> Option<Screen> {
    match text {
        "episode" => Some(Screen::Episode),
        "training" if has_training::<W>() => Some(Screen::Training),
        _ => None,
    }
}

/// A task by name or number.
fn parse_task<W: World>(text: &str) -> Option<W::Task> {
    W::Task::parse(text).or_else(|| W::Task::parse(&format!("task{text}")))
}

/// A seed from `0` to `2^63 - 1`.
#[must_use]
pub fn parse_seed(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|seed| *seed <= SEED_MAX)
}

fn parse_theme(text: &str) -> Option<Theme> {
    match text {
        "auto" => Some(Theme::Auto),
        "light" => Some(Theme::Light),
        "dark" => Some(Theme::Dark),
        _ => None,
    }
}

fn set<T>(place: &mut T, value: Option<T>) -> bool {
    match value {
        Some(value) => {
            *place = value;
            true
        }
        None => false,
    }
}

fn flag(value: &str) -> Option<bool> {
    choice(value, "0", "1")
}

fn choice(value: &str, no: &str, yes: &str) -> Option<bool> {
    if value == yes {
        Some(true)
    } else {
        (value == no).then_some(false)
    }
}

/// Takes down what is wrong with a part; then nothing more is to be said of it.
fn named(problems: &mut Vec<String>, part: &str, error: &str) -> bool {
    problems.push(format!("The address says “{}”: {error}.", shorten(part)));
    true
}

/// Own actions; what they look like is the world's matter.
fn parse_actions<W: World>(mut text: &str) -> Option<Vec<W::Action>> {
    let mut actions = Vec::new();
    while !text.is_empty() {
        actions.push(W::read(&mut text)?);
        if actions.len() > W::ACTIONS_MAX {
            return None;
        }
    }
    (!actions.is_empty()).then_some(actions)
}

/// Percent-encodes what is not plain.
fn encode(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Undoes percent-encoding; what is not valid stays as it is.
fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('%') && !text.contains('+') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let (mut out, mut i) = (Vec::with_capacity(bytes.len()), 0);
    while i < bytes.len() {
        let hex = (bytes[i] == b'%')
            .then(|| bytes.get(i + 1..i + 3))
            .flatten()
            .and_then(|pair| std::str::from_utf8(pair).ok())
            .and_then(|pair| u8::from_str_radix(pair, 16).ok());
        out.push(match hex {
            Some(byte) => byte,
            None if bytes[i] == b'+' => b' ',
            None => bytes[i],
        });
        i += if hex.is_some() { 3 } else { 1 };
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
#[path = "query_tests.rs"]
mod tests;
