//! Conversion between the state of the page and the query of the address. Parts that cannot be read
//! are reported and keep their defaults.

use sentinel_page_protocol::Branch;

use crate::state::{PageState, REFERENCE_RULES, SEED_MAX, Screen, Speed, Theme};

/// Values that the address leaves out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Defaults<'a> {
    /// World of an address that names none.
    pub world: &'a str,
    /// Default stream mode of the state's world.
    pub streams: &'a str,
}

/// Returns the query of a state, without `?`.
#[must_use]
pub fn to_query(state: &PageState, defaults: Defaults<'_>) -> String {
    let mut query = Query(String::new());
    if state.world != defaults.world {
        query.add("world", &state.world);
    }
    if state.screen != Screen::Episode {
        query.add("page", state.screen.as_str());
    }
    query.add("runs", &state.runs);
    if state.screen == Screen::Training {
        for (name, value) in state.training.parameters() {
            query.add(name, value);
        }
    }
    query.add("task", &state.task);
    if state.keeps_seed || !state.awaits_spot_episode() {
        query.add("seed", &state.seed.to_string());
    }
    query.add("policy", &state.player);
    // Where a file determines the episode, what is left out is that of the file.
    let keeps_defaults = state.takes_episode_from_file();
    if keeps_defaults || state.streams != defaults.streams {
        query.add("streams", &state.streams);
    }
    query.add("rules", &state.rules);
    query.add("vs", &state.versus);
    if let Some(branch) = &state.branch {
        query.add("at", &branch.at.to_string());
        query.add("acts", &branch.actions);
        if branch.resume {
            query.add("resume", "1");
        }
    }
    if state.cursor != 0 {
        query.add("t", &state.cursor.to_string());
    }
    if state.truth {
        query.add("view", "truth");
    }
    if state.theme != Theme::Auto {
        query.add("theme", state.theme.as_str());
    }
    if state.speed != Speed::One {
        query.add("speed", state.speed.as_str());
    }
    if state.embed {
        query.add("embed", "1");
    }
    query.0
}

struct Query(String);

impl Query {
    /// Adds a part; an empty value stands for the default and is left out.
    fn add(&mut self, key: &str, value: &str) {
        if value.is_empty() {
            return;
        }
        if !self.0.is_empty() {
            self.0.push('&');
        }
        self.0.push_str(key);
        self.0.push('=');
        encode(value, &mut self.0);
    }
}

