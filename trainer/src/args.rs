//! Words of the command line that become values, with errors that list what there is.

use std::str::FromStr;

use sentinel_env::rng::Streams;
use sentinel_env::trust::Task;
use sentinel_policy::PolicyName;
use sentinel_policy::replay::World;
use serde::Serialize;

/// Worlds that later builds play.
const PLANNED_WORLDS: [&str; 2] = ["cluster", "polyguard"];

/// The tasks of a run: `all`, or some of them with commas between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tasks {
    /// As given.
    pub name: String,
    /// One by one, in the order given.
    pub list: Vec<Task>,
}

impl FromStr for Tasks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let list = match text {
            "all" => Task::ALL.to_vec(),
            _ => list("task", text, |word| {
                let unknown = || format!("unknown task {word:?}: use task1, task2, task3 or all");
                Task::parse(word).ok_or_else(unknown)
            })?,
        };
        Ok(Self {
            name: text.to_owned(),
            list,
        })
    }
}

/// Who plays in an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contestant {
    /// A policy that is part of the program.
    Scripted(PolicyName),
    /// What was recorded.
    Trained,
}

impl Contestant {
    /// The name in files and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scripted(policy) => policy.name(),
            Self::Trained => "trained",
        }
    }
}

impl Serialize for Contestant {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Contestants in the order given, with commas between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policies(pub Vec<Contestant>);

impl FromStr for Policies {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        list("policy", text, |word| match word {
            "trained" => Ok(Contestant::Trained),
            _ => match PolicyName::parse(word) {
                Some(policy) => Ok(Contestant::Scripted(policy)),
                None => Err(format!(
                    "unknown policy {word:?}: use {} or trained",
                    policies(", ")
                )),
            },
        })
        .map(Self)
    }
}

fn policies(separator: &str) -> String {
    PolicyName::ALL.map(PolicyName::name).join(separator)
}

/// Words with commas between, none twice.
fn list<T: PartialEq>(
    what: &str,
    text: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let mut found = Vec::new();
    for word in text.split(',').map(str::trim) {
        let value = parse(word)?;
        if found.contains(&value) {
            return Err(format!("{what} {word} is named twice: name it once"));
        }
        found.push(value);
    }
    Ok(found)
}

/// A policy that is part of the program.
pub(crate) fn parse_policy(word: &str) -> Result<PolicyName, String> {
    let unknown = || format!("unknown policy {word:?}: use one of {}", policies(", "));
    PolicyName::parse(word).ok_or_else(unknown)
}

/// A single task.
pub(crate) fn parse_task(word: &str) -> Result<Task, String> {
    Task::parse(word).ok_or_else(|| format!("unknown task {word:?}: use task1, task2 or task3"))
}

/// A stream mode.
pub(crate) fn parse_streams(word: &str) -> Result<Streams, String> {
    let unknown = || format!("unknown streams {word:?}: use reference or independent");
    Streams::parse(word).ok_or_else(unknown)
}

/// A world that this build plays.
pub(crate) fn parse_world(word: &str) -> Result<World, String> {
    World::parse(word).ok_or_else(|| {
        if PLANNED_WORLDS.contains(&word) {
            format!("world {word} is not yet in this build: use trust")
        } else {
            format!("unknown world {word:?}: use trust")
        }
    })
}

/// A number from 0 to 1.
pub(crate) fn parse_fraction(word: &str) -> Result<f64, String> {
    let number = word.parse().ok().filter(|n| (0.0..=1.0).contains(n));
    number.ok_or_else(|| format!("{word:?} is not a number from 0 to 1"))
}
