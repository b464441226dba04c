//! Parsers of command-line values that need no file, with errors that list the allowed values.

use std::str::FromStr;

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use sentinel_env::{Named, WorldName};

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