/// Parses a query, with or without `?`. Returns the state, and one sentence for each part that was
/// not understood and keeps its default. `worlds` are the worlds that the page has.
#[must_use]
pub fn parse_query(query: &str, worlds: &[&str]) -> (PageState, Vec<String>) {
    let mut state = PageState {
        world: worlds.first().copied().unwrap_or_default().to_owned(),
        ..PageState::default()
    };
    let mut problems = Vec::new();
    let (mut at, mut actions, mut resume, mut has_cursor) = (None, None, false, false);
    let (mut is_bare, mut has_seed) = (true, false);
    let parts = query.trim_start_matches('?').split('&');
    for part in parts.filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let value = decode(value);
        let word = || plain_word(&value);
        is_bare &= matches!(key, "world" | "theme" | "speed") || is_foreign(key);
        let understood = match key {
            "world" => set(
                &mut state.world,
                word().filter(|w| worlds.contains(&w.as_str())),
            ),
            // A typed plus sign is decoded as a space.
            "rules" => set(&mut state.rules, plain_word(&value.replace(' ', "+"))),
            "page" => set(&mut state.screen, parse_screen(&value)),
            "runs" => set(&mut state.runs, plain_word(&value)),
            "task" => set(&mut state.task, word()),
            "seed" => {
                let seed = parse_seed(&value);
                has_seed |= seed.is_some();
                set(&mut state.seed, seed)
            }
            "policy" => set(&mut state.player, word()),
            "streams" => set(&mut state.streams, word()),
            "vs" => set(&mut state.versus, word()),
            "at" => set(&mut at, parse_count(&value).map(Some)),
            "acts" => set(&mut actions, parse_actions(&value).map(Some)),
            "resume" => set(&mut resume, choice(&value, "0", "1")),
            "t" => {
                has_cursor = true;
                set(&mut state.cursor, parse_count(&value))
            }
            "view" => set(&mut state.truth, choice(&value, "agent", "truth")),
            // Suspected pairs, which are always drawn now.
            "hints" => choice(&value, "0", "1").is_some(),
            "embed" => set(&mut state.embed, choice(&value, "0", "1")),
            "theme" => set(&mut state.theme, parse_theme(&value)),
            "speed" => {
                let speed = Speed::ALL.into_iter().find(|speed| speed.as_str() == value);
                set(&mut state.speed, speed)
            }
            _ => state.training.set_parameter(key, &value) || is_foreign(key),
        };
        if !understood {
            let part = shorten(part);
            problems.push(format!(
                "The address contains “{part}”, which is not understood."
            ));
        }
    }
    if at.is_some() && actions.is_none() {
        problems.push(
            "The address says where your own actions start (“at”) but not what they are (“acts”)."
                .to_owned(),
        );
    }
    // An address that names nothing to show opens on the world's question.
    if is_bare {
        state.screen = Screen::Spot;
    }
    state.legacy = state.screen != Screen::Spot
        && state.player.is_empty()
        && (has_cursor || at.is_some() || actions.is_some());
    state.branch = actions.map(|actions| Branch {
        at: at.unwrap_or(0),
        actions,
        resume,
    });
    if state.screen == Screen::Spot {
        state.clear_for_question();
        state.keeps_seed = has_seed && state.task.is_empty();
    }
    // An address that names an episode but no rules means the reference rules, as published. One that
    // names no episode opens with the rules without loopholes, and one that names only a replay with
    // those of the file. The engine knows both.
    let names_episode =
        !state.task.is_empty() || !state.player.is_empty() || state.branch.is_some() || has_cursor;
    let follows = state.screen == Screen::Spot || state.takes_episode_from_file();
    if state.rules.is_empty() && names_episode && !follows {
        REFERENCE_RULES.clone_into(&mut state.rules);
    }
    (state, problems)
}

/// Returns `true` for parameters that hosts and newsletters add, which are ignored.
fn is_foreign(key: &str) -> bool {
    key.starts_with('_') || key.starts_with("utm_")
}

fn parse_screen(text: &str) -> Option<Screen> {
    let all = [
        Screen::Spot,
        Screen::Episode,
        Screen::Training,
        Screen::Results,
    ];
    all.into_iter().find(|screen| screen.as_str() == text)
}

/// Parses a seed from 0 to 2^63 − 1.
#[must_use]
pub fn parse_seed(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|seed| *seed <= SEED_MAX)
}

/// Parses a number of actions, at most 1000; no episode is longer.
fn parse_count(text: &str) -> Option<u32> {
    text.parse().ok().filter(|count| *count <= 1000)
}

fn parse_theme(text: &str) -> Option<Theme> {
    let all = [Theme::Auto, Theme::Light, Theme::Dark];
    all.into_iter().find(|theme| theme.as_str() == text)
}

/// Returns `text` if it can be a name in some world; lists of training runs are the longest.
pub(crate) fn plain_word(text: &str) -> Option<String> {
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '+' | ' ');
    let fits = !text.is_empty() && text.len() <= 240 && text.chars().all(plain);
    (fits && !text.as_bytes().windows(2).any(|pair| pair == b"..")).then(|| text.to_owned())
}

/// Returns `text` if it can be a sequence of action codes: letters, digits, `-`, `_` and `.`.
fn parse_actions(text: &str) -> Option<String> {
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    (plain && !text.is_empty() && text.len() <= 8000).then(|| text.to_owned())
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

fn choice(value: &str, no: &str, yes: &str) -> Option<bool> {
    if value == yes {
        Some(true)
    } else {
        (value == no).then_some(false)
    }
}

/// Percent-encodes everything but letters, digits and `-_.:+`.
pub fn encode(text: &str, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.:+".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

/// Decodes percent-encoding; invalid sequences stay as they are.
#[must_use]
pub fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut i) = (Vec::with_capacity(bytes.len()), 0);
    let digit = |i: usize| bytes.get(i).and_then(|byte| char::from(*byte).to_digit(16));
    while i < bytes.len() {
        match (bytes[i], digit(i + 1), digit(i + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                i += 2;
            }
            (b'+', ..) => out.push(b' '),
            (byte, ..) => out.push(byte),
        }
        i += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
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
