//! A macro that declares options once for code, for a file and for the command line.

use clap::builder::{
    EnumValueParser, OsStr, PossibleValuesParser, Resettable, TypedValueParser, ValueParser,
};
use clap::value_parser;
use sentinel_options::SeedRange;
use sentinel_options::parsers::{named_enum_parser, parse_number};
use sentinel_policy::trust::learned::{FeatureSet, Pooling};
use sentinel_rl::ScheduleKind;
use sentinel_rl::advantage::ScaleRewards;
use sentinel_rl::config::LossType;
use sentinel_rl::credit_options::{Continuation, Credit};
use sentinel_tensor::device::DeviceName;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Declares a struct whose fields have a help line and a default, and are read from a file by their
/// name and from the command line by their name with dashes. An `#[arg(…)]` on a field overrides
/// how its flag is parsed. Structs after `flatten` add their own fields.
macro_rules! fields {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$doc:meta])* $field:ident: $type:ty = $default:expr,)+
    } flatten {
        $($(#[$part_doc:meta])* $part:ident: $part_type:ty,)*
    }) => {
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, clap::Args)]
        #[serde(default, deny_unknown_fields)]
        $(#[$meta])*
        pub struct $name {
            $(
                #[arg(
                    long,
                    value_name = "VALUE",
                    value_parser = <$type as $crate::option_values::OptionValue>::parser(),
                    default_value = $crate::option_values::default_text(&$name::default().$field),
                    hide_default_value = $crate::option_values::is_empty(&$name::default().$field),
                    allow_hyphen_values = true
                )]
                $(#[$doc])*
                pub $field: $type,
            )+
            $(
                #[command(flatten)]
                #[serde(flatten)]
                $(#[$part_doc])*
                pub $part: $part_type,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)+ $($part: <$part_type>::default(),)* }
            }
        }
    };
}

pub(crate) use fields;

/// Returns a value as it is typed: strings without quotes, anything else as JSON.
pub(crate) fn display_value(value: &impl Serialize) -> String {
    // Convert via text: a value would show an f32 with the digits of an f64.
    let text = serde_json::to_string(value).unwrap_or_else(|error| error.to_string());
    serde_json::from_str::<String>(&text).unwrap_or(text)
}

/// Returns the default of an option as it is typed; none for an option that is null.
pub(crate) fn default_text(value: &impl Serialize) -> Resettable<OsStr> {
    let text = Some(display_value(value)).filter(|text| text != "null");
    text.map(OsStr::from).into()
}

/// Returns `true` if an option's default is an empty string, which help does not show.
pub(crate) fn is_empty(value: &impl Serialize) -> bool {
    display_value(value).is_empty()
}

/// The type of an option, with the parser of its command-line value.
pub(crate) trait OptionValue: Sized {
    /// Returns a parser of the text that [`display_value`] writes.
    fn parser() -> ValueParser;
}

macro_rules! parsed_by {
    ($($type:ty: $parser:expr,)+) => {
        $(impl OptionValue for $type {
            fn parser() -> ValueParser {
                ValueParser::from($parser)
            }
        })+
    };
}

parsed_by! {
    String: ValueParser::string(),
    usize: value_parser!(usize),
    u64: value_parser!(u64),
    f32: parse_number::<f32>,
    f64: parse_number::<f64>,
    SeedRange: str::parse::<SeedRange>,
    DeviceName: named_enum_parser::<DeviceName>(),
    Credit: EnumValueParser::<Credit>::new(),
    Continuation: EnumValueParser::<Continuation>::new(),
    ScheduleKind: EnumValueParser::<ScheduleKind>::new(),
    ScaleRewards: EnumValueParser::<ScaleRewards>::new(),
    LossType: EnumValueParser::<LossType>::new(),
    Pooling: word::<Pooling>(["none", "mean", "max"]),
    FeatureSet: word::<FeatureSet>(["full", "no_history"]),
}

/// Returns a parser of a value that files name by one of `names`.
fn word<T>(names: impl IntoIterator<Item = &'static str>) -> ValueParser
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    let parser = PossibleValuesParser::new(names);
    ValueParser::new(parser.try_map(|name| serde_json::from_value::<T>(name.into())))
}
