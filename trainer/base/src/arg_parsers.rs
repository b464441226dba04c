//! Parsers of command-line values, with errors that list the allowed values.

use clap::builder::TypedValueParser;
use sentinel_env::rules::Rules;
use sentinel_env::{Named, World, WorldName};
use sentinel_policy::Playable;

use crate::Error;

pub use sentinel_options::parsers::{
    named_enum_parser, parse_fraction, parse_number, parse_world, supported_values,
    world_name_parser,
};

/// A player in an evaluation.
#[derive(Debug)]
pub enum EvalPolicy<W: Playable> {
    /// A scripted policy of the program.
    Scripted(W::PolicyName),
    /// A recorded replay or a trained model.
    Trained,
}

// A derive would require the same trait of `W`.
impl<W: Playable> Clone for EvalPolicy<W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W: Playable> Copy for EvalPolicy<W> {}

impl<W: Playable> PartialEq for EvalPolicy<W> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Scripted(a), Self::Scripted(b)) => a == b,
            (Self::Trained, Self::Trained) => true,
            _ => false,
        }
    }
}

impl<W: Playable> EvalPolicy<W> {
    /// Returns the name in files and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scripted(policy) => policy.name(),
            Self::Trained => "trained",
        }
    }

    /// Parses policies separated by commas and keeps their order.
    ///
    /// # Errors
    /// Returns an error that names an unknown policy and lists the known ones, or names a
    /// duplicate.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, Error> {
        let known = parse_list("policy", text, |word| match word {
            "trained" => Ok(Self::Trained),
            _ => W::PolicyName::parse(word)
                .map(Self::Scripted)
                .ok_or_else(|| format!("{}, or trained", unknown_policy::<W>(word))),
        });
        known.map_err(|reason| Error::argument("--policies", reason))
    }
}

fn unknown_policy<W: Playable>(word: &str) -> String {
    let names = W::PolicyName::joined_names();
    let world = W::NAME;
    format!("unknown policy {word:?} in world {world}: use {names}")
}

/// Parses a list separated by commas; a value may not occur twice.
pub fn parse_list<T: PartialEq>(
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

/// Parses the name of a scripted policy given by `--policy`.
pub fn parse_policy<W: Playable>(word: &str) -> Result<W::PolicyName, Error> {
    let unknown = || Error::argument("--policy", unknown_policy::<W>(word));
    W::PolicyName::parse(word).ok_or_else(unknown)
}

/// Parses the name of a scripted policy given by `--policies`.
pub fn parse_policies_entry<W: Playable>(word: &str) -> Result<W::PolicyName, Error> {
    let unknown = || Error::argument("--policies", unknown_policy::<W>(word));
    W::PolicyName::parse(word).ok_or_else(unknown)
}

/// Parses the rules of a world given by `--rules`.
pub fn parse_rules<W: World>(text: &str) -> Result<Rules<W::Change>, Error> {
    Rules::parse(text).map_err(|e| {
        let world = W::NAME;
        Error::argument("--rules", format!("{e} (world {world})"))
    })
}

/// Returns a parser of a world's name.
pub fn world_parser() -> impl TypedValueParser<Value = WorldName> {
    world_name_parser().try_map(|name| parse_world(&name))
}
