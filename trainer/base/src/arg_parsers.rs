//! Parsers of command-line values, with errors that list the allowed values.

use std::str::FromStr;

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use sentinel_env::Named;
use sentinel_env::World;
use sentinel_env::WorldName;
use sentinel_env::rules::Rules;
use sentinel_policy::Playable;

use crate::Error;

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

/// Returns a parser of an enum's names, which help, completions and clap's own errors list.
pub fn named_enum_parser<T: Named + Send + Sync>() -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(T::NAMES)
        .try_map(|word| T::parse(&word).ok_or_else(|| format!("{word:?} is unknown")))
}

/// Returns a parser that accepts only `supported`, some values of an enum.
pub fn supported_values<T>(supported: &'static [T]) -> impl TypedValueParser<Value = T>
where
    T: ValueEnum + Send + Sync,
{
    let values = supported.iter().filter_map(ValueEnum::to_possible_value);
    PossibleValuesParser::new(values).try_map(|word| T::from_str(&word, false))
}

/// Returns a parser of a world's name.
pub fn world_parser() -> impl TypedValueParser<Value = WorldName> {
    world_name_parser().try_map(|name| parse_world(&name))
}

/// Returns a parser of a world that keeps the name, as configurations hold it: users of the library
/// train environments that the command line does not know.
pub fn world_name_parser() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(WorldName::ALL.iter().map(|world| world.name()))
}

/// Parses the name of a world.
///
/// # Errors
/// If there is no such world; the error lists those that exist.
pub fn parse_world(word: &str) -> Result<WorldName, String> {
    let known = WorldName::joined_names(" or ");
    WorldName::parse(word).ok_or_else(|| format!("unknown world {word:?}: use {known}"))
}

/// Parses a finite number; nan and infinities, which JSON cannot express, are refused.
pub fn parse_number<T: FromStr + Copy + Into<f64>>(word: &str) -> Result<T, String> {
    let number = word.parse().ok().filter(|n: &T| (*n).into().is_finite());
    number.ok_or_else(|| format!("{word:?} is not a finite number"))
}

/// Parses a number from 0 to 1.
pub fn parse_fraction(word: &str) -> Result<f64, String> {
    let number = parse_number(word)?;
    let fraction = Some(number).filter(|n| (0.0..=1.0).contains(n));
    fraction.ok_or_else(|| format!("{word:?} is not a number from 0 to 1"))
}
