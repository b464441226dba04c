//! The view as the query of an address, and back. Nonsense is named, never a failure.

use std::borrow::Cow;

use sentinel_env::rng::Streams;
use sentinel_env::slot::Slot;
use sentinel_env::trust::{Action, Task};
use sentinel_policy::SEED_MAX;

use super::{Branch, Screen, Source, Speed, Theme, View};

/// Actions that an address may carry; no episode is longer.
const ACTIONS_MAX: usize = 45;

/// The query of a view, without `?`; what is at its default is left out.
#[must_use]
pub fn to_query(view: &View) -> String {
    let default = View::default();
    let mut parts = Vec::new();
    if view.screen == Screen::Training {
        parts.push("page=training".to_owned());
    }
    parts.push(format!("task={}", view.task));
    parts.push(format!("seed={}", view.seed));
    parts.push(format!("policy={}", encode(&view.source.id())));
    if view.streams != default.streams {
        parts.push(format!("streams={}", view.streams.name()));
    }
    if let Some(versus) = &view.versus {
        parts.push(format!("vs={}", encode(&versus.id())));
    }
    if let Some(branch) = &view.branch {
        let actions: String = branch.actions.iter().map(|a| code(*a)).collect();
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

/// The view that a query (with or without `?`) asks for, and a sentence for each part that was
/// not understood and keeps its default.
#[must_use]
pub fn parse_query(query: &str) -> (View, Vec<String>) {
    let mut view = View::default();
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
            "page" => set(&mut view.screen, parse_screen(&value)),
            "task" => set(&mut view.task, parse_task(&value)),
            "seed" => set(&mut view.seed, parse_seed(&value)),
            "policy" => set(&mut view.source, Source::parse(&value)),
            "streams" => set(&mut view.streams, Streams::parse(&value)),
            "vs" => set(&mut view.versus, Source::parse(&value).map(Some)),
            "at" => set(
                &mut at,
                value.parse().ok().filter(|n| *n <= ACTIONS_MAX).map(Some),
            ),
            "acts" => set(&mut actions, parse_actions(&value).map(Some)),
            "resume" => set(&mut resume, flag(&value)),
            "t" => set(&mut view.cursor, value.parse().ok().filter(|n| *n <= 1000)),
            "view" => set(&mut view.truth, choice(&value, "agent", "truth")),
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

fn parse_screen(text: &str) -> Option<Screen> {
    match text {
        "episode" => Some(Screen::Episode),
        "training" => Some(Screen::Training),
        _ => None,
    }
}

/// A task by name or number.
fn parse_task(text: &str) -> Option<Task> {
    Task::parse(text).or_else(|| Task::parse(&format!("task{text}")))
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

/// `d3` delegates to S3, `v3` verifies it, `s` solves, `k` skips.
fn code(action: Action) -> String {
    match action {
        Action::Delegate(slot) => format!("d{}", slot.index()),
        Action::Verify(slot) => format!("v{}", slot.index()),
        Action::SolveIndependently => "s".to_owned(),
        Action::Skip => "k".to_owned(),
    }
}

fn parse_actions(text: &str) -> Option<Vec<Action>> {
    let mut actions = Vec::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let mut slot = || {
            letters
                .next()?
                .to_digit(10)
                .and_then(|d| Slot::new(d as usize))
        };
        actions.push(match letter {
            'd' => Action::Delegate(slot()?),
            'v' => Action::Verify(slot()?),
            's' => Action::SolveIndependently,
            'k' => Action::Skip,
            _ => return None,
        });
        if actions.len() > ACTIONS_MAX {
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
mod tests {
    use super::*;
    use sentinel_policy::PolicyName;

    #[test]
    fn a_view_survives_its_address() {
        let view = View {
            screen: Screen::Training,
            task: Task::Task1,
            seed: SEED_MAX,
            streams: Streams::Reference,
            source: Source::Replay("my run_2.v1".to_owned()),
            versus: Some(Source::Policy(PolicyName::OracleLite)),
            branch: Some(Branch {
                at: 3,
                actions: Action::ALL.to_vec(),
                resume: true,
            }),
            cursor: 7,
            truth: true,
            embed: true,
            theme: Theme::Dark,
            speed: Speed::Four,
        };
        assert_eq!(parse_query(&to_query(&view)), (view, vec![]));
        for source in [Source::Trained, Source::You] {
            let view = View {
                versus: Some(source.clone()),
                source,
                ..View::default()
            };
            assert_eq!(parse_query(&to_query(&view)), (view, vec![]));
        }
        assert_eq!(
            parse_query(&to_query(&View::default())),
            (View::default(), vec![])
        );
    }

    #[test]
    fn nonsense_in_every_field_is_named_and_harmless() {
        let query = "?page=x&task=9&seed=-1&policy=god&streams=x&vs=../../etc&at=999&acts=d9&resume=maybe\
            &t=1e9&view=&embed=yes&theme=pink&wat=1&%%%&=&seed=9223372036854775808&seed=NaN";
        let (view, problems) = parse_query(query);
        assert_eq!(view, View::default());
        assert_eq!(problems.len(), 18, "{problems:#?}");
    }

    #[test]
    fn what_a_host_adds_is_no_matter() {
        let (view, problems) = parse_query("?utm_source=x&__theme=dark&seed=5&_=1");
        assert_eq!((view.seed, problems.len()), (5, 0));
        for half in ["at=3", "at=3&acts=", "acts="] {
            let (view, problems) = parse_query(half);
            assert!(view.branch.is_none() && !problems.is_empty(), "{half}");
        }
    }

    #[test]
    fn own_actions_keep_all_that_was_played_before_them() {
        let played = Action::ALL;
        let first = View::default().with_action(&played[..2], Action::Skip);
        let branch = first.branch.clone().expect("own actions");
        assert_eq!((branch.at, branch.actions.len(), first.cursor), (2, 1, 3));
        // The source resumed and played up to action 6; then the person acts again.
        let resumed = View {
            branch: Some(Branch {
                resume: true,
                ..branch
            }),
            ..first
        };
        let again = resumed
            .clone()
            .with_action(&played[..6], Action::SolveIndependently);
        let branch = again.branch.expect("own actions");
        assert_eq!(branch.at, 2);
        assert_eq!(branch.actions[..4], played[2..6]);
        assert_eq!(
            (branch.actions.len(), branch.resume, again.cursor),
            (5, false, 7)
        );
        // Before the branch: a new one from there.
        let earlier = resumed.with_action(&played[..1], Action::Skip);
        assert_eq!(
            earlier.branch.map(|b| (b.at, b.actions.len())),
            Some((1, 1))
        );
    }
}
